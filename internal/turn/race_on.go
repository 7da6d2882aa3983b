//go:build race

package turn

// shimEnv keeps shims from lingering: under the race detector a process sleeps a second at its exit.
var shimEnv = []string{"GORACE=atexit_sleep_ms=0"}
