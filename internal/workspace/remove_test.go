package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"substrat.dev/substrat"
)

func TestRemoveTree(t *testing.T) {
	s := worked(t)
	s.write(s.place.Dir, ".git/../.gitignore", "cache\n")
	s.commit(s.place.Dir, "ignore")
	s.write(s.place.Dir, "cache/deep/x", "x")
	os.Chmod(filepath.Join(s.place.Dir, "cache/deep"), 0o500)
	os.Symlink(s.repo, filepath.Join(s.place.Dir, "cache/link"))
	for range 2 {
		r, err := Remove(t.Context(), s.place, "", false)
		if err != nil || r.BranchKept != "substrat/worker" {
			t.Fatalf("%+v %v", r, err)
		}
	}
	if s.exists(s.place.Dir) || s.exists(removedName(s.place.Dir)) || s.read(s.repo, "a.txt") != "one\n" {
		t.Error("too little or too much is gone")
	}
	if got := s.run(s.repo, "git", "worktree", "list", "--porcelain"); got != "worktree "+s.repo+"\nHEAD "+s.run(s.repo, "git", "rev-parse", "HEAD")+"\nbranch refs/heads/main" {
		t.Errorf("worktrees: %s", got)
	}
	// What was committed comes back with the branch.
	s.ensure(s.place)
	if got := s.read(s.place.Dir, "new.txt"); got != "new\n" {
		t.Errorf("new.txt: %q", got)
	}
	if _, err := Merge(t.Context(), s.place, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r, err := Remove(t.Context(), s.place, "", false); err != nil || r.BranchKept != "" {
			t.Fatalf("%+v %v", r, err)
		}
	}
	if got := s.run(s.repo, "git", "branch", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("branches: %s", got)
	}
}

// TestRemoveKeeps plants work that is nowhere else, and sees that only force removes it.
func TestRemoveKeeps(t *testing.T) {
	for name, plant := range map[string]func(s *stage){
		"changed":   func(s *stage) { s.write(s.place.Dir, "a.txt", "mine") },
		"deleted":   func(s *stage) { os.Remove(filepath.Join(s.place.Dir, "a.txt")) },
		"untracked": func(s *stage) { s.write(s.place.Dir, "x/y", "mine") },
		"staged": func(s *stage) {
			s.write(s.place.Dir, "x", "mine")
			s.run(s.place.Dir, "git", "add", "x")
			os.Remove(s.place.Dir + "/x")
		},
		"a repository": func(s *stage) {
			s.run(s.place.Dir, "git", "init", "-q", "nested")
			s.write(s.place.Dir, "nested/x", "mine")
		},
		"a submodule": func(s *stage) {
			id := s.run(s.repo, "git", "rev-parse", "HEAD")
			s.run(s.place.Dir, "git", "update-index", "--add", "--cacheinfo", "160000,"+id+",module")
			s.run(s.place.Dir, "git", "commit", "-q", "-m", "module")
			s.write(s.place.Dir, "module/x", "mine")
		},
		"a commit on no branch": func(s *stage) {
			s.run(s.place.Dir, "git", "checkout", "-q", "--detach")
			s.run(s.place.Dir, "git", "commit", "-q", "--allow-empty", "-m", "lost")
		},
		"a filter that hides it": func(s *stage) {
			s.write(s.repo, ".git/info/attributes", "* filter=hide\n")
			s.run(s.repo, "git", "config", "filter.hide.clean", "git show HEAD:%f")
			s.write(s.place.Dir, "a.txt", "mine")
		},
		"no index": func(s *stage) {
			s.write(s.place.Dir, "a.txt", "mine")
			os.Remove(s.repo + "/.git/worktrees/tree/index")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.ensure(s.place)
			plant(s)
			_, err := Remove(t.Context(), s.place, "", false)
			s.refused(err, substrat.CodeConflict, "cannot remove", "force")
			if !s.exists(s.place.Dir + "/.git") {
				t.Fatal("it is gone")
			}
			if r, err := Remove(t.Context(), s.place, "", true); err != nil || r.BranchKept != "" {
				t.Fatalf("force: %+v %v", r, err)
			}
			if s.exists(s.place.Dir) || s.exists(s.repo+"/.git/refs/heads/substrat/worker") {
				t.Error("it is not gone")
			}
		})
	}
}

