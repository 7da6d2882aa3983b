package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
)

// Removed is what a removal left.
type Removed struct {
	// BranchKept is the branch that still holds commits its base has not; empty if it was deleted.
	BranchKept string
}

// Remove removes a place. Calling it again is no error.
//
// Of a worktree, changes that are in no commit, files that git does not know, and commits that no branch holds refuse it;
// ignored files go. The branch is deleted if its base has all of it, and kept otherwise. A plain directory is removed only
// if it lies below root, and only if it is empty. force removes all of that, the branch too, but nothing outside of root.
func Remove(ctx context.Context, p Place, root string, force bool) (*Removed, error) {
	if err := p.check("remove"); err != nil {
		return nil, err
	}
	if p.Tree == nil {
		return &Removed{}, removePlain(p.Dir, root, force)
	}
	r, err := open(p.Tree.Repo)
	if err != nil {
		return nil, err
	}
	unlock, err := repositories.lock(ctx, r.common)
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir, err := realPath(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = p.Dir, nil
	}
	if err != nil {
		return nil, cannotDo("remove the worktree "+p.Dir, err)
	}
	if own, known := r.admin(dir); known {
		if err := r.removeTree(ctx, own, dir, p.Tree, force); err != nil {
			return nil, err
		}
	} else if k, _ := kindOf(dir); k != nothing && !(k == directory && isEmpty(dir)) {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot remove %s: it is not a worktree of %s", dir, r.top).
			WithHint("look what is in it, and delete it yourself if it may go")
	} else if k == directory {
		if err := os.Remove(dir); err != nil {
			return nil, cannotDo("remove the worktree "+dir, err)
		}
	}
	kept, err := r.removeBranch(ctx, p.Tree, force)
	if err != nil {
		return nil, err
	}
	// Last, so that a removal that is cut off is complete but for the space it takes.
	return &Removed{BranchKept: kept}, clearRemoved(dir)
}

// Removable says why Remove, without force, would refuse: what is only here. Nothing is changed.
func Removable(ctx context.Context, p Place) error {
	if err := p.check("remove"); err != nil {
		return err
	}
	if p.Tree == nil {
		if what, err := kindOf(p.Dir); err == nil && what != nothing && !(what == directory && isEmpty(p.Dir)) {
			return substrat.Errorf(substrat.CodeConflict, "cannot remove the directory %s: it is not empty", p.Dir).
				WithHint("--force removes it with its files")
		}
		return nil
	}
	r, err := open(p.Tree.Repo)
	if err != nil {
		return err
	}
	dir, err := realPath(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cannotDo("remove the worktree "+p.Dir, err)
	}
	what, err := kindOf(dir)
	if err != nil {
		return cannotDo("remove the worktree "+dir, err)
	}
	own, known := r.admin(dir)
	if !known || halfMade(own) {
		return nil // Remove looks at what else may be there
	}
	return r.checkSaved(ctx, own, dir, what, p.Tree)
}

// ClearRemoved finishes removals below root that were cut off: what they renamed was looked at, and goes.
func ClearRemoved(root string) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), removedSuffix); ok && strings.HasPrefix(name, ".") && name != "." {
			err = errors.Join(err, clearRemoved(filepath.Join(root, name[1:])))
		}
	}
	return err
}

// removeTree removes a worktree. Its directory is renamed first, in one step: from then on it is gone, and a call that
// comes after a crash need not tell a half deleted worktree from one whose files an agent deleted.
func (r *repository) removeTree(ctx context.Context, own, dir string, t *Tree, force bool) error {
	what, err := kindOf(dir)
	if err != nil {
		return cannotDo("remove the worktree "+dir, err)
	}
	if what == other {
		return substrat.Errorf(substrat.CodeConflict, "cannot remove the worktree %s: something that is not a directory is there", dir).
			WithHint("delete it yourself if it may go")
	}
	if !force && !halfMade(own) {
		if err := r.checkSaved(ctx, own, dir, what, t); err != nil {
			return err
		}
	}
	if what == directory {
		if err := clearRemoved(dir); err != nil {
			return err
		}
		if err := os.Rename(dir, removedName(dir)); err != nil {
			return cannotDo("remove the worktree "+dir, err)
		}
	}
	return r.removeAdmin(own)
}

