package turn

import (
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processAttributes: a group of its own, and death with the shim. The signal follows the calling thread.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes this process the parent of every descendant that loses its own, so that none gets away.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func pipe() (r, w int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return 0, 0, os.NewSyscallError("pipe2", err)
	}
	return p[0], p[1], nil
}

func replaceFD(from, to int) error { return unix.Dup3(from, to, 0) }

func closeAllOnExec(from int) error {
	err := unix.CloseRange(uint(from), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Before Linux 5.11.
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= from {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// wait takes everything that ends, until there is nobody: each descendant either is a child or has a living ancestor
// that is one. It looks without taking first, so that a signal to main cannot slip between its end and somebody else's
// use of the pid.
func (c *child) wait() {
	defer close(c.nobody)
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		c.mu.Lock()
		c.takeEnded()
		c.mu.Unlock()
	}
}

func (c *child) takeEnded() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		if pid == c.main.PID {
			c.took(ws)
		}
	}
}

// interrupt sends SIGINT to the agent: the process itself, or the first child of the sandbox's init. bwrap does not
// pass signals on.
func (c *child) interrupt() bool {
	if c.sandbox == nil {
		return c.signalMain(unix.SIGINT)
	}
	agent, ok := c.agent()
	return ok && signalProcess(agent, unix.SIGINT)
}

// agent finds the command in the sandbox. Orphans become children of the init too, but they have started later.
func (c *child) agent() (first process, ok bool) {
	init, ok := c.sandbox.initProcess()
	if !ok {
		return process{}, false
	}
	table, err := processTable()
	if err != nil {
		return process{}, false
	}
	for _, p := range table {
		if p.parent == init.PID && (first.PID == 0 || p.Start < first.Start || p.Start == first.Start && p.PID < first.PID) {
			first = p.process
		}
	}
	return first, first.PID != 0
}

// terminate sends SIGTERM to all processes of the turn, but not to bwrap's own.
func (c *child) terminate() bool {
	root := os.Getpid()
	if c.sandbox != nil {
		init, ok := c.sandbox.initProcess()
		if !ok {
			return false
		}
		root = init.PID
	}
	return signalBelow(root, unix.SIGTERM)
}

func signalBelow(root int, sig unix.Signal) (any bool) {
	table, err := processTable()
	if err != nil {
		return false
	}
	for _, p := range descendants(table, root) {
		any = p.state != 'Z' && signalProcess(p.process, sig) || any
	}
	return any
}

// kill kills the sandbox's init, and with it everything in there, then the process that the shim started. What else
// there is falls to killAll.
func (c *child) kill() {
	if c.sandbox != nil {
		if init, ok := c.sandbox.initProcess(); ok {
			signalProcess(init, unix.SIGKILL)
		}
	}
	c.signalMain(unix.SIGKILL)
}

// killAll kills every descendant until none is left, and says whether that came about in time. Those whose parent it
// kills become children of the shim, so nobody is out of reach in the next round.
func (c *child) killAll(within time.Duration) bool {
	if c.sandbox != nil {
		c.kill()
	}
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for round := time.Millisecond; ; round = min(2*round, 20*time.Millisecond) {
		again := time.NewTimer(round)
		select {
		case <-c.nobody:
			again.Stop()
			return true
		case <-deadline.C:
			again.Stop()
			return false
		case <-again.C:
			signalBelow(os.Getpid(), unix.SIGKILL)
		}
	}
}
