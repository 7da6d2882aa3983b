//go:build amd64 || arm64

package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SeccompAvailable says whether the kernel takes filters of system calls.
func SeccompAvailable() bool {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// filterCalls puts the filter on every thread of the process. It needs no_new_privs.
func filterCalls(p Plan) error {
	program := calls(p, p.Landlock != LandlockMust || p.AnyUnix || LandlockABI() >= UnixABI)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	if r != 0 {
		return fmt.Errorf("thread %d cannot have the filter", r)
	}
	return nil
}
