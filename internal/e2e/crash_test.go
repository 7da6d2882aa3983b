package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// soak is how long a crash test goes on beyond its least: SOAK=10m make soak.
func soak(t *testing.T) time.Duration {
	t.Helper()
	v := os.Getenv("SOAK")
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	return d
}

// seed names a run, so that its order of kills can be asked for again.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if v := os.Getenv("SEED"); v != "" {
		if _, err := fmt.Sscan(v, &n); err != nil {
			t.Fatalf("SEED: %v", err)
		}
	}
	t.Logf("SEED=%d repeats this run", n)
	return rand.New(rand.NewPCG(n, n))
}

// crowd makes a root with agents under it, and sends each some work: commands, and messages to one another.
type crowd struct {
	*world
	names []string
}

func newCrowd(w *world, n int) *crowd {
	c := &crowd{world: w}
	w.create(substrat.NewAgent{Name: "root"})
	for i := range n - 1 {
		name := fmt.Sprintf("m%02d", i)
		w.create(substrat.NewAgent{Name: name, Parent: "root"})
		c.names = append(c.names, name)
	}
	return c
}

// say sends one member a script that makes it write to another, and ask a third.
func (c *crowd) say(r *rand.Rand, i int) error {
	from, to := c.names[r.IntN(len(c.names))], c.names[r.IntN(len(c.names))]
	steps := []any{step{"shell": fmt.Sprintf("echo %d", i)}}
	if to != from {
		steps = append(steps,
			step{"mcp": "send_message", "args": step{"recipient": to, "text": fmt.Sprintf("note %d from %s", i, from), "sync": i%3 == 0}},
			step{"sleep_ms": r.IntN(60)})
	}
	steps = append(steps, step{"text": fmt.Sprintf("said %d", i)})
	_, err := c.trySend("root/"+from, script(steps...))
	return err
}

// TestCrashDaemon: F1, A1, A2, A10. Messages flow between twenty agents while the daemon is killed at random, thirty
// times at least. Nothing acknowledged is lost, every message is handled once in the record, no process stays.
func TestCrashDaemon(t *testing.T) {
	needSandbox(t)
	w := newWorld(t, "--slots", "6")
	w.start()
	c, r := newCrowd(w, 20), seed(t)
	kills, sent := 0, 0
	for until := time.Now().Add(soak(t)); kills < 30 || sent < 200 || time.Now().Before(until); {
		for range 7 {
			if c.say(r, sent) == nil {
				sent++
			}
		}
		time.Sleep(time.Duration(r.IntN(250)) * time.Millisecond)
		w.kill()
		kills++
		w.start()
	}
	w.settle()
	for _, id := range w.acked {
		if m, err := w.message(id); err != nil || m.State != substrat.Handled {
			t.Errorf("message %s: %s %v", id, m.State, err)
		}
	}
	// A daemon that dies is no fault of the agent's: its turn goes on, or is interrupted, but does not fail.
	for _, ev := range w.events() {
		if ev.Type == "turn.ended" && strings.Contains(string(ev.Data), `"outcome":"failed"`) {
			t.Errorf("a turn failed: %s", ev.Data)
		}
	}
	t.Logf("%d messages acknowledged, %d kills", len(w.acked), kills)
	w.check()
}

// TestCrashShims: the same with shims killed: turns are interrupted and tried again, nothing is lost.
func TestCrashShims(t *testing.T) {
	needSandbox(t)
	w := newWorld(t, "--slots", "6")
	w.start()
	c, r := newCrowd(w, 20), seed(t)
	kills, sent := 0, 0
	for until := time.Now().Add(soak(t)); kills < 30 || sent < 200 || time.Now().Before(until); {
		for range 7 {
			if err := c.say(r, sent); err != nil {
				t.Fatal(err)
			}
			sent++
		}
		w.until("a shim to kill", func() bool {
			pids := slices.Sorted(maps.Values(w.shims()))
			return len(pids) > 0 && syscall.Kill(pids[r.IntN(len(pids))], syscall.SIGKILL) == nil
		})
		kills++
	}
	w.settle()
	interrupted := 0
	for _, ev := range w.events() {
		if ev.Type == "turn.ended" && strings.Contains(string(ev.Data), `"outcome":"interrupted"`) {
			interrupted++
		}
	}
	if interrupted == 0 {
		t.Error("no turn was interrupted: the kills hit nothing")
	}
	for _, id := range w.acked {
		if m, err := w.message(id); err != nil || m.State != substrat.Handled {
			t.Errorf("message %s: %s %v", id, m.State, err)
		}
	}
	t.Logf("%d messages, %d shims killed, %d turns interrupted", len(w.acked), kills, interrupted)
	w.check()
}

// TestFailpoints: F2. The daemon ends at its Nth journal write, for every N until a run has no more writes to end at.
func TestFailpoints(t *testing.T) {
	needSandbox(t)
	t.Parallel()
	bin := binary(t, "failpoint")
	for n := 1; ; n++ {
		if n > 400 {
			t.Fatal("the story never came to its end")
		}
		w := newWorldOf(t, bin, []string{fmt.Sprintf("SUBSTRAT_FAILPOINT=journal:%d", n)})
		w.launch()
		if !w.tell() {
			_ = w.post("/v1/shutdown", map[string]string{"mode": "leave"}, nil)
		}
		<-w.exited
		hit := !w.daemon.ProcessState.Success()
		w.daemon, w.env = nil, nil
		w.start()
		w.tell()
		if n%10 == 1 || !hit {
			w.check()
		} else {
			w.settle()
			w.checkRecord()
			w.checkProcesses()
		}
		w.close()
		if t.Failed() {
			t.Fatalf("SUBSTRAT_FAILPOINT=journal:%d", n)
		}
		if !hit {
			t.Logf("%d failpoints", n-1)
			return
		}
	}
}

// tell plays a short story against a daemon that may end at any moment: two agents, a request and its reply. It reports
// whether the daemon ended.
func (w *world) tell() (ended bool) {
	w.t.Helper()
	gone := func() bool {
		select {
		case <-w.exited:
			return true
		default:
			return false
		}
	}
	w.until("the daemon to answer or end", func() bool { return gone() || w.get("/v1/status", nil) == nil })
	_ = w.post("/v1/agents", substrat.NewAgent{Name: "a"}, nil)
	_ = w.post("/v1/agents", substrat.NewAgent{Name: "b", Parent: "a"}, nil)
	id, err := w.trySend("a", script(step{"mcp": "send_message", "args": step{"recipient": "b", "text": "question"}}, step{"text": "asked"}))
	if err == nil {
		w.until("the story's end or the daemon's", func() bool {
			m, err := w.message(id)
			return gone() || err == nil && m.State.Final() && w.quiet()
		})
	}
	return gone()
}

// quiet reports whether nothing is under way.
func (w *world) quiet() bool {
	var list struct {
		Agents []substrat.Agent `json:"agents"`
	}
	if w.get("/v1/agents", &list) != nil {
		return false
	}
	for _, a := range list.Agents {
		if a.State != substrat.Idle || a.Pending > 0 {
			return false
		}
	}
	return true
}
