package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/client"
)

// ask sends a message and gives the turn that handled it.
func (w *world) ask(ref, text string) substrat.Turn {
	w.t.Helper()
	r := w.wait(w.send(ref, text))
	if r.Turn == nil {
		w.t.Fatalf("%s: %q was not in a turn: %+v", ref, text, r.Message)
	}
	return *r.Turn
}

// lastTurn waits for the end of the agent's nth turn.
func (w *world) lastTurn(agent string, n int) (t substrat.Turn) {
	w.t.Helper()
	w.until("the turn to end", func() bool {
		list := w.turns(agent)
		if len(list) < n || list[n-1].Outcome == "" {
			return false
		}
		t = list[n-1]
		return true
	})
	return t
}

// TestScriptedOdd: what a program prints beside the protocol does not kill it, and what it gets wrong it is told.
func TestScriptedOdd(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t, "--slots", "4")
	w.start()
	a, dir := w.scripted("odd", "odd.py")
	for _, tt := range [][2]string{
		{"print", "printed 1"}, {"unknown", "not_found 2"}, {"net", "no net: 101"}, {"hello", "hello 4 odd"},
	} {
		if got := w.ask("odd", tt[0]); got.Outcome != substrat.Completed || got.Text != tt[1] {
			t.Errorf("%s: %s %q %s, want %q", tt[0], got.Outcome, got.Text, got.Detail, tt[1])
		}
	}
	// A polite program ends its turn when it is asked to, and lives on.
	before := w.programOf(a.ID)
	id := w.send("odd", "polite")
	w.until("the turn to make calls", func() bool {
		data, _ := os.ReadFile(filepath.Join(w.home, "agents", a.ID, "record.jsonl"))
		return strings.Count(string(data), `"list_children"`) > 3
	})
	w.stop("odd")
	if r := w.wait(id); r.Message.State != substrat.Dead || r.Turn.Outcome != substrat.Cancelled {
		t.Errorf("a stopped turn: %s %+v", r.Message.State, r.Turn)
	}
	if got := w.ask("odd", "x").Text; got != "x 6 odd" || w.programOf(a.ID) != before {
		t.Errorf("after a polite end: %q, process %d, before %d", got, w.programOf(a.ID), before)
	}
	// One that does not listen is ended, and what it began is forgotten.
	id = w.send("odd", "hang")
	w.until("the program to hang", func() bool { _, err := os.Stat(filepath.Join(dir, "hanging")); return err == nil })
	w.stop("odd")
	if r := w.wait(id); r.Turn.Outcome != substrat.Cancelled {
		t.Errorf("a turn that hung: %+v", r.Turn)
	}
	if got := w.ask("odd", "x").Text; got != "x 7 odd" {
		t.Errorf("after a hang: %q", got)
	}
	// An exception gives the turn up and stays in the memory of the program, which is suspended in between.
	n := len(w.turns(a.ID))
	w.send("odd", "raise")
	if got := w.lastTurn(a.ID, n+1); got.Class != substrat.ClassAgent || got.Detail != "ValueError: as told" {
		t.Errorf("an exception: %+v", got)
	}
	w.settle()
	_ = w.post("/v1/agents/odd/suspend", nil, nil)
	if got := w.ask("odd", "x").Text; !strings.HasPrefix(got, "x 1") || !strings.HasSuffix(got, "odd") {
		t.Errorf("after the exceptions: %q", got)
	}
	// A version that does something else than the record says is told so, and how.
	if err := os.WriteFile(filepath.Join(dir, "changed"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_ = w.post("/v1/agents/odd/suspend", nil, nil)
	w.until("the process to be gone", func() bool { return w.programOf(a.ID) == 0 })
	n = len(w.turns(a.ID))
	last := w.send("odd", "x")
	if got := w.lastTurn(a.ID, n+1); got.Class != substrat.ClassAgent || !strings.Contains(got.Detail, "the program changed: turn 4 made 0 calls, and makes another: list_children") {
		t.Errorf("a changed program: %s %s", got.Class, got.Detail)
	}
	if err := os.Remove(filepath.Join(dir, "changed")); err != nil {
		t.Fatal(err)
	}
	if r := w.wait(last); r.Message.State != substrat.Handled {
		t.Errorf("the old version is back, and the message is %s", r.Message.State)
	}
	// With the agent its process ends.
	if err := w.do("DELETE", "/v1/agents/odd", nil, nil); err != nil {
		t.Fatal(err)
	}
	w.until("the process to be gone", func() bool { return len(w.living()) == 0 })
}

func (w *world) stop(ref string) {
	w.t.Helper()
	if err := w.post("/v1/agents/"+ref+"/stop", nil, nil); err != nil {
		w.t.Fatal(err)
	}
}

// TestScriptedLimits: a turn that takes too long is ended, and so is a program that ends in mid-turn again and again.
func TestScriptedLimits(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	a, dir := w.scripted("limited", "odd.py")
	_ = a
	b := w.create(substrat.NewAgent{
		Name: "short", Provider: "scripted", Dir: dir, Command: a.Command, Limits: &substrat.TurnLimits{WallSeconds: 1},
	})
	w.send("short", "polite")
	if got := w.lastTurn(b.ID, 1); got.Outcome != substrat.TimedOut || got.Class != substrat.ClassTimeout {
		t.Errorf("a turn over its wall time: %+v", got)
	}
	w.send("limited", "exit")
	if got := w.lastTurn(a.ID, 1); got.Outcome != substrat.FailedTurn || got.Class != substrat.ClassCrashed || !strings.Contains(got.Detail, "code 3") {
		t.Errorf("a program that exits: %+v", got)
	}
	// What cannot be run is said at once.
	_, err := w.tryCreate(substrat.NewAgent{Name: "none", Provider: "scripted"})
	if substrat.CodeOf(err) != substrat.CodeInvalid {
		t.Errorf("an agent without a program: %v", err)
	}
	_, err = w.tryCreate(substrat.NewAgent{Name: "both", Provider: "sim", Command: []string{"true"}})
	if substrat.CodeOf(err) != substrat.CodeInvalid {
		t.Errorf("a program for another provider: %v", err)
	}
	c := w.create(substrat.NewAgent{Name: "missing", Provider: "scripted", Dir: dir, Command: []string{"/nonexistent/program"}})
	w.send("missing", "x")
	if got := w.lastTurn(c.ID, 1); got.Outcome != substrat.FailedTurn || got.Class != substrat.ClassSandbox {
		t.Errorf("a program that is not there: %+v", got)
	}
	for _, name := range []string{"limited", "short", "missing"} {
		_ = w.do("DELETE", "/v1/agents/"+name, nil, nil)
	}
}

func (w *world) tryCreate(n substrat.NewAgent) (a substrat.Agent, err error) {
	return a, w.post("/v1/agents", n, &a)
}

// TestScriptedSlots: resting processes count, and make room least recently used first.
func TestScriptedSlots(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t, "--slots", "2")
	w.start()
	ids := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		x, _ := w.scripted(name, "odd.py")
		ids[name] = x.ID
	}
	w.ask("a", "x")
	w.ask("b", "x")
	a, b := w.programOf(ids["a"]), w.programOf(ids["b"])
	if a == 0 || b == 0 {
		t.Fatal("a process did not stay after its turn")
	}
	w.ask("a", "x")
	if w.programOf(ids["a"]) != a {
		t.Error("the second turn got another process")
	}
	if got := w.ask("c", "x"); got.Text != "x 1 c" {
		t.Errorf("c said %q", got.Text)
	}
	if w.programOf(ids["b"]) != 0 || w.programOf(ids["a"]) != a {
		t.Error("it was not b, the least recently used, that made room")
	}
	if got := w.ask("b", "x"); got.Text != "x 2 b" {
		t.Errorf("b came back and said %q", got.Text)
	}
	// A daemon that stops leaves no process behind, and the next one goes on.
	_ = w.post("/v1/shutdown", map[string]string{"mode": "leave"}, nil)
	<-w.exited
	w.daemon = nil
	if left := w.living(); len(left) > 0 {
		t.Errorf("processes %v stayed", left)
	}
	began := time.Now()
	w.start()
	if got := w.ask("a", "x"); got.Text != "x 3 a" {
		t.Errorf("a came back and said %q", got.Text)
	}
	t.Logf("restart and replay took %s", time.Since(began))
	w.settle()
	w.checkRecord()
}

