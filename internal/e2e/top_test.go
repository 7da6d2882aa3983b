package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"substrat.dev/substrat"
)

// TestTop looks at the view in a real terminal, at two sizes, and answers a question with its keys.
func TestTop(t *testing.T) {
	needSandbox(t)
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("there is no tmux to show a terminal in")
	}
	w := newWorld(t)
	w.start()
	w.create(substrat.NewAgent{Name: "lead"})
	w.create(substrat.NewAgent{Name: "coder", Parent: "lead"})
	w.wait(w.send("lead/coder", script(step{"mcp": "ask_user", "args": step{"question": "red or blue?", "options": []string{"red", "blue"}}}, step{"text": "asked"})))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tmux, append([]string{"-S", w.dir + "/tmux"}, args...)...)
		cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+w.home, "TERM=xterm-256color")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", w.dir+"/tmux", "kill-server").Run() })
	shows := func(name string, want ...string) {
		t.Helper()
		w.until(name+" to show "+strings.Join(want, ", "), func() bool {
			screen := run("capture-pane", "-p", "-t", name)
			for _, x := range want {
				if !strings.Contains(screen, x) {
					return false
				}
			}
			return true
		})
	}
	for name, size := range map[string][2]string{"small": {"80", "24"}, "large": {"200", "50"}} {
		run("new-session", "-d", "-s", name, "-x", size[0], "-y", size[1], w.bin+" top")
		shows(name, "agents 2", "needs you 1", "lead", "coder", "waits for USER", "? help")
	}
	run("send-keys", "-t", "small", "Down")
	shows("small", "lead/coder  sim", "waits for a person's answer: red or blue?")
	// The daemon dies and comes again, and the view with it.
	w.kill()
	shows("small", "the daemon is away")
	w.start()
	shows("small", "agents 2")
	run("send-keys", "-t", "small", "u", "Enter")
	shows("small", "answer (a number)")
	run("send-keys", "-t", "small", "2", "Enter")
	shows("small", "nothing needs you")
	w.until("the answer to arrive", func() bool {
		for _, m := range w.messages() {
			if m.Kind == substrat.KindAnswer && strings.HasPrefix(m.Text, "blue") {
				return true
			}
		}
		return false
	})
	run("send-keys", "-t", "large", "q")
	w.until("the large view to be gone", func() bool { return !strings.Contains(run("list-sessions"), "large") })
}
