package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// acpWorld has an agent that speaks ACP, in the sandbox, a policy that leaves some commands to a person, and two more MCP servers: the
// agent insists on the one, and cannot take the other.
func acpWorld(t *testing.T) (*world, substrat.Agent) {
	t.Helper()
	w := newWorld(t)
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	policies := "[[policy]]\neffect = \"deny\"\ncommand = \"rm *\"\nreason = \"nothing is removed here\"\n[[policy]]\neffect = \"ask\"\ncommand = \"make *\"\n"
	servers := "[mcp.notes]\ncommand = [\"/bin/sh\"]\n[mcp.tracker]\nurl = \"https://127.0.0.1:1/mcp\"\n"
	if err := os.WriteFile(filepath.Join(w.home, "substrat.toml"), []byte(policies+servers), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(w.dir, "work-acp")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/acp/agent.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "agent.py"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w, w.create(substrat.NewAgent{Name: "lead", Provider: "acp", Dir: dir, Command: []string{"python3", filepath.Join(dir, "agent.py")}})
}

// transcript gives an agent's transcript, as the command line prints it.
func (w *world) transcript(ref string, more ...string) string {
	w.t.Helper()
	cmd := exec.Command(w.bin, append([]string{"log", ref}, more...)...)
	cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+w.home, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Errorf("substrat log: %v\n%s", err, out)
	}
	return string(out)
}

// open gives the one open item of the queue, once there is one.
func (w *world) open() (x substrat.Item) {
	w.t.Helper()
	w.until("an item in the queue", func() bool {
		var q struct{ Items []substrat.Item }
		if w.get("/v1/queue", &q) != nil || len(q.Items) != 1 {
			return false
		}
		x = q.Items[0]
		return true
	})
	return x
}

func (w *world) answer(id string, a substrat.Answer) {
	w.t.Helper()
	if err := w.post("/v1/queue/"+id, a, nil); err != nil {
		w.t.Fatal(err)
	}
}

// completed waits for a message's turn and gives its text.
func (w *world) completed(id string) string {
	w.t.Helper()
	r := w.wait(id)
	if r.Turn == nil || r.Turn.Outcome != substrat.Completed {
		w.t.Fatalf("the turn: %+v", r.Turn)
	}
	return r.Turn.Text
}

// lines are what the agent of testdata/acp does.
func lines(l ...string) string { return strings.Join(l, "\n") }

// TestACP: an agent that speaks ACP does turn after turn in one process, asks for leave, and is asked on after whatever dies.
func TestACP(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w, a := acpWorld(t)

	// Two turns in one process; the policy decides without anybody being asked.
	first := w.completed(w.send("lead", lines("say hello", "run echo from the shell", "run rm -rf /")))
	if first != "hello"+"ran it: from the shell"+"refused" {
		t.Errorf("said %q", first)
	}
	if log := w.transcript("lead", "--full"); !strings.Contains(log, "no MCP servers over HTTP: tracker is left out") {
		t.Errorf("nothing is said of a server that it does not get:\n%s", log)
	}
	process, _ := w.liveStatus(a.ID)
	if text := w.completed(w.send("lead", "memory")); text != "I remember 2 prompts" {
		t.Errorf("said %q", text)
	}
	if again, _ := w.liveStatus(a.ID); again != process || process == "" {
		t.Errorf("another process: %q, %q", process, again)
	}

	// What the policy leaves to a person waits for them, over the death of the daemon.
	id := w.send("lead", "run make it so")
	x := w.open()
	if x.Kind != substrat.ItemPermission || x.Tool != "Bash" || !strings.Contains(x.Text, "make it so") || x.Turn == "" {
		t.Errorf("asked: %+v", x)
	}
	w.kill()
	w.start()
	if y := w.open(); y.ID != x.ID {
		t.Errorf("after the restart another question: %+v", y)
	}
	w.answer(x.ID, substrat.Answer{Choices: []string{"deny"}})
	if text := w.completed(id); text != "refused" {
		t.Errorf("said %q", text)
	}
	id = w.send("lead", "run make it so")
	w.answer(w.open().ID, substrat.Answer{Choices: []string{"allow"}})
	if text := w.completed(id); !strings.HasPrefix(text, "ran it") {
		t.Errorf("said %q", text)
	}

	// Answered while there is no daemon to hear the agent: it hears of it all the same.
	id = w.send("lead", lines("ask which fruit?", "plan first this, then that"))
	x = w.open()
	w.answer(x.ID, substrat.Answer{Choices: []string{"Pear"}})
	plan := w.open()
	if plan.Kind != substrat.ItemPlan || !strings.Contains(plan.Text, "first this") {
		t.Errorf("asked: %+v", plan)
	}
	w.answer(plan.ID, substrat.Answer{Choices: []string{"accept"}})
	w.kill()
	w.start()
	if text := w.completed(id); text != `answer {"outcome": "answered", "answers": [{"questionId": "q1", "selectedOptionIds": ["b"]}]}plan accepted` {
		t.Errorf("said %q", text)
	}

	// The transcript tells what was asked, and what was answered to it, in their order.
	id = w.send("lead", "ask which fruit?")
	w.answer(w.open().ID, substrat.Answer{Choices: []string{"Pear"}})
	w.completed(id)
	log := w.transcript("lead")
	asked, told, said := strings.LastIndex(log, "? asks: which fruit?"), strings.LastIndex(log, "(Pear)"), strings.LastIndex(log, `answer {"outcome"`)
	if asked < 0 || told < asked || said < told {
		t.Errorf("asked at %d, answered at %d, said so at %d:\n%s", asked, told, said, log)
	}

	// In the middle of what it says.
	id = w.send("lead", "slow 40")
	w.until("the turn to be under way", func() bool { return w.agent("lead").State == substrat.Busy })
	time.Sleep(300 * time.Millisecond) // somewhere in the middle; where does not matter
	w.kill()
	w.start()
	want := ""
	for i := range 40 {
		want += string(rune('0'+i/10)) + string(rune('0'+i%10)) + " "
	}
	want = strings.ReplaceAll(" "+want, " 0", " ")[1:]
	if text := w.completed(id); text != want {
		t.Errorf("said %q, want %q", text, want)
	}

	// Suspended, it is started anew and goes on in its session, without telling its history again.
	if err := w.post("/v1/agents/lead/suspend", nil, nil); err != nil {
		t.Fatal(err)
	}
	text := w.completed(w.send("lead", "memory"))
	if !strings.HasPrefix(text, "I remember ") || strings.Contains(text, "HISTORY") || text == "I remember 1 prompts" {
		t.Errorf("said %q", text)
	}

	// Stopped, it ends the turn by its own word.
	id = w.send("lead", lines("say up", "wait"))
	w.until("the turn to be under way", func() bool { return w.agent("lead").State == substrat.Busy })
	w.stop("lead")
	if r := w.wait(id); r.Turn == nil || r.Turn.Outcome != substrat.Cancelled {
		t.Errorf("stopped: %+v", r.Turn)
	}
	// One that dies in its turn has failed it, and the next turn is another process's.
	id = w.send("lead", "die")
	w.until("a failed attempt", func() bool { return w.agent("lead").LastError != "" })
	w.until("the second attempt", func() bool { m, err := w.message(id); return err == nil && m.Attempts > 1 })
	if err := w.do("DELETE", "/v1/agents/lead", nil, nil); err != nil {
		t.Fatal(err)
	}
	w.until("the process to be gone", func() bool { return len(w.living()) == 0 })
}
