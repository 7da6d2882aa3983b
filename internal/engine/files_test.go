package engine

import (
	"os"
	"path/filepath"
	"testing"

	"substrat.dev/substrat/agentcli"
)

// TestWriteIn: a file that a killed daemon left empty is written after all, one that the agent changed is kept only where
// it may be, and a link in its place is replaced, not followed.
func TestWriteIn(t *testing.T) {
	home, outside := t.TempDir(), filepath.Join(t.TempDir(), "x")
	root, err := os.OpenRoot(home)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	put("empty", "")
	put("kept", "mine")
	put("changed", "mine")
	put("half.new", "left behind")
	for name, c := range map[string]struct {
		keep bool
		want string
	}{"empty": {true, "ours"}, "kept": {true, "mine"}, "changed": {false, "ours"}, "half": {false, "ours"}, "a/b": {true, "ours"}, "link": {false, "ours"}} {
		if err := writeIn(root, agentcli.File{Path: name, Data: []byte("ours"), KeepExisting: c.keep}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(filepath.Join(home, name)); string(got) != c.want {
			t.Errorf("%s holds %q, want %q", name, got, c.want)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a link was followed")
	}
	if left, _ := filepath.Glob(filepath.Join(home, "*.new")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
