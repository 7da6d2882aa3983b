package turn

import (
	"context"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// A socket address holds 108 bytes, a path 4,096. So the directory is opened and the socket reached through it.

func listenCtl(dir string) (*os.File, error) {
	var f *os.File
	err := throughDir(dir, func(path string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		f = os.NewFile(uintptr(fd), ctlName)
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			return err
		}
		// Nobody can connect before it listens.
		if err := unix.Chmod(path, 0o600); err != nil {
			return err
		}
		return unix.Listen(fd, 16)
	})
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, fmt.Errorf("cannot make the turn's socket: %w", err)
	}
	return f, nil
}

func dialCtl(ctx context.Context, dir string) (conn net.Conn, err error) {
	err = throughDir(dir, func(path string) error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

func throughDir(dir string, do func(path string) error) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", fd, ctlName))
}

// socketPair gives the daemon's and the shim's end of the first connection, made before the shim runs.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make the turn's socket: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "ctl"), os.NewFile(uintptr(fds[1]), "ctl"), nil
}
