//go:build !linux

package confine

import (
	"fmt"
	"os"
	"runtime"
)

// Main refuses: what it takes away exists on Linux only.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "substrat: cannot confine a command: this needs Linux, and this is "+runtime.GOOS)
	return ExitRefused
}

// LandlockABI is 0: there is no Landlock.
func LandlockABI() int { return 0 }

// SeccompAvailable is false: there is no seccomp.
func SeccompAvailable() bool { return false }
