package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
)

// Shown is the part of a repository that git needs when an agent runs it in a worktree.
type Shown struct {
	// Git is the git directory that all work trees share, Own the one of this worktree, below it.
	Git, Own string
	// Guarded is what must not be written: git on the host would run what stands there, or take it for its own.
	Guarded []string
}

// guardedDirs hold what git runs, or where it looks for what it runs: hooks, attributes, the git directories of submodules
// with hooks and configurations of their own, those of the other work trees.
var guardedDirs = []string{"hooks", "info", "modules", "worktrees"}

// guardedFiles are left out where they do not exist.
var guardedFiles = []string{"config", "config.worktree"}

// Show tells what of its repository an agent in a worktree is to see. Directories to be guarded that do not exist are made,
// empty: nothing can be mounted over what is not there, and the agent would make them itself.
func Show(p Place) (*Shown, error) {
	if _, err := Heal(p.Tree.Repo); err != nil {
		return nil, err
	}
	r, own, _, err := find(p, "show")
	if err != nil {
		return nil, err
	}
	if err := r.noLinks(guardedDirs...); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.common)
	if err != nil {
		return nil, cannotDo("show the repository "+r.top, err)
	}
	defer root.Close()
	s := &Shown{Git: r.common, Own: own}
	for _, name := range guardedDirs {
		if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, cannotDo("show the repository "+r.top, err)
		}
		s.Guarded = append(s.Guarded, filepath.Join(r.common, name))
	}
	for _, path := range append([]string{filepath.Join(own, "commondir")}, below(r.common, guardedFiles)...) {
		if what, _ := kindOf(path); what != nothing {
			s.Guarded = append(s.Guarded, path)
		}
	}
	return s, nil
}

func below(dir string, names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, filepath.Join(dir, n))
	}
	return out
}

// Heal removes the file by which a repository's own git directory is said to be a worktree's of another repository. Git
// never makes one there. Whoever may write to the git directory can, and from then on git takes its configuration, and
// with it programs to run, from a directory of theirs. It says whether there was one.
func Heal(repo string) (healed bool, err error) {
	git := filepath.Join(repo, ".git")
	if what, _ := kindOf(git); what != directory || !isGitDir(git) {
		return false, nil
	}
	root, err := os.OpenRoot(git)
	if err != nil {
		return false, cannotDo("look at the repository "+repo, err)
	}
	defer root.Close()
	if _, err := root.Lstat("commondir"); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := root.RemoveAll("commondir"); err != nil {
		return true, substrat.Errorf(substrat.CodeConflict, "cannot remove %s, which leads git to a foreign configuration: %v", filepath.Join(git, "commondir"), err).
			WithHint("delete it before you use git there")
	}
	return true, nil
}

// Main is the work tree that a repository began with, where dir is in any of its work trees. It stays when those go. It is
// what Repo says where there is none, as in a bare repository's.
func Main(dir string) (top string, ok bool) {
	top, ok = Repo(dir)
	if !ok {
		return "", false
	}
	_, common, err := gitDirs(top)
	if err != nil || filepath.Base(common) != ".git" {
		return top, true
	}
	if first, shared, err := gitDirs(filepath.Dir(common)); err == nil && first == common && shared == common {
		return filepath.Dir(common), true
	}
	return top, true
}
