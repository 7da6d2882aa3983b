package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// sandboxes are the two ways a fault is played: contained and not.
var sandboxes = []substrat.Sandbox{substrat.Bubblewrap, substrat.NoSandbox}

// eachSandbox runs a case in a world of its own for each way to contain it.
func eachSandbox(t *testing.T, f func(t *testing.T, w *world, box substrat.Sandbox)) {
	for _, box := range sandboxes {
		t.Run(string(box), func(t *testing.T) {
			t.Parallel()
			if box == substrat.Bubblewrap {
				needSandbox(t)
			}
			w := newWorld(t)
			w.start()
			f(t, w, box)
			w.check()
		})
	}
}

// TestFaultOutcomes plays what agents do wrong, and looks at the one outcome: rows F13 to F18 and A4 to A7, A20 of the
// fault tables. attempts is 1 for faults that a script plays on every attempt: the mail is then dead after three.
func TestFaultOutcomes(t *testing.T) {
	cases := []struct {
		name    string
		steps   []any
		outcome substrat.Outcome
		class   substrat.FailureClass
		text    string
		limits  *substrat.TurnLimits
	}{
		{name: "F13 hangs after its result", steps: []any{step{"text": "done"}, step{"fault": "hang_after_result"}}, outcome: substrat.Completed, text: "done"},
		{name: "F14 grandchild holds stdout", steps: []any{step{"fault": "grandchild"}, step{"text": "done"}}, outcome: substrat.Completed, text: "done"},
		{name: "F15 exit 0 without a result", steps: []any{step{"text": "almost"}, step{"fault": "no_result"}}, outcome: substrat.FailedTurn, class: substrat.ClassProtocol},
		{name: "F15 half a line", steps: []any{step{"fault": "torn_line"}}, outcome: substrat.FailedTurn, class: substrat.ClassProtocol},
		{name: "F16 silence", steps: []any{step{"fault": "hang"}}, outcome: substrat.TimedOut, class: substrat.ClassSilence, limits: &substrat.TurnLimits{SilenceSeconds: 2}},
		{name: "F16 too long", steps: []any{step{"fault": "hang"}}, outcome: substrat.TimedOut, class: substrat.ClassTimeout, limits: &substrat.TurnLimits{WallSeconds: 2}},
		{name: "F17 stderr flood", steps: []any{step{"fault": "stderr_flood", "bytes": 20 << 20}, step{"text": "done"}}, outcome: substrat.Completed, text: "done"},
		{name: "F18 long line", steps: []any{step{"fault": "long_line", "bytes": 100 << 20}, step{"text": "done"}}, outcome: substrat.Completed, text: "done"},
		{name: "F18 flood", steps: []any{step{"fault": "flood", "bytes": 100 << 20}, step{"text": "done"}}, outcome: substrat.Completed, text: "done", limits: &substrat.TurnLimits{OutputBytes: 16 << 20}},
		{name: "F19 broken UTF-8", steps: []any{step{"fault": "bad_utf8"}, step{"text": "done"}}, outcome: substrat.Completed, text: "done"},
		{name: "F19 noise", steps: []any{step{"fault": "noise"}, step{"text": "done"}}, outcome: substrat.Completed, text: "done"},
		{name: "F10 crash", steps: []any{step{"fault": "crash"}}, outcome: substrat.FailedTurn, class: substrat.ClassCrashed},
		{name: "bad model", steps: []any{step{"fault": "bad_model"}}, outcome: substrat.FailedTurn, class: substrat.ClassModel},
		{name: "locked store", steps: []any{step{"fault": "locked_store"}}, outcome: substrat.FailedTurn, class: substrat.ClassLocked},
	}
	eachSandbox(t, func(t *testing.T, w *world, box substrat.Sandbox) {
		ids := make([]string, len(cases))
		for i, c := range cases {
			a := w.create(substrat.NewAgent{Name: fmt.Sprintf("agent%d", i), Sandbox: box, Limits: c.limits})
			ids[i] = w.send(a.Path, script(c.steps...))
		}
		for i, c := range cases {
			r := w.wait(ids[i])
			if r.Turn == nil || r.Turn.Outcome != c.outcome || r.Turn.Class != c.class {
				t.Errorf("%s: turn %+v, want %s %s", c.name, r.Turn, c.outcome, c.class)
				continue
			}
			if c.text != "" && !strings.Contains(r.Turn.Text, c.text) {
				t.Errorf("%s: text %.100q does not hold %q", c.name, r.Turn.Text, c.text)
			}
			want := substrat.Handled
			if c.outcome != substrat.Completed {
				want = substrat.Dead
			}
			if r.Message.State != want {
				t.Errorf("%s: the message is %s, want %s", c.name, r.Message.State, want)
			}
		}
		most := int64(160 << 20)
		if raceEnabled {
			most *= 8 // the race detector keeps several bytes for each one
		}
		if rss := rssOf(t, w.daemon.Process.Pid); rss > most {
			t.Errorf("the daemon grew to %d MB", rss>>20)
		}
	})
}

