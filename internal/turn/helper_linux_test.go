package turn

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var testID atomic.Int64

// churnIfAsked lets a thousand threads die in the shim while it starts and supervises: where the process were started
// from one of them, its parent-death signal would kill it.
func churnIfAsked(dir string) {
	if _, err := os.Stat(filepath.Join(dir, "churn")); err != nil {
		return
	}
	go func() {
		for range 1000 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			}()
			<-done
		}
		_ = os.WriteFile(filepath.Join(dir, "churned"), nil, 0o600)
	}()
}

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// eachWay runs a test with a bare process and with one in a sandbox.
func eachWay(t *testing.T, test func(t *testing.T, r rig)) {
	for _, sandboxed := range []bool{false, true} {
		name := "bare"
		if sandboxed {
			name = "sandboxed"
		}
		t.Run(name, func(t *testing.T) { test(t, newRig(t, sandboxed)) })
	}
}

// rig is one turn under test.
type rig struct {
	t         *testing.T
	dir       string
	id        string
	sandboxed bool
}

func newRig(t *testing.T, sandboxed bool) rig {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); sandboxed && err != nil {
		t.Skip("bwrap is not installed")
	}
	id := fmt.Sprintf("test-%d-%d", os.Getpid(), testID.Add(1))
	r := rig{t: t, dir: filepath.Join(t.TempDir(), id, "turn"), id: id, sandboxed: sandboxed}
	t.Cleanup(r.killSurvivors)
	return r
}

// killSurvivors keeps a test that fails from leaving processes on the machine.
func (r rig) killSurvivors() {
	for again := true; again; {
		again = false
		for _, pid := range r.living() {
			again = signalProcess(identify(pid), unix.SIGKILL) || again
		}
	}
}

func (r rig) spec(mode string) Spec {
	return Spec{
		ID: r.id, Argv: r.argv(self(r.t), "agent", mode), Env: os.Environ(), Sandboxed: r.sandboxed,
		Limits: Limits{ResultGrace: 300 * time.Millisecond, InterruptGrace: 300 * time.Millisecond, TermGrace: 300 * time.Millisecond, DrainGrace: 300 * time.Millisecond},
	}
}

func (r rig) argv(argv ...string) []string {
	if !r.sandboxed {
		return argv
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		r.t.Fatal(err)
	}
	return append([]string{bwrap, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"}, argv...)
}

func (r rig) context() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	r.t.Cleanup(cancel)
	return ctx
}

// start starts a turn; whatever the test does, it is cancelled and gone at the end.
func (r rig) start(spec Spec) *Turn {
	r.t.Helper()
	turn, err := Start(r.context(), self(r.t), r.dir, spec)
	if err != nil {
		r.t.Fatalf("Start: %v; shim.log: %s", err, r.file(logName))
	}
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = turn.Cancel(ctx)
		_, _ = turn.Wait(ctx)
		_ = turn.Close()
		if log := r.file(logName); log != "" {
			r.t.Errorf("shim.log: %s", log)
		}
	})
	return turn
}

func (r rig) file(name string) string {
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil && !os.IsNotExist(err) {
		r.t.Error(err)
	}
	return string(data)
}

// wait waits for the end and checks that nobody is left.
func (r rig) wait(turn *Turn) Exit {
	r.t.Helper()
	exit, err := turn.Wait(r.context())
	if err != nil {
		r.t.Fatalf("Wait: %v", err)
	}
	r.nobodyLives()
	return exit
}

// run is a whole turn: its end and what it printed.
func (r rig) run(spec Spec) (Exit, string) {
	r.t.Helper()
	turn := r.start(spec)
	exit := r.wait(turn)
	out, err := io.ReadAll(turn.NewReader(r.context()))
	if err != nil {
		r.t.Fatal(err)
	}
	return exit, string(out)
}

// nobodyLives is the checker that ends every case: no process carries the turn's marker, is in its pid namespace, or is the recorded one.
func (r rig) nobodyLives() {
	r.t.Helper()
	for _, p := range r.living() {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		r.t.Errorf("process %d of the turn lives: %q", p, name)
	}
}

func (r rig) living() []int {
	r.t.Helper()
	table, err := processTable()
	if err != nil {
		r.t.Fatal(err)
	}
	var st status
	_ = readJSON(r.dir, statusName, &st)
	var out []int
	for _, p := range table {
		namespace, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.PID))
		inside := st.PidNamespace != 0 && namespace == fmt.Sprintf("pid:[%d]", st.PidNamespace)
		if p.state != 'Z' && (inside || marked(p.process, r.id) || p.process == st.Process || p.process == st.Init) {
			out = append(out, p.PID)
		}
	}
	return out
}

// expect reads stdout until it holds text.
func (r rig) expect(turn *Turn, text string) {
	r.t.Helper()
	reader := turn.NewReader(r.context())
	defer reader.Close()
	var got strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(got.String(), text) {
		n, err := reader.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			r.t.Fatalf("stdout ended with %v before %q: %q", err, text, got.String())
		}
	}
}
