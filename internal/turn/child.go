package turn

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// process names one process for good: a pid alone may be somebody else's by now.
type process struct {
	PID int `json:"pid"`
	// Start is when it started, in a unit of the platform's, since boot on Linux. Zero: not known.
	Start uint64 `json:"start"`
}

// child is the process that the shim started, and all that came of it.
type child struct {
	main    process
	stdin   *feeder
	exited  chan struct{} // closed when main has been waited for
	nobody  chan struct{} // closed when no descendant is left
	sandbox *sandbox      // nil for a bare process

	mu   sync.Mutex // held to signal main, and to wait for it
	gone bool
	ws   unix.WaitStatus
}

// follow begins to wait for a process that was just started. status is bwrap's report, nil for a bare process.
func (c *child) follow(pid int, status *os.File) {
	c.main = identify(pid)
	c.exited, c.nobody = make(chan struct{}), make(chan struct{})
	if status != nil {
		c.sandbox = &sandbox{known: make(chan struct{}), over: make(chan struct{})}
		go c.sandbox.read(status)
	}
	go c.wait()
}

// statusDone is closed once the sandbox's init is known or never will be; nil for a bare process.
func (c *child) statusDone() <-chan struct{} {
	if c.sandbox == nil {
		return nil
	}
	return c.sandbox.known
}

// took records that main was waited for. c.mu is held.
func (c *child) took(ws unix.WaitStatus) {
	c.gone, c.ws = true, ws
	close(c.exited)
}

// signalMain signals the process that the shim started, which cannot be somebody else: it was not waited for.
func (c *child) signalMain(sig unix.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.gone && unix.Kill(c.main.PID, sig) == nil
}

// exit is how main ended.
func (c *child) exit() Exit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		return Exit{Code: -1}
	}
	if c.ws.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(c.ws.Signal())}
	}
	code := c.ws.ExitStatus()
	if name := unix.SignalName(unix.Signal(code - 128)); c.sandbox != nil && code > 128 && name != "" {
		return Exit{Code: -1, Signal: name}
	}
	return Exit{Code: code}
}

// neverRan says that bwrap ended without the agent: it makes the sandbox after it has started.
func (c *child) neverRan() bool {
	if c.sandbox == nil {
		return false
	}
	select {
	case <-c.sandbox.over:
	case <-time.After(lingerTime):
		return false
	}
	return !c.sandbox.ran && !c.ws.Signaled()
}

// describe fills in what proves which processes are the turn's.
func (c *child) describe(st *status) {
	st.Boot, st.Shim, st.Process = bootID(), identify(os.Getpid()), c.main
	if c.sandbox != nil {
		st.Init, st.PidNamespace = c.sandbox.init, c.sandbox.pidNamespace
	}
}

// bwrapReport is one object of bwrap's --json-status-fd, as recorded from bubblewrap 0.8.0:
// {"child-pid": 7969, …, "pid-namespace": 4026532181, …} at first, {"exit-code": 3} at the end, the latter only if the
// command was run.
type bwrapReport struct {
	Child        int    `json:"child-pid"`
	PidNamespace uint64 `json:"pid-namespace"`
	ExitCode     *int   `json:"exit-code"`
}

// sandbox is what bwrap has reported.
type sandbox struct {
	known chan struct{} // closed when init is set or will never be
	over  chan struct{} // closed when ran is final

	init         process
	pidNamespace uint64
	ran          bool
}

func (s *sandbox) read(from *os.File) {
	defer close(s.over)
	defer from.Close()
	docs, known := json.NewDecoder(from), false
	for {
		var doc bwrapReport
		if err := docs.Decode(&doc); err != nil {
			break
		}
		s.ran = s.ran || doc.ExitCode != nil
		if doc.Child > 0 && !known {
			known = true
			s.init, s.pidNamespace = identify(doc.Child), doc.PidNamespace
			close(s.known)
		}
	}
	if !known {
		close(s.known)
	}
}

// initProcess gives pid 1 of the sandbox, ok false while it is not known.
func (s *sandbox) initProcess() (p process, ok bool) {
	select {
	case <-s.known:
		return s.init, s.init.PID > 0
	default:
		return process{}, false
	}
}
