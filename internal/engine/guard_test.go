package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"substrat.dev/substrat/internal/guard"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/team"
)

// guardRules are rules that say something of what is guarded.
type guardRules struct {
	Rules
	protect bool
	allow   []string
}

func (g guardRules) Guard() (bool, []string) { return g.protect, g.allow }

func placesOf(t *testing.T, e *Engine, p sandbox.Profile, l team.Living, links []team.Mount) []string {
	t.Helper()
	holder := filepath.Join(e.cfg.Home, "holder")
	if err := os.MkdirAll(holder, 0o700); err != nil {
		t.Fatal(err)
	}
	before := len(p.Binds)
	if err := e.guard(&p, l, links, holder); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range p.Binds[before:] {
		if b.Write {
			t.Errorf("%s may be written to", b.At)
		}
		out = append(out, b.At)
	}
	slices.Sort(out)
	e.releaseDirs(holder)
	return out
}

// TestGuardProfile: what is shown to be written to is guarded, at the place where it is shown; what is mounted already, what is
// allowed and what is read-only is let be; and what was made goes.
func TestGuardProfile(t *testing.T) {
	dir, linked := t.TempDir(), t.TempDir()
	e := &Engine{cfg: Config{Home: t.TempDir()}, dirs: map[spot]*sharedDir{}}
	e.cfg.Rules = guardRules{protect: true, allow: []string{".c*", ".gemini", ".mcp.json", ".idea"}}
	p := sandbox.Profile{Workspace: dir, WorkspaceConfig: []sandbox.Bind{{Host: "/x", At: dir + "/.envrc"}}}
	links := []team.Mount{{Base: linked, At: "sub"}, {Base: t.TempDir(), At: "read", ReadOnly: true}}
	if got, want := placesOf(t, e, p, team.Living{}, links), []string{dir + "/.vscode", dir + "/sub/.envrc", dir + "/sub/.vscode"}; !slices.Equal(got, want) {
		t.Errorf("guarded: %q", got)
	}
	if got := placesOf(t, e, p, team.Living{ReadOnly: true}, nil); len(got) > 0 {
		t.Errorf("guarded although read-only: %q", got)
	}
	e.cfg.Rules = guardRules{protect: false}
	if got := placesOf(t, e, p, team.Living{}, links); len(got) > 0 {
		t.Errorf("guarded although nobody wants it: %q", got)
	}
	for _, d := range []string{dir, linked} {
		if left, _ := os.ReadDir(d); len(left) > 0 {
			t.Errorf("left in %s: %v", d, left)
		}
	}
}

// TestFindingsAreToldOnce: of two agents whose turns saw the same file written, one is told of.
func TestFindingsAreToldOnce(t *testing.T) {
	dir := t.TempDir()
	e := &Engine{cfg: Config{Rules: guardRules{allow: []string{"x/.zed"}}}}
	before, err := guard.Take(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	look := func() int {
		t.Helper()
		after, err := guard.Take(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(e.newFindings(before, after))
	}
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("x/.mcp.json", "{}")
	write("x/.zed/tasks.json", "{}")
	if n := look(); n != 1 {
		t.Errorf("%d findings", n)
	}
	if n := look(); n != 0 {
		t.Errorf("%d findings are told again", n)
	}
	write("x/.mcp.json", "{ }")
	if n := look(); n != 1 {
		t.Errorf("%d findings of what was written since", n)
	}
}
