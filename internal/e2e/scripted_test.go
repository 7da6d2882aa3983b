package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// scripted makes an agent of a program of testdata, in a workspace that holds it and the helper library.
func (w *world) scripted(name, program string) (substrat.Agent, string) {
	w.t.Helper()
	command, dir := w.programFiles(name, program)
	return w.create(substrat.NewAgent{Name: name, Provider: "scripted", Dir: dir, Command: command}), dir
}

// programFiles puts a program into a workspace, and tells how to run it.
func (w *world) programFiles(name, program string) (command []string, dir string) {
	w.t.Helper()
	dir = filepath.Join(w.dir, "work-"+name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	for _, from := range []string{"testdata/scripted/" + program, "../../examples/scripted/python/substrat_agent.py"} {
		data, err := os.ReadFile(from)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(from)), data, 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	return []string{"python3", filepath.Join(dir, program)}, dir
}

// liveStatus reads who runs for an agent's live process.
func (w *world) liveStatus(agent string) (name string, shim int) {
	data, err := os.ReadFile(filepath.Join(w.home, "live", agent, "run", "status.json"))
	var st struct {
		ID   string `json:"id"`
		Shim struct {
			PID int `json:"pid"`
		} `json:"shim"`
	}
	if err != nil || json.Unmarshal(data, &st) != nil {
		return "", 0
	}
	return st.ID, st.Shim.PID
}

// programOf finds the process of a program in its sandbox: the one that is neither bubblewrap nor the shim.
func (w *world) programOf(agent string) int {
	name, _ := w.liveStatus(agent)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), "%d", &pid); err != nil || name == "" {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if bytes.Contains(env, []byte("SUBSTRAT_TURN="+name)) && bytes.HasPrefix(cmdline, []byte("python3\x00")) {
			return pid
		}
	}
	return 0
}

// strike kills a part: the program, the shim above it, or the daemon.
func (w *world) strike(part, agent string) {
	w.t.Helper()
	switch part {
	case "program":
		w.until("the program to run", func() bool {
			pid := w.programOf(agent)
			return pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
		})
	case "shim":
		w.until("the shim to run", func() bool {
			_, pid := w.liveStatus(agent)
			return pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
		})
	case "daemon":
		w.kill()
		w.start()
	}
}

// holding is a program that is held at places of its turn.
type holding struct {
	*world
	dir string
}

func (h holding) at(place string) {
	h.t.Helper()
	h.until("the program to be at "+place, func() bool { _, err := os.Stat(filepath.Join(h.dir, "at-"+place)); return err == nil })
}

func (h holding) pass(places ...string) {
	h.t.Helper()
	for _, place := range places {
		if err := os.WriteFile(filepath.Join(h.dir, "go-"+place), nil, 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
}

// told counts the texts that reached USER from an agent.
func (w *world) told(agent string) map[string]int {
	w.t.Helper()
	out := map[string]int{}
	for _, m := range w.messages() {
		if m.To == substrat.User && m.From == agent {
			out[m.Text]++
		}
	}
	return out
}

// TestScriptedStrikes kills each part in each state of a turn. Effects happen once, values that were recorded stay what they
// were, and the program knows in the next turn what it knew.
func TestScriptedStrikes(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t, "--slots", "20")
	w.start()
	for _, state := range []string{"before", "calling", "after", "end", "rest"} {
		for _, part := range []string{"program", "shim", "daemon"} {
			name := state + "-" + part
			a, dir := w.scripted(name, "held.py")
			h := holding{w, dir}
			id := w.send(name, "first")
			switch state {
			case "calling":
				// The daemon is held, so that the call is made and not answered.
				h.at("before")
				_ = w.daemon.Process.Signal(syscall.SIGSTOP)
				h.pass("before", "after", "end")
				h.until("the call to be made", func() bool {
					data, _ := os.ReadFile(filepath.Join(w.home, "live", a.ID, "run", "stdout"))
					return bytes.Contains(data, []byte(`"send_message"`))
				})
				if part != "daemon" {
					h.strike(part, a.ID)
					_ = w.daemon.Process.Signal(syscall.SIGCONT)
				} else {
					w.strike(part, a.ID)
				}
			case "rest":
				h.pass("before", "after", "end")
				w.wait(id)
				w.strike(part, a.ID)
			default:
				for _, place := range []string{"before", "after", "end"} {
					h.at(place)
					if place == state {
						h.strike(part, a.ID)
					}
					h.pass(place)
				}
			}
			if r := w.wait(id); r.Message.State != substrat.Handled || r.Turn.Text != "said 1 turns" {
				t.Errorf("%s: the message is %s after %q: %+v", name, r.Message.State, r.Message.Detail, r.Turn)
			}
			if r := w.wait(w.send(name, "free")); !strings.HasPrefix(r.Turn.Text, "2 0.") {
				t.Errorf("%s: the next turn says %q", name, r.Turn.Text)
			}
			told := w.told(name)
			if len(told) != 2 || slices.ContainsFunc(slices.Collect(maps.Values(told)), func(n int) bool { return n != 1 }) {
				t.Errorf("%s: USER was told %v", name, told)
			}
		}
	}
	w.settle()
	w.checkRecord()
	if t.Failed() {
		return
	}
	for _, a := range w.agents() {
		if len(w.turns(a.ID)) != 2 {
			t.Errorf("%s had %d turns: one was tried again", a.Name, len(w.turns(a.ID)))
		}
	}
}

func (w *world) turns(agent string) []substrat.Turn {
	w.t.Helper()
	var list struct {
		Turns []substrat.Turn `json:"turns"`
	}
	if err := w.get("/v1/agents/"+agent+"/turns", &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Turns
}

// TestScriptedCrashes kills parts at random while programs work, makes checkpoints and suspends in between.
func TestScriptedCrashes(t *testing.T) {
	needSandbox(t)
	w := newWorld(t, "--slots", "2")
	w.start()
	r := seed(t)
	var ids []string
	for i := range 3 {
		a, _ := w.scripted(fmt.Sprintf("s%d", i), "busy.py")
		ids = append(ids, a.ID)
	}
	sent := map[string]int{}
	last := map[string]string{}
	for until, n := time.Now().Add(soak(t)), 0; n < 24 || time.Now().Before(until); n++ {
		for i := range 3 {
			name := fmt.Sprintf("s%d", i)
			text := fmt.Sprintf("m%d", n)
			if id, err := w.trySend(name, text); err == nil {
				sent[name]++
				last[name] = id
			}
		}
		time.Sleep(time.Duration(100+r.IntN(300)) * time.Millisecond)
		victim := ids[r.IntN(3)]
		switch r.IntN(4) {
		case 0:
			w.kill()
			w.start()
		case 1:
			if pid := w.programOf(victim); pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		case 2:
			if _, pid := w.liveStatus(victim); pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		default:
			_ = w.post("/v1/agents/"+victim+"/suspend", nil, nil)
		}
	}
	for name, n := range sent {
		receipt := w.wait(last[name])
		if receipt.Message.State != substrat.Handled {
			t.Fatalf("the last message of %s is %s: %s", name, receipt.Message.State, receipt.Message.Detail)
		}
		if got := strings.Split(receipt.Turn.Text, ","); len(got) != n {
			t.Errorf("%s remembers %d of %d messages: %v", name, len(got), n, got)
		}
		told := w.told(name)
		for text, times := range told {
			if times != 1 {
				t.Errorf("%s told USER %d times: %s", name, times, text)
			}
		}
		if len(told) != 3*n {
			t.Errorf("%s told USER %d things, want %d", name, len(told), 3*n)
		}
	}
	w.settle()
	w.checkRecord()
}