// TestRemoveCutOff goes on from each state that a killed Remove can leave.
func TestRemoveCutOff(t *testing.T) {
	for name, state := range map[string]func(s *stage){
		"renamed": func(s *stage) { os.Rename(s.place.Dir, removedName(s.place.Dir)) },
		"forgotten": func(s *stage) {
			os.Rename(s.place.Dir, removedName(s.place.Dir))
			os.RemoveAll(s.repo + "/.git/worktrees/tree")
		},
		"half deleted": func(s *stage) {
			os.Rename(s.place.Dir, removedName(s.place.Dir))
			os.RemoveAll(s.repo + "/.git/worktrees/tree")
			os.Remove(removedName(s.place.Dir) + "/a.txt")
		},
		"never made": func(s *stage) { os.RemoveAll(s.place.Dir); s.run(s.repo, "git", "worktree", "prune") },
		"an empty one": func(s *stage) {
			os.RemoveAll(s.place.Dir)
			s.run(s.repo, "git", "worktree", "prune")
			os.Mkdir(s.place.Dir, 0o700)
		},
		"made by half": func(s *stage) {
			s.write(s.repo, ".git/worktrees/tree/locked", making)
			os.Remove(s.place.Dir + "/a.txt")
		},
		"gone altogether": func(s *stage) { os.RemoveAll(filepath.Dir(s.place.Dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.ensure(s.place)
			state(s)
			if r, err := Remove(t.Context(), s.place, "", false); err != nil || r.BranchKept != "" {
				t.Fatalf("%+v %v", r, err)
			}
			if s.exists(s.place.Dir) || s.exists(removedName(s.place.Dir)) || s.exists(s.repo+"/.git/worktrees/tree") {
				t.Error("something is left")
			}
		})
	}
}

func TestRemoveForeign(t *testing.T) {
	s := newStage(t)
	s.write(s.place.Dir, "x", "mine")
	_, err := Remove(t.Context(), s.place, "", true)
	s.refused(err, substrat.CodeConflict, "not a worktree")
	s.place.Dir = s.repo
	_, err = Remove(t.Context(), s.place, "", true)
	s.refused(err, substrat.CodeConflict, "not a worktree")
	if s.read(s.repo, "a.txt") != "one\n" {
		t.Error("the repository is gone")
	}
}

func TestRemovePlain(t *testing.T) {
	s := newStage(t)
	root := filepath.Join(s.home, "root")
	s.write(root, "full/deep/x", "x")
	os.MkdirAll(root+"/empty", 0o700)
	s.write(s.home, "outside/x", "x")
	os.Symlink(s.home+"/outside", root+"/link")
	os.Symlink(s.home+"/outside", root+"/full/link")
	remove := func(dir, root string, force bool) error {
		_, err := Remove(t.Context(), Place{Dir: dir}, root, force)
		return err
	}
	for _, force := range []bool{false, true} {
		s.refused(remove(s.home+"/outside", root, force), substrat.CodeConflict, "not below")
		s.refused(remove(s.home+"/outside", "", force), substrat.CodeConflict, "not one that was made here")
		s.refused(remove(root, root, force), substrat.CodeConflict, "not below")
		s.refused(remove(root+"x", root, force), substrat.CodeConflict, "not below")
		s.refused(remove(root+"/link", root, force), substrat.CodeConflict, "not a directory")
		s.refused(remove(root+"/link/x", root, force), substrat.CodeConflict, "not a directory")
	}
	s.refused(remove(root+"/full", root, false), substrat.CodeConflict, "not empty")
	for range 2 {
		for dir, force := range map[string]bool{"/full": true, "/empty": false} {
			if err := remove(root+dir, root, force); err != nil || s.exists(root+dir) {
				t.Errorf("%s: %v", dir, err)
			}
		}
	}
	if s.read(s.home, "outside/x") != "x" {
		t.Error("a link was followed")
	}
}