// rssOf gives a process's resident memory in bytes.
func rssOf(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// TestStopStubborn: F12. An agent whose processes ignore signals, fork away and leave their session is stopped within
// the ladder's graces, and nothing of it stays.
func TestStopStubborn(t *testing.T) {
	eachSandbox(t, func(t *testing.T, w *world, box substrat.Sandbox) {
		w.create(substrat.NewAgent{Name: "mule", Sandbox: box})
		id := w.send("mule", script(step{"fault": "ignore_term"}, step{"fault": "grandchild"}, step{"fault": "grandchild"}, step{"text": "now"}, step{"fault": "hang"}))
		w.turnOf("mule")
		if err := w.post("/v1/agents/mule/stop", nil, nil); err != nil {
			t.Fatal(err)
		}
		if r := w.wait(id); r.Turn.Outcome != substrat.Cancelled || r.Message.State != substrat.Dead {
			t.Errorf("outcome %s, message %s; want cancelled, dead", r.Turn.Outcome, r.Message.State)
		}
	})
}

// TestStopFailing: some CLIs say, as their last word, that a turn failed which they were told to end. It was stopped: it is not tried
// again, and whoever waits for it learns so at once, also when the daemon was killed in between.
func TestStopFailing(t *testing.T) {
	needSandbox(t)
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprintf("crash=%v", crash), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start()
			a := w.create(substrat.NewAgent{Name: "a"})
			id := w.send("a", script(step{"write": "mark", "content": "x"}, step{"fault": "fail_on_stop"}))
			w.turnOf("a")
			w.until("the agent to be at work", func() bool { _, err := os.Stat(filepath.Join(a.Dir, "mark")); return err == nil })
			if err := w.post("/v1/agents/a/stop", nil, nil); err != nil {
				t.Fatal(err)
			}
			if crash {
				w.kill()
				w.start()
			}
			r := w.wait(id)
			if r.Turn == nil || r.Turn.Outcome != substrat.Cancelled || r.Turn.Class != substrat.ClassCancelled || r.Message.State != substrat.Dead || r.Message.Attempts != 1 {
				t.Errorf("%+v, %+v; want it cancelled at the first attempt", r.Turn, r.Message)
			}
		})
	}
}

// TestKillParts: F10, F11. Each process of a turn in turn is killed with SIGKILL. The tree is gone, the state says so, the
// message is tried again and handled.
func TestKillParts(t *testing.T) {
	needSandbox(t)
	for _, part := range []string{"shim", "outer", "inner", "agent"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start()
			a := w.create(substrat.NewAgent{Name: "a"})
			// The first attempt sleeps and is killed; the ones after find the mark and finish.
			id := w.send("a", script(step{"shell": "test -e mark || { touch mark; sleep 60; }"}, step{"text": "done"}))
			turn := w.turnOf("a")
			w.until("the agent to be at work", func() bool { _, err := os.Stat(filepath.Join(a.Dir, "mark")); return err == nil })
			if err := syscall.Kill(w.partOf(turn, part), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			r := w.wait(id)
			if r.Message.State != substrat.Handled || r.Message.Attempts < 2 {
				t.Errorf("message %s after %d attempts, want handled after 2", r.Message.State, r.Message.Attempts)
			}
			w.check()
		})
	}
}

// partOf finds a process of a turn: the shim by its command line, the others as its descendants.
func (w *world) partOf(turn, part string) int {
	w.t.Helper()
	shim := 0
	w.until("the shim to be seen", func() bool {
		shim = w.shims()[turn]
		return shim != 0
	})
	pid := shim
	for _, level := range []string{"outer", "inner", "agent"} {
		if part == "shim" {
			break
		}
		w.until("the "+level+" process to be seen", func() bool {
			out, _ := exec.Command("pgrep", "-P", fmt.Sprint(pid)).Output()
			child := 0
			if _, err := fmt.Sscan(string(out), &child); err != nil {
				return false
			}
			pid = child
			return true
		})
		if level == part {
			break
		}
	}
	return pid
}

// TestStoppedDaemon: A21, F28. With a turn running the daemon stops at once; the turn goes on, and the next daemon
// records what came of it.
func TestStoppedDaemon(t *testing.T) {
	eachSandbox(t, func(t *testing.T, w *world, box substrat.Sandbox) {
		for _, how := range []string{"sigterm", "leave", "kill"} {
			a := w.create(substrat.NewAgent{Name: "a-" + how, Sandbox: box})
			id := w.send(a.Path, script(step{"text": "begun. "}, step{"sleep_ms": 2500}, step{"text": "ended"}))
			w.turnOf(a.Path)
			began := time.Now()
			switch how {
			case "sigterm":
				_ = w.daemon.Process.Signal(syscall.SIGTERM)
			case "leave":
				if err := w.post("/v1/shutdown", map[string]string{"mode": "leave"}, nil); err != nil {
					t.Fatal(err)
				}
			case "kill":
				_ = w.daemon.Process.Kill()
			}
			<-w.exited
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s: the daemon took %v to stop", how, took)
			}
			w.daemon = nil
			w.start()
			r := w.wait(id)
			if r.Message.Attempts != 1 || !strings.Contains(r.Turn.Text, "ended") {
				t.Errorf("%s: handled in attempt %d with %q, want the first and its whole text", how, r.Message.Attempts, r.Turn.Text)
			}
		}
	})
}

