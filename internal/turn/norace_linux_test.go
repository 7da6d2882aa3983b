//go:build !race

package turn

// memoryLimit is for the shim, in kB.
const memoryLimit = 40 << 10
