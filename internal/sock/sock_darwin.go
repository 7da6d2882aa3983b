package sock

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// viaDescriptor is not to be had on macOS: a home's path must be short there.
func viaDescriptor(*os.File, string) (string, bool) { return "", false }

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
	var cred *unix.Xucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if err == nil {
		err = credErr
	}
	if err != nil {
		return -1, fmt.Errorf("cannot tell who is at the other end: %w", err)
	}
	return int(cred.Uid), nil
}
