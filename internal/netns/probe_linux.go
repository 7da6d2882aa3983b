package netns

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Probe makes a network as turns get it, and lets it go. It takes some ten milliseconds and leaves nothing. This program has to have
// the step.
func Probe() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	step, err := New([]int{443}, []int{53}, 3)
	if err != nil {
		return err
	}
	defer step.Close()
	argv, err := step.Argv([]string{"true"})
	if err != nil {
		return err
	}
	said, says, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	step.Attributes(attr)
	pid, err := syscall.ForkExec(Exe, argv, &syscall.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Files: []uintptr{0, says.Fd(), says.Fd(), uintptr(step.Theirs())}, Sys: attr,
	})
	says.Close()
	if err != nil {
		return fmt.Errorf("no namespaces for it: %w", err)
	}
	sockets, err := step.Receive()
	if err == nil {
		err = sockets.Close()
	}
	text := make([]byte, 1000)
	n, _ := said.Read(text)
	for {
		if _, waitErr := unix.Wait4(pid, nil, 0, nil); waitErr != unix.EINTR {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, text[:n])
	}
	return nil
}
