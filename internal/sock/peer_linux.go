package sock

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// namespacesMost is more levels than the kernel makes.
const namespacesMost = 40

// PIDNamespaces gives the pid namespace of the process that opened a unix connection, and those above it, as inodes of
// /proc/PID/ns/pid, innermost first. A process that has gone meanwhile is CodeForbidden: its pid may be another's by now.
func PIDNamespaces(c net.Conn) ([]uint64, error) {
	pid, pidfd, err := peerProcess(c)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot tell which process is at the other end: %v", err)
	}
	defer unix.Close(pidfd)
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot tell where the process at the other end runs: %v", err)
	}
	out, err := lineage(ns)
	if err == nil {
		// What was opened by its pid is the peer's only if the peer is still there.
		err = unix.PidfdSendSignal(pidfd, 0, nil, 0)
	}
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot tell where the process at the other end runs: %v", err)
	}
	return out, nil
}

// lineage gives the inode of a namespace and of those above it that we can see. It closes ns.
func lineage(ns *os.File) ([]uint64, error) {
	var out []uint64
	for ns != nil && len(out) < namespacesMost {
		var st unix.Stat_t
		if err := unix.Fstat(int(ns.Fd()), &st); err != nil {
			_ = ns.Close()
			return nil, err
		}
		out = append(out, st.Ino)
		up, err := unix.IoctlRetInt(int(ns.Fd()), unix.NS_GET_PARENT)
		_ = ns.Close()
		if ns = nil; err == nil {
			ns = os.NewFile(uintptr(up), "ns")
		}
	}
	if ns != nil {
		_ = ns.Close()
	}
	return out, nil
}

// peerProcess is the process that connected, by its pid and by a descriptor that never means another.
func peerProcess(c net.Conn) (pid, pidfd int, err error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, -1, fmt.Errorf("not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, -1, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		if cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); failed != nil {
			return
		}
		// Before Linux 6.5 a descriptor is to be had by the pid only.
		if pidfd, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); failed == unix.ENOPROTOOPT {
			pidfd, failed = unix.PidfdOpen(int(cred.Pid), 0)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, -1, err
	}
	if cred.Pid <= 0 {
		_ = unix.Close(pidfd)
		return 0, -1, fmt.Errorf("it is not in a pid namespace of ours")
	}
	unix.CloseOnExec(pidfd)
	return int(cred.Pid), pidfd, nil
}
