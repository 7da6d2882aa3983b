package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"substrat.dev/substrat"
)

// worked is a stage whose worktree has one commit: a new file, and a change of one.
func worked(t *testing.T) *stage {
	s := newStage(t)
	s.ensure(s.place)
	s.write(s.place.Dir, "new.txt", "new\n")
	s.write(s.place.Dir, "sub/b.txt", "three\n")
	s.commit(s.place.Dir, "work")
	return s
}

func TestMerge(t *testing.T) {
	s := worked(t)
	tip := s.run(s.place.Dir, "git", "rev-parse", "HEAD")
	m, err := Merge(t.Context(), s.place, "")
	if err != nil {
		t.Fatal(err)
	}
	if !m.FastForward || m.UpToDate || m.Commit != tip || m.Into != "main" || !slices.Equal(m.Files, []string{"new.txt", "sub/b.txt"}) {
		t.Errorf("%+v", m)
	}
	if got := s.read(s.repo, "new.txt"); got != "new\n" {
		t.Errorf("new.txt: %q", got)
	}
	if m, err = Merge(t.Context(), s.place, "main"); err != nil || !m.UpToDate || m.Commit != tip {
		t.Errorf("again: %+v %v", m, err)
	}

	s.write(s.repo, "a.txt", "theirs\n")
	ours := s.commit(s.repo, "beside")
	s.write(s.place.Dir, "sub/c.txt", "four\n")
	theirs := s.commit(s.place.Dir, "more")
	s.write(s.repo, "untracked.txt", "mine\n")
	if m, err = Merge(t.Context(), s.place, ""); err != nil || m.FastForward || !slices.Equal(m.Files, []string{"sub/c.txt"}) {
		t.Fatalf("%+v %v", m, err)
	}
	if got := s.run(s.repo, "git", "log", "-1", "--format=%H %P %an %s"); got != m.Commit+" "+ours+" "+theirs+" Ann Merge branch 'substrat/worker' into main" {
		t.Errorf("merge commit: %s", got)
	}
	if got := s.run(s.repo, "git", "status", "--porcelain"); got != "?? untracked.txt" {
		t.Errorf("status after: %q", got)
	}
	s.run(s.repo, "git", "fsck", "--strict")
}

// TestMergeElsewhere merges into a branch that is checked out nowhere, and into one that another agent has.
func TestMergeElsewhere(t *testing.T) {
	s := worked(t)
	s.run(s.repo, "git", "branch", "quiet")
	m, err := Merge(t.Context(), s.place, "quiet")
	if err != nil || s.run(s.repo, "git", "rev-parse", "quiet") != m.Commit || s.exists(s.repo+"/new.txt") {
		t.Errorf("%+v %v", m, err)
	}
	parent := s.at("parent", "parent")
	s.ensure(parent)
	if m, err = Merge(t.Context(), s.place, "parent"); err != nil || s.read(parent.Dir, "new.txt") != "new\n" {
		t.Errorf("%+v %v", m, err)
	}
	if got := s.run(parent.Dir, "git", "status", "--porcelain"); got != "" {
		t.Errorf("status of the parent: %q", got)
	}
	if s.exists(s.repo + "/new.txt") {
		t.Error("the user's tree changed")
	}
}

