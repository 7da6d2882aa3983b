package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// cli runs a command of the command line against the world's daemon and gives what it printed.
func (w *world) cli(args ...string) string {
	w.t.Helper()
	out, err := w.tryCLI(args...)
	if err != nil {
		w.t.Fatalf("substrat %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) tryCLI(args ...string) (string, error) {
	cmd := exec.Command(w.bin, args...)
	cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+w.home)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// knock speaks on an agent's socket from outside any sandbox and gives the first line of the answer.
func (w *world) knock(turn, agent, token string) string {
	w.t.Helper()
	c, err := net.Dial("unix", filepath.Join(w.home, "turns", turn, "sock", "agent.sock"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(c, `{"substrat":{"v":1,"relay":"r","token":%q,"agent":%q}}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", token, agent)
	line, _ := bufio.NewReader(c).ReadString('\n')
	return line
}

// TestForeignHands: T1, T3. With a turn's own token, but from outside its sandbox, nobody speaks as its agent; each attempt is
// an event. From inside, the same agent is heard.
func TestForeignHands(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	lead := w.create(substrat.NewAgent{Name: "lead", Provider: "sim", Dir: w.space()})
	w.create(substrat.NewAgent{Name: "coder", Parent: "lead"})
	w.send("lead", script(
		step{"shell": "substrat tool list_children"},
		step{"shell": "sleep 1000"}))
	turn := w.turnOf("lead")
	token, err := os.ReadFile(filepath.Join(w.home, "turns", turn, "sock", "token"))
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]string{
		"the right token from outside":  w.knock(turn, lead.ID, string(token)),
		"no name, from outside":         w.knock(turn, "", string(token)),
		"another agent's id":            w.knock(turn, w.agent("lead/coder").ID, string(token)),
		"a token of nothing":            w.knock(turn, lead.ID, strings.Repeat("0", 32)),
		"the old token of another turn": w.knock(turn, lead.ID, ""),
	} {
		if strings.Contains(answer, `"result"`) {
			t.Errorf("%s: %s", name, answer)
		}
	}
	var refused []string
	w.until("the refusals to be events", func() bool {
		refused = nil
		for line := range strings.Lines(w.cli("events", "--json")) {
			var ev struct {
				Type string
				Data struct{ Path, Turn, Why string }
			}
			if json.Unmarshal([]byte(line), &ev) == nil && ev.Type == "access.refused" && ev.Data.Path == "lead" && ev.Data.Turn == turn {
				refused = append(refused, ev.Data.Why)
			}
		}
		return len(refused) == 5
	})
	for _, why := range refused {
		if !strings.Contains(why, "not in this agent's sandbox") {
			t.Errorf("an event says %q", why)
		}
	}
	w.cli("agent", "stop", "lead")
	if log := w.cli("log", "lead", "--full"); !strings.Contains(log, `"children"`) {
		t.Errorf("what the agent said itself was not heard:\n%s", log)
	}
}
