//go:build !linux

package turn

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const canSandbox = false

// Without subreapers and parent-death signals the process group is what can be killed: a descendant that leaves it
// gets away, and so does everything where the shim is killed, until Reap.

func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func adoptOrphans() error { return nil }

func pipe() (r, w int, err error) {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return 0, 0, os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(p[0])
	unix.CloseOnExec(p[1])
	return p[0], p[1], nil
}

func replaceFD(from, to int) error { return unix.Dup2(from, to) }

// closeAllOnExec covers what a daemon may have open; there is no list to ask for.
func closeAllOnExec(from int) error {
	for fd := from; fd < 256; fd++ {
		unix.CloseOnExec(fd)
	}
	return nil
}

// wait takes main.
func (c *child) wait() {
	defer close(c.nobody)
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(c.main.PID, &ws, 0, nil)
		if err == unix.EINTR {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.took(ws)
		return
	}
}

func (c *child) interrupt() bool { return c.signalMain(unix.SIGINT) }

func (c *child) terminate() bool { return unix.Kill(-c.main.PID, unix.SIGTERM) == nil }

func (c *child) kill() { _ = unix.Kill(-c.main.PID, unix.SIGKILL) }

// killAll kills what is left of the group. While the group has members, its number is not given to anybody else.
func (c *child) killAll(within time.Duration) bool {
	<-c.nobody
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if unix.Kill(-c.main.PID, unix.SIGKILL) != nil {
			return true
		}
	}
	return false
}
