//go:build !linux

package turn

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Without /proc a path longer than a socket address (104 bytes) fails with a clear error of the kernel.

func listenCtl(dir string) (*os.File, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, ctlName), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot make the turn's socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	if err := os.Chmod(filepath.Join(dir, ctlName), 0o600); err != nil {
		return nil, fmt.Errorf("cannot make the turn's socket: %w", err)
	}
	return l.File()
}

func dialCtl(ctx context.Context, dir string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(dir, ctlName))
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make the turn's socket: %w", err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, nil, fmt.Errorf("cannot make the turn's socket: %w", err)
		}
	}
	return os.NewFile(uintptr(fds[0]), "ctl"), os.NewFile(uintptr(fds[1]), "ctl"), nil
}
