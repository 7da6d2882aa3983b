package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

func TestDiff(t *testing.T) {
	s := worked(t)
	s.write(s.repo, "only-main.txt", "x\n")
	s.commit(s.repo, "beside")
	s.write(s.place.Dir, "a.txt", "changed\n")
	s.write(s.place.Dir, "odd näme\n.txt", "untracked\n")
	s.write(s.place.Dir, ".gitignore", "ignored\n")
	s.write(s.place.Dir, "ignored", "x")
	s.run(s.place.Dir, "git", "init", "-q", "nested")
	s.write(s.place.Dir, "nested/x", "x")
	d, err := Diff(t.Context(), s.place)
	if err != nil {
		t.Fatal(err)
	}
	if d.Ahead != 1 || d.Behind != 1 || d.Branch != "substrat/worker" || d.Base != "main" || d.Cut {
		t.Errorf("%+v", d)
	}
	if want := []string{"a.txt", ".gitignore", "nested/", "odd näme\n.txt"}; !slices.Equal(d.Uncommitted, want) {
		t.Errorf("uncommitted: %q", d.Uncommitted)
	}
	files := []string{".gitignore", "a.txt", "nested/", "new.txt", "odd näme\n.txt", "sub/b.txt"}
	if !slices.Equal(d.Files, files) {
		t.Errorf("files: %q", d.Files)
	}
	for _, want := range []string{"+changed\n", "-one\n", "+new\n", "+three\n", "+untracked\n", "+ignored\n"} {
		if !strings.Contains(d.Text, want) {
			t.Errorf("the text lacks %q:\n%s", want, d.Text)
		}
	}
	if strings.Contains(d.Text, "only-main") {
		t.Errorf("the text has what only the base has:\n%s", d.Text)
	}
	if changed, err := Changed(t.Context(), s.place); err != nil || !slices.Equal(changed, files) {
		t.Errorf("Changed: %q %v", changed, err)
	}
	if got := s.run(s.place.Dir, "git", "diff", "--cached", "--name-only"); got != "" {
		t.Errorf("the index of the agent changed: %s", got)
	}
	_, err = Diff(t.Context(), Place{Dir: s.repo})
	s.refused(err, substrat.CodeUnsupported, "plain directory")
	os.RemoveAll(s.place.Dir)
	_, err = Diff(t.Context(), s.place)
	s.refused(err, substrat.CodeNotFound, "no worktree")
}

func TestDiffBounded(t *testing.T) {
	s := worked(t)
	s.write(s.place.Dir, "large", strings.Repeat("0123456789\n", mostDiff/10))
	d, err := Diff(t.Context(), s.place)
	if err != nil || !d.Cut || len(d.Text) != mostDiff {
		t.Fatalf("%v: cut %v, %d bytes", err, d.Cut, len(d.Text))
	}
}

// TestDiffSameSecond changes a file without changing its size, right after git wrote the index.
func TestDiffSameSecond(t *testing.T) {
	s := newStage(t)
	s.ensure(s.place)
	s.run(s.repo, "git", "config", "core.trustctime", "false")
	second := time.Now().Add(-time.Hour).Truncate(time.Second)
	set := func(path string) {
		if err := os.Chtimes(path, second, second); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(s.place.Dir, "a.txt")
	for range 5 {
		s.write(s.place.Dir, "a.txt", "one\n")
		set(file)
		s.run(s.place.Dir, "git", "add", "a.txt")
		set(filepath.Join(s.repo, ".git/worktrees/tree/index"))
		s.write(s.place.Dir, "a.txt", "six\n")
		set(file)
		d, err := Diff(t.Context(), s.place)
		if err != nil || !strings.Contains(d.Text, "+six\n") {
			t.Fatalf("%v\n%s", err, d.Text)
		}
	}
}

// TestHiddenChanges looks through the marks that hide changes from git status.
func TestHiddenChanges(t *testing.T) {
	for _, mark := range []string{"--assume-unchanged", "--skip-worktree"} {
		s := newStage(t)
		s.ensure(s.place)
		s.run(s.place.Dir, "git", "update-index", mark, "a.txt")
		s.write(s.place.Dir, "a.txt", "mine\n")
		d, err := Diff(t.Context(), s.place)
		if err != nil || !slices.Equal(d.Uncommitted, []string{"a.txt"}) {
			t.Errorf("%s: %+v %v", mark, d, err)
		}
		_, err = Remove(t.Context(), s.place, "", false)
		s.refused(err, substrat.CodeConflict, "a.txt")
	}
}

func TestRepo(t *testing.T) {
	s := newStage(t)
	s.ensure(s.place)
	s.run(s.home, "git", "init", "-q", "--bare", "bare")
	link := filepath.Join(s.home, "link")
	os.Symlink(filepath.Join(s.repo, "sub"), link)
	s.write(s.home, "fake/.git", "gitdir: "+s.repo+"/.git/worktrees/none\n")
	for dir, want := range map[string]string{
		s.repo: s.repo, s.repo + "/sub": s.repo, link: s.repo, s.place.Dir: s.place.Dir, s.place.Dir + "/sub": s.place.Dir,
		s.home: "", s.home + "/bare": "", s.home + "/none": "", s.home + "/fake": "", "sub": "",
	} {
		if top, ok := Repo(dir); top != want || ok != (want != "") {
			t.Errorf("%s: %q %v", dir, top, ok)
		}
	}
}

func TestBase(t *testing.T) {
	s := newStage(t)
	if got, err := Base(t.Context(), s.repo+"/sub"); err != nil || got != "main" {
		t.Errorf("%q %v", got, err)
	}
	s.run(s.repo, "git", "checkout", "-q", "--detach")
	if got, err := Base(t.Context(), s.repo); err != nil || got != s.run(s.repo, "git", "rev-parse", "HEAD") {
		t.Errorf("%q %v", got, err)
	}
	s.run(s.home, "git", "init", "-q", "empty")
	_, err := Base(t.Context(), s.home+"/empty")
	s.refused(err, substrat.CodeConflict, "no commits yet")
}
