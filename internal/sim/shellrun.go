package sim

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxOutput bounds what is kept of each stream of a command.
	maxOutput = 1 << 20
	// strayGrace is how long output is awaited after the shell has ended, for children that still hold its pipes.
	strayGrace = 300 * time.Millisecond
	killGrace  = 500 * time.Millisecond
)

// shellRun is a command under way, leader of a process group of its own.
type shellRun struct {
	cmd     *exec.Cmd
	started time.Time
	took    time.Duration
	done    chan struct{} // closed when the command has ended and its output is complete

	mu          sync.Mutex
	stdout, err []byte
}

func startShell(command, dir string, env environ) (*shellRun, error) {
	r := &shellRun{started: time.Now(), done: make(chan struct{})}
	r.cmd = exec.Command("/bin/sh", "-c", command)
	r.cmd.Dir = dir
	r.cmd.Env = env.list()
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Stdout = outputPart{r, &r.stdout}
	r.cmd.Stderr = outputPart{r, &r.err}
	r.cmd.WaitDelay = strayGrace
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the shell: %w", err)
	}
	// The goroutine is waited for through done: by the step, or by kill.
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait() // how it ended is read from ProcessState
		r.took = time.Since(r.started)
	}()
	return r, nil
}

// outputPart is one of a command's streams.
type outputPart struct {
	run *shellRun
	to  *[]byte
}

func (p outputPart) Write(data []byte) (int, error) {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	*p.to = appendCapped(*p.to, data)
	return len(data), nil
}

func appendCapped(to, data []byte) []byte {
	return append(to, data[:min(len(data), maxOutput-len(to))]...)
}

func (r *shellRun) output() (stdout, stderr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.stdout), string(r.err)
}

// exit gives the code, and the signal's name where one ended the shell. It is called after done.
func (r *shellRun) exit() (code int, signal string) {
	status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal())
	}
	return r.cmd.ProcessState.ExitCode(), ""
}

// kill ends the command's process group, politely first, and returns when the command has ended.
func (r *shellRun) kill() {
	group := -r.cmd.Process.Pid
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-r.done:
			return
		default:
		}
		if err := syscall.Kill(group, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return
		}
		timer := time.NewTimer(killGrace)
		select {
		case <-r.done:
		case <-timer.C:
		}
		timer.Stop()
	}
	<-r.done // cannot take longer than strayGrace after SIGKILL
}