// TestScriptedGo: the example in Go, suspended and killed between its turns.
func TestScriptedGo(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	program := filepath.Join(w.dir, "echo")
	build := exec.Command("go", "build", "-o", program, "substrat.dev/substrat/examples/scripted/go/echo")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a := w.create(substrat.NewAgent{Name: "echo", Provider: "scripted", Command: []string{program}})
	for i, part := range []string{"suspend", "shim", "daemon", "end"} {
		if got, want := w.ask("echo", part).Text, fmt.Sprintf("%d so far: %s", i+1, part); got != want {
			t.Errorf("echo said %q, want %q", got, want)
		}
		switch part {
		case "suspend":
			_ = w.post("/v1/agents/echo/suspend", nil, nil)
		case "end":
		default:
			w.strike(part, a.ID)
		}
	}
}

// TestScriptedFollow: who follows a scripted agent sees text and calls once, although the daemon is killed in the middle.
func TestScriptedFollow(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	_, dir := w.scripted("held", "held.py")
	h := holding{w, dir}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	seen := make(chan []string, 1)
	go func() {
		var out []string
		for item, err := range client.New(filepath.Join(w.home, "daemon.sock")).Stream(ctx, "held", client.StreamPos{}) {
			if err != nil || item.Ended != nil {
				break
			}
			switch ev := item.Event; {
			case ev == nil:
			case ev.Type == agentcli.EventText:
				out = append(out, "text "+ev.Text)
			case ev.Tool != nil:
				out = append(out, string(ev.Tool.Status)+" "+ev.Tool.Native)
			}
		}
		seen <- out
	}()
	id := w.send("held", "first")
	for _, place := range []string{"before", "after", "end"} {
		h.at(place)
		w.kill()
		w.start()
		h.pass(place)
	}
	w.wait(id)
	want := []string{
		"running now", "completed now", "running send_message", "completed send_message", "text said ", "running record", "completed record",
		"running send_message", "failed send_message", "running send_message", "completed send_message", "text 1 turns",
	}
	if got := <-seen; !slices.Equal(got, want) {
		t.Errorf("the stream shows %q, want %q", got, want)
	}
}
