// Package sock listens and dials on unix sockets whose path may be of any length, and tells who is at the other end.
//
// A socket address holds about a hundred bytes of path. Where the system allows it, the directory is opened and the
// socket named through its descriptor, so that the length of a home's path does not matter. The package never removes a
// socket that somebody listens on.
package sock

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"substrat.dev/substrat"
)

// plainLimit is a path length that every system takes as it is.
const plainLimit = 100

// Listen opens a socket at path with mode 0600. A socket that nobody listens on any more is replaced; one that somebody
// does, or that is too busy to tell, is refused with CodeConflict.
func Listen(path string) (net.Listener, error) {
	if err := clear(path); err != nil {
		return nil, err
	}
	addr, release, err := address(path)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: addr, Net: "unix"})
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot listen on %s: %v", path, err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot close %s to others: %v", path, err)
	}
	return &listener{Listener: l, path: path}, nil
}

// clear removes a socket that nobody listens on.
func clear(path string) error {
	c, err := Dial(context.Background(), path)
	if err == nil {
		_ = c.Close()
	}
	if err == nil || errors.Is(err, syscall.EAGAIN) || errors.Is(err, os.ErrDeadlineExceeded) {
		return substrat.Errorf(substrat.CodeConflict, "cannot listen on %s: somebody does", path)
	}
	if st, err := os.Lstat(path); err == nil && st.IsDir() {
		return substrat.Errorf(substrat.CodeConflict, "cannot listen on %s: it is a directory", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return substrat.Errorf(substrat.CodeStorage, "cannot remove a stale socket: %v", err)
	}
	return nil
}

// listener removes its socket when it closes, unless another listens there meanwhile.
type listener struct {
	net.Listener
	path string
	once sync.Once
}

// Close closes the listener and removes its socket. Only what somebody listens on answers, so asking is surer than
// comparing inodes, which are used again.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.once.Do(func() { _ = clear(l.path) })
	return err
}

// Dial connects to the socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	addr, release, err := address(path)
	if err != nil {
		return nil, err
	}
	defer release()
	d := net.Dialer{Timeout: 5 * time.Second}
	return d.DialContext(ctx, "unix", addr)
}

// address gives a name of the socket that is short enough, valid until release.
func address(path string) (addr string, release func(), err error) {
	if len(path) <= plainLimit {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, substrat.Errorf(substrat.CodeStorage, "cannot open the directory of a socket: %v", err)
	}
	addr, ok := viaDescriptor(dir, filepath.Base(path))
	if !ok {
		_ = dir.Close()
		return path, func() {}, nil
	}
	return addr, func() { _ = dir.Close() }, nil
}
