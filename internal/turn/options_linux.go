package turn

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unseen gives a descriptor from which bwrap reads options, as its --args wants them.
func unseen(options []string) (int, error) {
	fd, err := unix.MemfdCreate("options", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("cannot hand over the sandbox's options: %w", err)
	}
	f := os.NewFile(uintptr(fd), "options")
	defer f.Close()
	if _, err := f.WriteString(strings.Join(options, "\x00") + "\x00"); err != nil {
		return -1, fmt.Errorf("cannot hand over the sandbox's options: %w", err)
	}
	own, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Seek(own, 0, 0)
	}
	if err != nil {
		return -1, fmt.Errorf("cannot hand over the sandbox's options: %w", err)
	}
	return own, nil
}
