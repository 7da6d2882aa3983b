//go:build race

package turn

// memoryLimit is for the shim, in kB. The race detector multiplies memory.
const memoryLimit = 256 << 10