// checkSaved refuses if the worktree has anything that would be lost with it.
func (r *repository) checkSaved(ctx context.Context, own, dir string, what kind, t *Tree) error {
	lost, err := r.onlyHere(ctx, own)
	if err != nil {
		return cannotDo("remove the worktree "+dir, err)
	}
	if lost {
		return substrat.Errorf(substrat.CodeConflict, "cannot remove the worktree %s: it has commits checked out that are on no branch", dir).
			WithHint("put them on one with git branch NAME, or remove it with --force")
	}
	if what == nothing {
		return nil
	}
	s, end, err := r.shadow(ctx, own, dir)
	if err != nil {
		return err
	}
	defer end()
	c, err := s.changes(ctx)
	if err != nil {
		return cannotDo("remove the worktree "+dir, err)
	}
	if all := c.all(); len(all) > 0 {
		return substrat.Errorf(substrat.CodeConflict, "cannot remove the worktree %s: it has changes that are not committed: %s", dir, names(all)).
			WithHint("commit them to %s, or remove it with --force", t.Branch)
	}
	return nil
}

// onlyHere says whether what is checked out would be lost: a commit that no ref of the repository leads to.
func (r *repository) onlyHere(ctx context.Context, own string) (bool, error) {
	head, err := line(r.git(ctx, own, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
	if exited(err) >= 0 {
		return false, nil // no commit
	}
	if err != nil {
		return false, err
	}
	refs, err := r.git(ctx, r.common, "for-each-ref", "--count=1", "--contains="+head, "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags")
	return err == nil && len(refs) == 0, err
}

// removeBranch deletes the branch, if its base has all of it or force says so, and if nobody has it checked out. It says
// which branch is kept.
func (r *repository) removeBranch(ctx context.Context, t *Tree, force bool) (kept string, err error) {
	tip, there, err := r.branch(ctx, t.Branch)
	if err != nil || !there {
		return "", err
	}
	if _, held, err := r.holder(ctx, t.Branch); err != nil || held {
		return t.Branch, err
	}
	if !force {
		merged, err := r.merged(ctx, t, tip)
		if err != nil || !merged {
			return t.Branch, err
		}
	}
	if err := r.linklessRef(t.Branch); err != nil {
		return t.Branch, err
	}
	// Only if it is still what was looked at.
	if _, err := r.git(ctx, r.common, "update-ref", "-d", "refs/heads/"+t.Branch, tip); err != nil {
		return t.Branch, cannotDo("delete the branch "+t.Branch, err)
	}
	return "", nil
}

// merged says whether the base has all of a branch. A base that is gone has nothing.
func (r *repository) merged(ctx context.Context, t *Tree, tip string) (bool, error) {
	base, name, err := r.base(ctx, t)
	if substrat.CodeOf(err) == substrat.CodeNotFound {
		return false, nil
	}
	if err != nil || name == t.Branch {
		return false, err
	}
	_, err = r.git(ctx, r.common, "merge-base", "--is-ancestor", tip, base)
	if exited(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

const removedSuffix = ".substrat-removed"

// removedName is where a worktree waits to be deleted: beside it, so that it is renamed and not copied.
func removedName(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+removedSuffix)
}

// clearRemoved deletes what a removal renamed.
func clearRemoved(dir string) error {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = removeAll(root, filepath.Base(removedName(dir)))
		root.Close()
	}
	if err != nil {
		return cannotDo("remove what was the worktree "+dir, err)
	}
	return nil
}

// removePlain removes a plain directory below root. The way there must lead through directories, not links.
func removePlain(dir, root string, force bool) error {
	refuse := func(why string) *substrat.Error {
		return substrat.Errorf(substrat.CodeConflict, "cannot remove the directory %s: %s", dir, why)
	}
	if root == "" {
		return refuse("it is not one that was made here").WithHint("delete it yourself if it may go")
	}
	below, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsAbs(root) || below == "." || !filepath.IsLocal(below) {
		return refuse("it is not below " + root).WithHint("delete it yourself if it may go")
	}
	top, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refuse(err.Error())
	}
	defer top.Close()
	way := ""
	for _, part := range strings.Split(below, string(filepath.Separator)) {
		way = filepath.Join(way, part)
		info, err := top.Lstat(way)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return refuse(err.Error())
		}
		if !info.IsDir() {
			return refuse(filepath.Join(root, way) + " is not a directory").WithHint("delete it yourself if it may go")
		}
	}
	if force {
		err = removeAll(top, below)
	} else if err = top.Remove(below); err != nil && !isEmpty(dir) {
		return refuse("it is not empty").WithHint("--force removes it with its files")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refuse(err.Error())
	}
	return nil
}

// removeAll removes a tree, also one with directories that may not be written, as caches of modules have them.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	err = fs.WalkDir(sub.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			sub.Chmod(path, dirMode) //nolint:errcheck // the removal says what is wrong
		}
		return nil
	})
	sub.Close()
	return errors.Join(err, root.RemoveAll(name))
}
