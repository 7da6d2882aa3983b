package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// writable asks the kernel for the effective ids, so that root and an owner get the true answer.
func writable(dir string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("cannot make groups in %s: %w", dir, err)
	}
	return nil
}
