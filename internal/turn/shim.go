package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat/agentcli/redact"
	"substrat.dev/substrat/internal/resource"
)

// ShimMain is the hidden command of [ShimCommand]: it supervises the one turn in dir and returns the exit code for main, which is
// to end the process with it at once. Call it before anything else in main, on the main goroutine:
//
//	func init() { runtime.LockOSThread() } // beside main, so that the main goroutine is on the main thread
//
//	func main() {
//		if len(os.Args) == 3 && os.Args[1] == turn.ShimCommand {
//			os.Exit(turn.ShimMain(os.Args[2]))
//		}
//
// The process's parent-death signal, and bwrap's --die-with-parent, follow the thread that started it and not the
// process. ShimMain locks its goroutine to its thread and starts the process from there, so the thread lives as long as
// the shim; on the main thread that holds whatever the Go runtime does.
//
// The argument is for people who list processes: the turn's directory, or "spare" where there was none yet. The turn itself
// comes over an inherited socket, with the lock. Without that socket ShimMain returns 2.
func ShimMain(label string) int {
	runtime.LockOSThread()
	s, err := newShim(label == spareLabel)
	if errors.Is(err, errNoTurn) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "substrat shim: this command is started by the daemon only:", err)
		return 2
	}
	s.run()
	return 0
}

// shim supervises one turn.
type shim struct {
	dir    string
	spec   Spec
	hub    *hub
	lock   int // held, never used
	stop   <-chan os.Signal
	status status
	clock  *clock
	known  *redact.Known // what is to be in no file of the turn

	child child
	net   *network        // nil where the process has none of its own
	noNet error           // why it could not be made
	group *resource.Group // nil without bounds, or where no cgroup keeps them
	watch *resource.Watch // nil without bounds
	// exceeded says what bound was hit.
	exceeded string
	stdout   *pump
	stderr   *pump
	ladder   ladder
	problems
}

// newShim waits for a turn and takes over what comes with it.
func newShim(spare bool) (*shim, error) {
	if err := checkSocket(fdControl); err != nil {
		return nil, err
	}
	if spare {
		warmUp()
	}
	// Handled, not ignored: what is ignored here would be ignored by the agent too.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	j, fds, err := receive()
	if err != nil {
		return nil, err
	}
	if err := replaceFD(fds[2], 2); err != nil {
		return nil, fmt.Errorf("cannot use the log: %w", err)
	}
	if err := closeAllOnExec(fdControl); err != nil {
		return nil, err
	}
	first, err := net.FileConn(os.NewFile(fdControl, ctlName))
	if err != nil {
		return nil, fmt.Errorf("cannot use the first connection: %w", err)
	}
	l, err := net.FileListener(os.NewFile(uintptr(fds[1]), ctlName))
	if err != nil {
		return nil, fmt.Errorf("cannot use the socket: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	s := &shim{dir: j.Dir, spec: j.Spec, hub: newHub(), lock: fds[0], stop: stop}
	s.spec.Stdin, s.spec.Limits = j.Stdin, j.Spec.Limits.withDefaults()
	s.spec.Secrets, s.spec.Options = j.Secrets, j.Options
	s.known = redact.NewKnown(j.Secrets...)
	if s.spec.Net != nil {
		if s.net, s.noNet = newNetwork(s.dir, *s.spec.Net, s.hub.send, s.known); s.noNet == nil {
			s.hub.welcome = s.net.open
		}
	}
	// A picture of a process's memory in a file would hold every secret it was given.
	s.note("cannot turn core files off", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}))
	s.hub.add(first)
	s.hub.serve(unwalled{l})
	return s, nil
}

// warmUp has the work done that is the same for every turn: the first use of each type by encoding/json, and the threads
// that the shim's goroutines will want.
func warmUp() {
	for _, v := range []any{&job{}, &status{}, &Exit{}, &message{}, &bwrapReport{}} {
		if data, err := json.Marshal(v); err == nil {
			_ = json.Unmarshal(data, v)
		}
	}
	var threads sync.WaitGroup
	for range 4 {
		threads.Go(func() { _, _ = unix.Poll(nil, 1) })
	}
	threads.Wait()
}

// run is the whole turn.
func (s *shim) run() {
	started := time.Now()
	s.clock = &clock{start: started}
	s.status = status{V: protocol, ID: s.spec.ID, Sandboxed: s.spec.Sandboxed, StartedAt: started.UTC()}
	exit := Exit{Reason: StartFailed, Code: -1}
	if err := s.start(); err != nil {
		exit.Err = err.Error()
	} else {
		s.hub.tell(evStarted)
		exit = s.supervise()
	}
	s.end(exit)
}

// end records the exit and lets everybody know. The lock goes with the process.
func (s *shim) end(exit Exit) {
	exit.StartedAt, exit.EndedAt = s.status.StartedAt, time.Now().UTC()
	if exit.Err == "" {
		exit.Err = s.text()
	}
	if err := writeJSON(s.dir, exitName, exit); err != nil {
		fmt.Fprintln(os.Stderr, "substrat shim:", err)
	}
	s.hub.tell(evExited)
	s.hub.close()
}

// problems collects what went wrong in the supervision, for Exit.Err.
type problems struct{ first string }

func (p *problems) note(what string, err error) {
	if err != nil && p.first == "" {
		p.first = what + ": " + err.Error()
	}
}

func (p *problems) text() string { return p.first }

func checkSocket(fd int) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return fmt.Errorf("descriptor %d is not a socket", fd)
	}
	return nil
}
