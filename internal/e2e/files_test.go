package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"substrat.dev/substrat"
)

// TestFilesAreOurs: whatever the umask, nothing in a home can be read or written by others: a daemon that listens on TCP too,
// a team that works, in a sandbox and without, with a worktree and a queue, and the same home in the hands of the next daemon.
func TestFilesAreOurs(t *testing.T) {
	needSandbox(t)
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	w := newWorld(t, "--listen", "127.0.0.1:0")
	if err := os.MkdirAll(w.home, 0o777); err != nil { // as a hand that knows nothing of it makes it
		t.Fatal(err)
	}
	w.start()
	for _, sandbox := range []substrat.Sandbox{substrat.Bubblewrap, substrat.NoSandbox} {
		name := "lead-" + string(sandbox)
		w.create(substrat.NewAgent{Name: name, Provider: "sim", Sandbox: sandbox})
		w.wait(w.send(name, script(
			step{"mcp": "create_workspace", "args": step{"name": "place"}},
			step{"mcp": "spawn_agent", "args": step{"name": "child"}},
			step{"mcp": "ask_user", "args": step{"question": "well?"}},
			step{"mcp": "remind_me", "args": step{"after": "10h", "reason": "x"}},
			step{"shell": "echo x > made-by-agent; mkdir -p d"}, step{"text": "done"})))
	}
	w.cli("search", "done")
	w.kill()
	w.start()
	w.send("lead-bwrap", script(step{"shell": "sleep 1000"}))
	w.turnOf("lead-bwrap")
	sockets, files := 0, 0
	err := filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(w.home, path)
		files++
		// What the agents make in their homes and workspaces has the mode they give it; the directory above keeps others out.
		// Below etc are copies of what everybody may read.
		if rel == "etc" || strings.HasPrefix(rel, "etc/") {
			return nil
		}
		if parts := strings.Split(rel, "/"); len(parts) > 2 && (parts[0] == "agents" && (parts[2] == "home" || parts[2] == "work") && len(parts) > 3 || parts[0] == "workspaces") {
			return nil
		}
		switch mode := info.Mode(); {
		case mode&fs.ModeSymlink != 0:
		case mode.Perm()&0o077 != 0:
			t.Errorf("%s has the mode %v", rel, mode)
		case mode&fs.ModeSocket != 0:
			sockets++
			if mode.Perm()&^0o600 != 0 {
				t.Errorf("the socket %s has the mode %v", rel, mode)
			}
		}
		return nil
	})
	if err != nil || files < 40 || sockets < 5 {
		t.Errorf("%d files, %d sockets, %v", files, sockets, err)
	}
	w.cli("agent", "stop", "lead-bwrap")
}
