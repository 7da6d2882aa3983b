package turn

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
// It works only as [Start] runs it, with the lock, the socket and the first connection inherited; otherwise it returns 2.
func ShimMain(dir string) int {
	runtime.LockOSThread()
	s, err := newShim(dir)
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
	lock   *os.File // held, never used
	status status
	clock  *clock

	child  child
	stdout *pump
	stderr *pump
	ladder ladder
	problems
}

// newShim takes over what Start left.
func newShim(dir string) (*shim, error) {
	if err := closeOnExec(fdControl); err != nil {
		return nil, err
	}
	first, err := net.FileConn(os.NewFile(fdControl, "ctl"))
	if err != nil {
		return nil, fmt.Errorf("cannot use the first connection: %w", err)
	}
	l, err := net.FileListener(os.NewFile(fdListener, "listener"))
	if err != nil {
		return nil, fmt.Errorf("cannot use the socket: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	s := &shim{dir: dir, hub: newHub(), lock: os.NewFile(fdLock, lockName)}
	s.hub.add(first)
	s.hub.serve(l)
	return s, nil
}

// run is the whole turn.
func (s *shim) run() {
	stop := make(chan os.Signal, 1)
	// Handled, not ignored: what is ignored here would be ignored by the agent too.
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	started := time.Now()
	s.clock = &clock{start: started}
	s.status = status{V: protocol, StartedAt: started.UTC()}
	exit := Exit{Reason: StartFailed, Code: -1}
	if err := s.start(); err != nil {
		exit.Err = err.Error()
	} else {
		s.hub.tell(evStarted)
		exit = s.supervise(stop)
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

// readSpec reads what to run and removes it from disk: the environment and the prompt may hold secrets.
func (s *shim) readSpec() error {
	data, err := take(filepath.Join(s.dir, specName))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &s.spec); err != nil {
		return fmt.Errorf("cannot read %s: %w", specName, err)
	}
	s.spec.Stdin, err = take(filepath.Join(s.dir, stdinName))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	s.spec.Limits = s.spec.Limits.withDefaults()
	s.status.ID, s.status.Sandboxed = s.spec.ID, s.spec.Sandboxed
	return nil
}

func take(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return data, os.Remove(path)
}

// problems collects what went wrong in the supervision, for Exit.Err.
type problems struct{ first string }

func (p *problems) note(what string, err error) {
	if err != nil && p.first == "" {
		p.first = what + ": " + err.Error()
	}
}

func (p *problems) text() string { return p.first }

// closeOnExec checks that fd is a socket, as Start leaves one, and keeps every descriptor from the agent: what started
// the daemon may have left some open.
func closeOnExec(fd int) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return fmt.Errorf("descriptor %d is not a socket", fd)
	}
	return closeAllOnExec(fd)
}
