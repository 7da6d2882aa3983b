package engine

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"substrat.dev/substrat/internal/team"
)

// TestHeldDirsStayInside: T4. A directory that is made for a mount is made, and removed, inside the workspace, whatever links
// the agent has put there; what a later daemon reads of it is what was made.
func TestHeldDirsStayInside(t *testing.T) {
	e := &Engine{cfg: Config{Log: slog.New(slog.DiscardHandler)}, dirs: map[spot]*sharedDir{}}
	ws, victim, turn := filepath.Join(t.TempDir(), "odd\nname"), t.TempDir(), t.TempDir()
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(victim, filepath.Join(ws, "out")))
	if err := e.holdPlaces(ws, []team.Mount{{At: "out/dir"}}, turn); err == nil {
		t.Error("a place beyond a link that leads out is held")
	}
	if entries, _ := os.ReadDir(victim); len(entries) > 0 {
		t.Errorf("made outside of the workspace: %v", entries)
	}
	must(e.holdPlaces(ws, []team.Mount{{At: "in/dir"}}, turn))
	must(e.holdDir(spot{ws, ".cursor"}, turn))
	// The daemon dies; the agent puts a link where the directory was, to where one of the name is empty.
	must(os.RemoveAll(filepath.Join(ws, "in")))
	must(os.Mkdir(filepath.Join(victim, "dir"), 0o755))
	must(os.Symlink(victim, filepath.Join(ws, "in")))
	later := &Engine{cfg: e.cfg, dirs: map[spot]*sharedDir{}}
	later.adoptDirs(turn)
	later.releaseDirs(turn)
	if _, err := os.Stat(filepath.Join(victim, "dir")); err != nil {
		t.Errorf("removed outside of the workspace: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(ws, ".cursor")); !os.IsNotExist(err) {
		t.Errorf("what was made is still there: %v", err)
	}
}

func TestSpots(t *testing.T) {
	for _, s := range []spot{{"/ws", ".cursor"}, {"/odd\nname", "a/b"}, {`/quo"te`, "x"}} {
		if got, ok := spotOf(s.note()); got != s || !ok {
			t.Errorf("%+v became %+v", s, got)
		}
	}
	if got, ok := spotOf("/ws/.cursor"); got != (spot{"/ws", ".cursor"}) || !ok {
		t.Errorf("an old note: %+v", got)
	}
	for _, line := range []string{"", "x", "relative//x", "/ws//../x", "/ws///etc", `"/ws//../x"`} {
		if got, ok := spotOf(line); ok {
			t.Errorf("%q is %+v", line, got)
		}
	}
}
