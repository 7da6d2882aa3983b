package sock

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// viaDescriptor names a file through the open directory it is in.
func viaDescriptor(dir *os.File, base string) (string, bool) {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), base), true
}

// PeerUID tells which user is at the other end of a unix socket, as the kernel knows it.
func PeerUID(c net.Conn) (int, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return -1, substrat.Errorf(substrat.CodeForbidden, "cannot tell who is at the other end: not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("cannot tell who is at the other end: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = credErr
	}
	if err != nil {
		return -1, fmt.Errorf("cannot tell who is at the other end: %w", err)
	}
	return int(cred.Uid), nil
}
