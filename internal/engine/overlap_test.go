package engine

import (
	"context"
	"path/filepath"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// again looks as after a turn of an agent, and returns when that is done. What was kept in memory is gone, as after a restart.
func (h *house) again(ref string) {
	h.Helper()
	a, err := h.e.Agent(h.ctx, ref)
	if err != nil {
		h.Fatal(err)
	}
	h.e.overlaps.turn <- struct{}{}
	defer func() { <-h.e.overlaps.turn }()
	clear(h.e.overlaps.changed)
	clear(h.e.overlaps.told)
	if err := h.e.compareChanges(h.ctx, a.ID, nil); err != nil {
		h.Fatal(err)
	}
}

func TestOverlapOfWorktrees(t *testing.T) {
	h := newHouse(t)
	h.agent(substrat.NewAgent{Name: "lead", Dir: h.repo})
	h.agent(substrat.NewAgent{Name: "left", Parent: "lead", Worktree: true})
	h.agent(substrat.NewAgent{Name: "right", Parent: "lead", Worktree: true})
	h.agent(substrat.NewAgent{Name: "far", Dir: h.repo, Worktree: true}) // of another team
	h.turn("lead/left", shell("echo left >> main.txt; echo l > left.txt"))
	h.turn("lead/right", shell("echo r > right.txt"))
	h.again("lead/right")
	if n := h.count("both changed"); n != 0 {
		t.Fatalf("%d warnings of different files", n)
	}
	h.turn("lead/right", shell("echo right >> main.txt"))
	// One parent is told once. The order of the two is by their ids, which are by age.
	if n := h.told("lead/left and lead/right both changed", ": main.txt"); n != 1 {
		t.Errorf("told %d times", n)
	}
	h.turn("lead/left", shell("echo again >> main.txt"))
	h.again("lead/left")
	h.again("lead/right")
	if n := h.count("both changed"); n != 1 {
		t.Errorf("%d warnings after another turn and a restart", n)
	}
	// Two teams: the parent of the one, and the user for the root of the other, each once.
	h.turn("far", shell("echo far > left.txt"))
	h.told("far and lead/left both changed", "left.txt")
	h.told("lead/left and far both changed", "left.txt")
	h.again("far")
	if n := h.count("both changed"); n != 3 {
		t.Errorf("%d warnings, want three", n)
	}
	// What was taken back is nobody's any more, also if it was seen before.
	tree, _ := h.find("lead/../lead.right")
	h.git(tree.Dir, "checkout", "-q", "main.txt")
	h.turn("far", shell("echo far >> main.txt"))
	h.told("far and lead/left both changed", ": main.txt")
	h.again("far")
	if n := h.count("lead/right", "far"); n != 0 {
		t.Errorf("%d warnings of what was taken back", n)
	}
}

// Of a plain directory, what turns named counts, also that of earlier ones; and an agent that ended is no matter.
func TestOverlapOfDirectories(t *testing.T) {
	h := newHouse(t)
	h.write(h.repo, "b.txt", "b\n")
	h.agent(substrat.NewAgent{Name: "one", Dir: h.repo})
	h.agent(substrat.NewAgent{Name: "two", Dir: h.repo, Worktree: true})
	write := func(name string) map[string]any { return map[string]any{"write": name, "content": name} }
	h.turn("one", write("main.txt"))
	h.turn("one", write("b.txt"))
	h.turn("two", shell("echo two >> main.txt"))
	if n := h.told("both changed", ": main.txt"); n != 1 {
		t.Errorf("told %d times", n)
	}
	h.turn("two", write("c.txt"))
	if err := h.e.Terminate(h.ctx, "two", ""); err != nil {
		t.Fatal(err)
	}
	h.turn("one", write("c.txt"))
	h.again("one")
	if n := h.count("both changed"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

func TestOverlapNeedsARepository(t *testing.T) {
	h := newHouse(t)
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		h.agent(substrat.NewAgent{Name: name, Dir: dir})
		h.turn(name, map[string]any{"write": "a.txt", "content": name})
	}
	h.again("two")
	if n := h.count("both changed"); n != 0 {
		t.Errorf("%d warnings without a repository", n)
	}
}

func TestWithin(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"a": "a", "../b": "", top + "/sub/c": "sub/c", "/elsewhere": "", "sub/../d": "d"} {
		if got, ok := within(top, top, file); got != want && ok || ok != (want != "") {
			t.Errorf("within(%q) = %q, %v", file, got, ok)
		}
	}
	// A look that has to wait for its turn ends with its context.
	e := &Engine{overlaps: newOverlaps()}
	e.overlaps.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	e.watchOverlap(ctx, &runner{}, &attempt{living: team.Living{Tree: &team.Tree{}}}, nil)
	cancel()
	e.wg.Wait()
}