// TestSecondDaemon: F26. Of ten daemons started at once one lives; the others refuse in a line. A stale socket is no
// obstacle.
func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.kill()
	if _, err := os.Stat(filepath.Join(w.home, "daemon.sock")); err != nil {
		t.Fatalf("the killed daemon should have left its socket: %v", err)
	}
	type run struct {
		cmd  *exec.Cmd
		done chan error
		out  *strings.Builder
	}
	var runs []run
	for range 10 {
		r := run{cmd: exec.Command(w.bin, "daemon", "run"), done: make(chan error, 1), out: &strings.Builder{}}
		r.cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+w.home)
		r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
		if err := r.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { r.done <- r.cmd.Wait() }()
		runs = append(runs, r)
	}
	w.until("one daemon to answer", func() bool { return w.get("/v1/status", nil) == nil })
	var status struct{ PID int }
	if err := w.get("/v1/status", &status); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.cmd.Process.Pid == status.PID {
			defer func() { _ = r.cmd.Process.Kill(); <-r.done }()
			continue
		}
		if err := <-r.done; err == nil {
			t.Error("a second daemon ended as if all were well")
		}
		if !strings.Contains(r.out.String(), "is running") {
			t.Errorf("a second daemon said %q", r.out.String())
		}
	}
	if err := w.get("/v1/status", nil); err != nil {
		t.Errorf("the first daemon was harmed: %v", err)
	}
}

// TestMoreThanSlots: F29, A11. Fifty agents over four slots all have their turn, none fails, and the quiet team does not
// wait behind the chatty one.
func TestMoreThanSlots(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	w.create(substrat.NewAgent{Name: "chatty"})
	var ids []string
	for i := range 30 {
		w.create(substrat.NewAgent{Name: fmt.Sprintf("c%d", i), Parent: "chatty"})
		ids = append(ids, w.send(fmt.Sprintf("chatty/c%d", i), "hello"))
	}
	w.create(substrat.NewAgent{Name: "quiet"})
	quiet := w.send("quiet", "hello")
	for _, id := range append(ids, quiet) {
		if r := w.wait(id); r.Message.State != substrat.Handled || r.Message.Attempts != 1 {
			t.Errorf("message %s is %s after %d attempts", id, r.Message.State, r.Message.Attempts)
		}
	}
	q, last := w.wait(quiet), w.wait(ids[len(ids)-1])
	if q.Turn.StartedAt.After(last.Turn.StartedAt) {
		t.Error("the quiet team waited behind everything the chatty one had")
	}
	w.check()
}

// TestNoRoom: F5, A13. The disk fills up: commands are refused with a clear error, nothing acknowledged is lost, and with
// room again work goes on without a restart.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", w.home).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system here: %v %s", err, out)
	}
	t.Cleanup(func() { w.unmount() })
	w.start()
	w.create(substrat.NewAgent{Name: "a", Dir: w.space()})
	w.wait(w.send("a", "before"))
	filler := filepath.Join(w.home, "filler")
	if out, err := exec.Command("sh", "-c", "dd if=/dev/zero of='"+filler+"' bs=4096 2>/dev/null; true").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	refused := false
	for i := range 400 {
		if _, err := w.trySend("a", fmt.Sprintf("message %d %s", i, strings.Repeat("x", 8<<10))); err != nil {
			refused = true
			if code := substrat.CodeOf(err); code != substrat.CodeStorage {
				t.Errorf("a full disk gave %v", err)
			}
			break
		}
	}
	if !refused {
		t.Fatal("the disk never ran full")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.until("room to be used", func() bool { _, err := w.trySend("a", "after"); return err == nil })
	w.check()
}

func (w *world) unmount() {
	if w.daemon != nil {
		w.kill()
	}
	_ = exec.Command("umount", "-l", w.home).Run()
}

// TestManyAgentsFewDescriptors: F8, A12. With more agents than descriptors the daemon starts and works.
func TestManyAgentsFewDescriptors(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	w.create(substrat.NewAgent{Name: "lead"})
	for i := range 300 {
		w.create(substrat.NewAgent{Name: fmt.Sprintf("n%d", i), Parent: "lead"})
	}
	w.kill()
	w.launchShell(w.bin)
	w.until("the daemon to answer", func() bool { return w.get("/v1/status", nil) == nil })
	if r := w.wait(w.send("lead/n299", "hello")); r.Message.State != substrat.Handled {
		t.Errorf("the message is %s", r.Message.State)
	}
}

// launchShell runs a daemon below a shell that limits its descriptors.
func (w *world) launchShell(bin string) {
	w.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "ulimit -n 128; exec \"$0\" daemon run", bin)
	cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+w.home)
	cmd.Stdout, cmd.Stderr = w.log, w.log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { defer close(exited); _ = cmd.Wait() }()
	w.daemon, w.exited = cmd, exited
}
