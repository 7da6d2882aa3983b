package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// glance is how long a screen may take to show what is there.
const glance = 20 * time.Second

// terminal is a real terminal of a size, in which a command of the world runs.
type terminal struct {
	w      *world
	socket string
}

// openTerminal runs the binary under test in tmux. It skips where there is none, and says so.
func (w *world) openTerminal(size [2]string, args ...string) *terminal {
	w.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		w.t.Skip("tmux is not installed: the live view is not tested in a terminal here (scripts/setup.sh tmux)")
	}
	x := &terminal{w, filepath.Join(w.dir, "tmux.sock")}
	// What it is run from is unimportant; that it ended is seen on the screen.
	command := "SUBSTRAT_HOME='" + w.home + "' '" + w.bin + "' " + strings.Join(args, " ") + "; echo ended with $?; exec cat"
	cmd := exec.Command("tmux", "-S", x.socket, "-f", os.DevNull, "-u", "new-session", "-d", "-x", size[0], "-y", size[1], command)
	cmd.Env = append(os.Environ(), "TERM=screen-256color", "LC_ALL=C.UTF-8")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("cannot open a terminal: %v %s", err, out)
	}
	w.t.Cleanup(func() {
		x.tmux("kill-server")
		w.until("the terminal to close", func() bool { return exec.Command("tmux", "-S", x.socket, "has-session").Run() != nil })
	})
	return x
}

func (x *terminal) tmux(args ...string) string {
	x.w.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...).CombinedOutput()
	if err != nil {
		x.w.t.Errorf("tmux %v: %v %s", args, err, out)
	}
	return string(out)
}

// press types keys by their tmux names, write types a text.
func (x *terminal) press(keys ...string) { x.tmux(append([]string{"send-keys"}, keys...)...) }
func (x *terminal) write(text string)    { x.tmux("send-keys", "-l", text) }

// shows waits until the screen has all of some texts, and gives it.
func (x *terminal) shows(texts ...string) string {
	x.w.t.Helper()
	var screen string
	defer func() {
		if x.w.t.Failed() {
			x.w.t.Logf("the screen is\n%s", screen)
		}
	}()
	for deadline := time.Now().Add(glance); ; time.Sleep(20 * time.Millisecond) {
		screen = x.tmux("capture-pane", "-p")
		missing := slices.IndexFunc(texts, func(s string) bool { return !strings.Contains(screen, s) })
		if missing < 0 {
			return screen
		}
		if time.Now().After(deadline) {
			x.w.t.Fatalf("the screen does not show %q", texts[missing])
		}
	}
}

// TestTop watches and steers agents in a real terminal, across a crash of the daemon.
func TestTop(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	lead := w.create(substrat.NewAgent{Name: "lead", Provider: "sim"})
	w.create(substrat.NewAgent{Name: "coder", Parent: lead.Path, Provider: "sim", Role: substrat.Reviewer})
	w.send("lead", script(step{"mcp": "ask_user", "args": step{"question": "Which colour?", "options": []string{"red", "green"}}}, step{"text": "I \x1b[31masked\x1b[0m."}))

	x := w.openTerminal([2]string{"80", "24"}, "top")
	first := x.shows("slots 0/", "agents 2", "queue 1", ">lead", "waiting", "coder", "Which colour?", "I asked.")
	if lines := strings.Split(strings.TrimRight(first, "\n"), "\n"); len(lines) != 24 || !strings.Contains(lines[23], "q quit") {
		t.Errorf("the screen is not filled:\n%s", first)
	}

	x.press("u", "Enter")
	x.shows("question of lead", "[ ] red")
	x.press("2", "Enter")
	x.shows("answered the question of lead", "nothing needs you")
	w.until("the answer to be in a turn", func() bool { return w.agent("lead").Turns == 2 && w.agent("lead").State == substrat.Idle })

	x.press("q", "j", "m")
	x.shows("to lead/coder:")
	x.write("say <<SCRIPT [{\"text\":\"pong\"}] SCRIPT>>")
	x.press("Enter")
	x.shows("sent to lead/coder", "pong")
	x.press("l")
	x.shows("transcript of lead/coder", "── turn 1", "» user from USER", "  pong", "── completed")
	x.press("q", "g")
	x.shows("lead/coder is gated", ">  coder                           gated")

	w.kill()
	x.shows("daemon away, reconnecting")
	w.start()
	x.shows("substrat", "up ", ">  coder                           gated")
	w.create(substrat.NewAgent{Name: "newcomer", Provider: "sim"})
	x.shows("newcomer", "agents 3")

	x.tmux("resize-window", "-x", "200", "-y", "50")
	x.shows("│ ── lead/coder ──", "s stop turn")
	x.press("x")
	x.shows("end lead/coder and all agents under it? y/n")
	x.press("y")
	x.shows("ended lead/coder", "agents 2")
	x.press("q")
	x.shows("ended with 0")
}
