package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/door"
	"substrat.dev/substrat/internal/netns"
	"substrat.dev/substrat/internal/resource"
)

// Run starts what the plan says with the standard streams of this process and gives the command's exit code, 128 and the signal's
// number where a signal ended it. When ctx ends, or a bound is hit, the command is killed; nothing of it lives when Run returns.
// Entered is called once, from another goroutine, when there is a sandbox. If this process dies, the sandbox dies with it.
func Run(ctx context.Context, p Plan, entered func(Note)) (code int, err error) {
	// The sandbox ends with the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if len(p.Argv) == 0 || len(p.Path) == 0 {
		return 0, substrat.Errorf(substrat.CodeInvalid, "cannot start a shell: the daemon's plan is empty")
	}
	// What the person's own programs left open is not for the sandbox; and a picture of this process would hold its secrets.
	if err := closeOnExec(); err != nil {
		return 0, fmt.Errorf("cannot close what is open: %w", err)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("cannot adopt orphans: %w", err)
	}
	r := &running{plan: p, served: make(chan struct{}), reported: make(chan struct{})}
	if p.Net != nil {
		if r.door, err = door.New(*p.Net, door.Options{}); err != nil {
			return 0, err
		}
	}
	defer keepTerminal()()
	if err := r.start(entered); err != nil {
		r.unbind()
		return 0, substrat.Errorf(substrat.CodeInternal, "cannot start the sandbox: %v", err)
	}
	return r.wait(ctx)
}

// running is one sandbox and what holds it.
type running struct {
	plan  Plan
	pid   int
	group *resource.Group
	watch *resource.Watch

	door     *door.Door
	stop     context.CancelFunc // ends the door
	served   chan struct{}      // closed when the door has ended
	reported chan struct{}      // closed when bwrap's report is read
}

// start starts bwrap, in its bounds and where needed in a network of its own.
func (r *running) start(entered func(Note)) error {
	options, err := memory(r.plan.Options)
	if err != nil {
		return err
	}
	defer options.Close()
	report, reports, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reports.Close()
	if r.group, err = r.plan.Support.Open(r.plan.Path); err != nil {
		report.Close()
		return err
	}
	r.watch = resource.NewWatch(r.plan.Path[len(r.plan.Path)-1].Limits, nil, r.group)
	argv := append([]string{r.plan.Argv[0], "--json-status-fd", "3", "--args", "4"}, r.plan.Argv[1:]...)
	if err := r.exec(argv, []uintptr{0, 1, 2, reports.Fd(), options.Fd()}); err != nil {
		report.Close()
		return err
	}
	go func() {
		defer close(r.reported)
		defer report.Close()
		readReport(report, entered)
	}()
	return nil
}

// exec forks from the calling thread.
func (r *running) exec(argv []string, fds []uintptr) error {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	path := argv[0]
	var step *netns.Step
	if r.door != nil {
		var err error
		if step, err = netns.New(r.plan.Net.Listen(), []int{dnsPort}, len(fds)); err != nil {
			return err
		}
		defer step.Close()
		if argv, err = step.Argv(argv); err != nil {
			return err
		}
		step.Attributes(attributes)
		path, fds = netns.Exe, append(fds, uintptr(step.Theirs()))
	}
	pid, err := r.group.Fork(attributes, func() (int, error) {
		return syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: "/", Env: r.plan.Env, Files: fds, Sys: attributes})
	})
	if err != nil {
		return err
	}
	r.pid = pid
	if step != nil {
		// A step that fails has said why on standard error, and ends.
		if sockets, err := step.Receive(); err == nil {
			r.serve(door.Listeners{TCP: sockets.TCP, DNS: sockets.UDP[dnsPort]})
		}
	}
	return nil
}

const dnsPort = 53

func (r *running) serve(l door.Listeners) {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() {
		defer close(r.served)
		_ = r.door.Serve(ctx, l)
	}()
}

// ended is how the first process ended.
type ended struct {
	status unix.WaitStatus
	err    error
}

// wait takes every process that ends until there are none.
func (r *running) wait(ctx context.Context) (int, error) {
	done := make(chan ended, 1)
	go func() { done <- reap(r.pid) }()
	var why error
	select {
	case e := <-done:
		reason, hit := r.unbind()
		if hit {
			return 0, exceeded(reason)
		}
		return e.code(), e.err
	case reason := <-r.watch.Over():
		why = exceeded(reason)
	case <-ctx.Done():
	}
	// It has not been waited for: the pid is its.
	_ = unix.Kill(r.pid, unix.SIGKILL)
	e := <-done
	r.unbind()
	return e.code(), why
}

// reap waits until there is no descendant left. When the first is gone, bwrap's --die-with-parent has the others die.
func reap(first int) (e ended) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return e
		case pid == first:
			e.status = status
		}
	}
}

func (e ended) code() int {
	if e.status.Signaled() {
		return 128 + int(e.status.Signal())
	}
	return e.status.ExitStatus()
}

func exceeded(r resource.Reason) error {
	return substrat.Errorf(substrat.CodeLimit, "%s", strings.Replace(r.Text, "the turn was ended", "the shell was ended", 1))
}

const killTime = 5 * time.Second

// unbind ends the door and what keeps the bounds, and says what was exceeded, if anything.
func (r *running) unbind() (reason resource.Reason, hit bool) {
	if r.pid != 0 {
		<-r.reported
	}
	if r.watch != nil {
		reason, hit = r.watch.Stop()
	}
	if r.group != nil {
		ctx, cancel := context.WithTimeout(context.Background(), killTime)
		defer cancel()
		_ = r.group.Kill(ctx)
		r.group.Remove()
	}
	if r.stop != nil {
		r.stop()
		<-r.served
	}
	return reason, hit
}

// readReport waits for bwrap to name the first process inside.
func readReport(from *os.File, entered func(Note)) {
	docs := json.NewDecoder(from)
	for {
		var doc struct {
			Child int `json:"child-pid"`
		}
		if docs.Decode(&doc) != nil {
			return
		}
		if doc.Child > 0 {
			entered(Note{PID: doc.Child})
		}
	}
}

// memory gives a file that holds options as bwrap's --args wants them.
func memory(options []string) (*os.File, error) {
	fd, err := unix.MemfdCreate("options", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "options")
	if len(options) > 0 {
		if _, err = f.WriteString(strings.Join(options, "\x00") + "\x00"); err == nil {
			_, err = f.Seek(0, 0)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func closeOnExec() error {
	err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Before Linux 5.11.
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