func TestMergeConflict(t *testing.T) {
	s := worked(t)
	s.write(s.repo, "sub/b.txt", "other\n")
	ours := s.commit(s.repo, "beside")
	m, err := Merge(t.Context(), s.place, "")
	s.refused(err, substrat.CodeConflict, "both changed sub/b.txt", "nothing was changed")
	if m == nil || !slices.Equal(m.Conflicts, []string{"sub/b.txt"}) {
		t.Errorf("%+v", m)
	}
	if got := s.run(s.repo, "git", "rev-parse", "HEAD") + s.run(s.repo, "git", "status", "--porcelain") + s.read(s.repo, "sub/b.txt"); got != ours+"other\n" {
		t.Errorf("the repository changed: %q", got)
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		state func(s *stage)
		into  string
		code  substrat.Code
		words []string
	}{
		"untracked here":     {func(s *stage) { s.write(s.place.Dir, "x", "") }, "", substrat.CodeConflict, []string{"not committed: x"}},
		"changed here":       {func(s *stage) { s.write(s.place.Dir, "a.txt", "") }, "", substrat.CodeConflict, []string{"not committed: a.txt"}},
		"changed there":      {func(s *stage) { s.write(s.repo, "a.txt", "") }, "", substrat.CodeConflict, []string{"not committed: a.txt", "stash"}},
		"staged there":       {func(s *stage) { s.write(s.repo, "x", ""); s.run(s.repo, "git", "add", "x") }, "", substrat.CodeConflict, []string{"not committed: x"}},
		"untracked in way":   {func(s *stage) { s.write(s.repo, "new.txt", "mine") }, "", substrat.CodeConflict, []string{"new.txt"}},
		"merging there":      {func(s *stage) { s.write(s.repo, ".git/MERGE_HEAD", "") }, "", substrat.CodeConflict, []string{"under way"}},
		"itself":             {func(*stage) {}, "substrat/worker", substrat.CodeInvalid, []string{"into itself"}},
		"no such branch":     {func(*stage) {}, "none", substrat.CodeNotFound, []string{"none"}},
		"a bad name":         {func(*stage) {}, "--upload-pack=x", substrat.CodeInvalid, []string{"--upload-pack=x"}},
		"detached there":     {func(s *stage) { s.run(s.repo, "git", "checkout", "-q", "--detach") }, "", substrat.CodeInvalid, []string{"which branch"}},
		"another one here":   {func(s *stage) { s.run(s.place.Dir, "git", "checkout", "-q", "--detach") }, "", substrat.CodeConflict, []string{"git switch substrat/worker"}},
		"no worktree":        {func(s *stage) { os.RemoveAll(s.place.Dir) }, "", substrat.CodeNotFound, []string{"no worktree"}},
		"a plain directory":  {func(s *stage) { s.place.Tree = nil }, "", substrat.CodeUnsupported, []string{"plain"}},
		"a lock that is old": {func(s *stage) { s.write(s.repo, ".git/index.lock", "") }, "", substrat.CodeConflict, []string{"index.lock", "delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := worked(t)
			c.state(s)
			before := s.run(s.repo, "git", "for-each-ref")
			files := s.run(s.repo, "sh", "-c", "find . -path ./.git -prune -o -type f -print -exec cat {} +")
			_, err := Merge(t.Context(), s.place, c.into)
			s.refused(err, c.code, c.words...)
			if got := s.run(s.repo, "git", "for-each-ref"); got != before {
				t.Errorf("refs changed: %s", got)
			}
			if got := s.run(s.repo, "sh", "-c", "find . -path ./.git -prune -o -type f -print -exec cat {} +"); got != files {
				t.Errorf("files changed: %s", got)
			}
		})
	}
}

// TestMergeCutOff goes on with a merge that was killed after the files and before the branch.
func TestMergeCutOff(t *testing.T) {
	s := worked(t)
	s.write(s.repo, "a.txt", "theirs\n")
	ours := s.commit(s.repo, "beside")
	tree := strings.Fields(s.run(s.repo, "git", "merge-tree", "--write-tree", "main", "substrat/worker"))[0]
	s.run(s.repo, "git", "read-tree", "-m", "-u", ours, tree)
	m, err := Merge(t.Context(), s.place, "")
	if err != nil || s.run(s.repo, "git", "rev-parse", "HEAD") != m.Commit {
		t.Fatalf("%+v %v", m, err)
	}
	if got := s.run(s.repo, "git", "status", "--porcelain"); got != "" {
		t.Errorf("status: %q", got)
	}
}

// TestConcurrent makes, merges and removes worktrees of one repository at once, while somebody else commits to another
// branch of it.
func TestConcurrent(t *testing.T) {
	s := newStage(t)
	stop, busy := make(chan struct{}), sync.WaitGroup{}
	busy.Add(1)
	other := filepath.Join(s.home, "other")
	s.run(s.repo, "git", "worktree", "add", "-q", other)
	go func() {
		defer busy.Done()
		for {
			select {
			case <-stop:
				return
			default:
				s.run(other, "git", "commit", "-q", "--allow-empty", "-m", "x")
			}
		}
	}()
	var all sync.WaitGroup
	for _, name := range []string{"one", "two", "three", "four"} {
		all.Add(1)
		go func() {
			defer all.Done()
			p := s.at(name, "substrat/"+name)
			if err := Ensure(t.Context(), p); err != nil {
				t.Errorf("Ensure %s: %v", name, err)
				return
			}
			s.write(p.Dir, name, name)
			s.commit(p.Dir, name)
			if _, err := Merge(t.Context(), p, ""); err != nil {
				t.Errorf("Merge %s: %v", name, err)
			}
			if r, err := Remove(t.Context(), p, "", false); err != nil || r.BranchKept != "" {
				t.Errorf("Remove %s: %+v %v", name, r, err)
			}
		}()
	}
	all.Wait()
	close(stop)
	busy.Wait()
	for _, name := range []string{"one", "two", "three", "four"} {
		if got := s.read(s.repo, name); got != name {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := s.run(s.repo, "git", "status", "--porcelain"); got != "" {
		t.Errorf("status: %q", got)
	}
}
