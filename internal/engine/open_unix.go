//go:build unix

package engine

import "syscall"

// openNonblock keeps an open of a pipe that was planted as a file from waiting for its other end.
const openNonblock = syscall.O_NONBLOCK
