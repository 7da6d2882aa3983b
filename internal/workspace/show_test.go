package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"substrat.dev/substrat"
)

// What git would run on the host is guarded also where the repository has none of it yet: an agent would make it.
func TestShowGuards(t *testing.T) {
	s := newStage(t)
	if err := os.RemoveAll(filepath.Join(s.repo, ".git", "hooks")); err != nil {
		t.Fatal(err)
	}
	s.ensure(s.place)
	shown, err := Show(s.place)
	if err != nil {
		t.Fatal(err)
	}
	git := filepath.Join(s.repo, ".git")
	if shown.Git != git || shown.Own != filepath.Join(git, "worktrees", "tree") {
		t.Errorf("shown: %+v", shown)
	}
	for _, name := range []string{"config", "hooks", "info", "modules", "worktrees", "worktrees/tree/commondir"} {
		if path := filepath.Join(git, name); !slices.Contains(shown.Guarded, path) || !s.exists(path) {
			t.Errorf("%s is not guarded, or is not there", path)
		}
	}
	s.whole(s.place)
}

func TestShowRefusesLinks(t *testing.T) {
	s := newStage(t)
	s.ensure(s.place)
	hooks := filepath.Join(s.repo, ".git", "hooks")
	if err := os.RemoveAll(hooks); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), hooks); err != nil {
		t.Fatal(err)
	}
	_, err := Show(s.place)
	s.refused(err, substrat.CodeConflict, "hooks", "is a link")
}

// A git directory that calls itself another repository's worktree makes git take that one's configuration, and run what
// it names. The test shows that git does, and that it no longer does after Heal.
func TestHostileCommondir(t *testing.T) {
	s := newStage(t)
	s.ensure(s.place)
	evil, mark := filepath.Join(s.home, "evil"), filepath.Join(s.home, "ran")
	s.run(s.home, "cp", "-r", filepath.Join(s.repo, ".git"), evil)
	s.run(s.home, "git", "config", "--file", filepath.Join(evil, "config"), "core.fsmonitor", "touch "+mark+"; false")
	plant := func() { s.write(s.repo, ".git/commondir", evil+"\n") }
	plant()
	s.run(s.repo, "git", "status")
	if !s.exists(mark) {
		t.Fatal("git does not follow the file: this test tests nothing")
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	if healed, err := Heal(s.repo); err != nil || !healed {
		t.Fatalf("Heal: %v, %v", healed, err)
	}
	s.run(s.repo, "git", "status")
	if s.exists(mark) {
		t.Error("git still runs what the foreign configuration names")
	}
	plant()
	if _, err := Show(s.place); err != nil {
		t.Errorf("Show does not heal: %v", err)
	}
	if healed, err := Heal(s.repo); err != nil || healed {
		t.Errorf("Heal of a sound repository: %v, %v", healed, err)
	}
	if healed, err := Heal(s.place.Dir); err != nil || healed || !s.exists(filepath.Join(s.repo, ".git", "worktrees", "tree", "commondir")) {
		t.Errorf("Heal took a worktree's own commondir: %v, %v", healed, err)
	}
}

// A worktree of a worktree is one of the repository that both are of.
func TestMainOfWorktrees(t *testing.T) {
	s := newStage(t)
	s.ensure(s.place)
	for _, dir := range []string{s.repo, filepath.Join(s.repo, "sub"), s.place.Dir, filepath.Join(s.place.Dir, "sub")} {
		if top, ok := Main(dir); !ok || top != s.repo {
			t.Errorf("Main(%s) = %q, %v", dir, top, ok)
		}
	}
	if top, ok := Main(s.home); ok {
		t.Errorf("Main outside of a repository: %q", top)
	}
}
