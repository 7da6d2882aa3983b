package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// making is the reason of the lock that a worktree has while it is made. It goes when every file is there, so a worktree
// that has it was never lived in. initializing is git's own, earlier still.
const (
	making       = "substrat is making this worktree"
	initializing = "initializing"
)

// staleLock is the age at which a lock of git's in our way has lost its owner: git holds these for milliseconds.
const staleLock = time.Minute

// ensureTree makes the worktree in steps, each of which can be found done:
// the branch; the worktree without files, locked; the files and then the index; no lock.
func ensureTree(ctx context.Context, p Place) error {
	r, err := open(p.Tree.Repo)
	if err != nil {
		return err
	}
	unlock, err := repositories.lock(ctx, r.common)
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.MkdirAll(filepath.Dir(p.Dir), dirMode); err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot make the worktree %s: %v", p.Dir, err)
	}
	dir, err := realPath(p.Dir)
	if err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot make the worktree %s: %v", p.Dir, err)
	}
	if err := clearRemoved(dir); err != nil {
		return err
	}
	what, err := kindOf(dir)
	if err != nil || what == other {
		return substrat.Errorf(substrat.CodeConflict, "cannot make the worktree %s: something that is not a directory is there", dir).
			WithHint("move it away, or choose another directory")
	}
	own, known := r.admin(dir)
	if known && !r.usable(ctx, own) {
		// Git was cut off before it wrote down what is checked out, so there are no files yet.
		if err := r.forget(own, dir); err != nil {
			return err
		}
		known = false
	}
	if known {
		if err := r.linklessOwn(own); err != nil {
			return err
		}
	} else if own, err = r.addWorktree(ctx, p.Tree, dir, what); err != nil {
		return err
	}
	return r.finish(ctx, own, dir)
}

// usable says whether a worktree's git directory is whole.
func (r *repository) usable(ctx context.Context, own string) bool {
	if shared, err := readPath(filepath.Join(own, "commondir"), "", own); err != nil || shared != r.common {
		return !halfMade(own) // damaged later: not ours to throw away
	}
	if !halfMade(own) {
		return true
	}
	_, err := r.git(ctx, own, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	return err == nil
}

func halfMade(own string) bool {
	reason, err := readSmall(filepath.Join(own, "locked"))
	reason = strings.TrimSpace(reason)
	return err == nil && (reason == making || reason == initializing)
}

// forget removes the git directory of a worktree that has no files yet, and its .git file.
func (r *repository) forget(own, dir string) error {
	dot := filepath.Join(dir, ".git")
	if to, err := readPath(dot, "gitdir: ", dir); err == nil && to == own {
		if err := os.Remove(dot); err != nil {
			return cannotMake(dir, err)
		}
	}
	return r.removeAdmin(own)
}

// removeAdmin removes the git directory of a worktree, and nothing outside of the repository's.
func (r *repository) removeAdmin(own string) error {
	root, err := os.OpenRoot(filepath.Join(r.common, "worktrees"))
	if err == nil {
		err = root.RemoveAll(filepath.Base(own))
		root.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return substrat.Errorf(substrat.CodeConflict, "cannot remove what is left of a worktree: %v", err).
			WithHint("delete %s and try again", own)
	}
	return nil
}

// addWorktree makes the branch if need be and the worktree without files.
func (r *repository) addWorktree(ctx context.Context, t *Tree, dir string, what kind) (own string, err error) {
	if what == directory && !isEmpty(dir) {
		return "", substrat.Errorf(substrat.CodeConflict, "cannot make the worktree %s: there is a directory with files that is not a worktree of %s", dir, r.top).
			WithHint("move it away, or choose another directory")
	}
	if err := r.noLinks("worktrees"); err != nil {
		return "", err
	}
	if err := r.ensureBranch(ctx, t); err != nil {
		return "", err
	}
	if at, taken, err := r.holder(ctx, t.Branch); err != nil {
		return "", err
	} else if taken {
		return "", substrat.Errorf(substrat.CodeConflict, "cannot make the worktree %s: the branch %s is checked out in %s", dir, t.Branch, at).
			WithHint("choose another branch, or work there; a branch can be checked out in one place")
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return "", cannotMake(dir, err)
	}
	if _, err := r.git(ctx, r.common, "worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", making, dir, t.Branch); err != nil {
		return "", cannotMake(dir, err)
	}
	own, ok := r.admin(dir)
	if !ok {
		return "", substrat.Errorf(substrat.CodeInternal, "cannot make the worktree %s: git made it somewhere else", dir)
	}
	return own, nil
}

// ensureBranch makes the branch at its base, unless an earlier call did or it was there before.
func (r *repository) ensureBranch(ctx context.Context, t *Tree) error {
	from, _, err := r.base(ctx, t)
	if err != nil {
		return err
	}
	if _, there, err := r.branch(ctx, t.Branch); err != nil || there {
		return err
	}
	if err := r.linklessRef(t.Branch); err != nil {
		return err
	}
	breakLock(filepath.Join(r.common, "refs", "heads", filepath.FromSlash(t.Branch)+".lock"))
	if _, err = r.git(ctx, r.common, "update-ref", "-m", "branch: Created from "+from, "refs/heads/"+t.Branch, from, strings.Repeat("0", len(from))); err != nil {
		return cannotDo("make the branch "+t.Branch, err)
	}
	return nil
}

// finish brings the files of a worktree that has none, and lets go of the lock. A worktree that was finished once is not
// touched, except that its directory and .git file are put back if they are gone.
func (r *repository) finish(ctx context.Context, own, dir string) error {
	fresh := halfMade(own)
	what, err := kindOf(dir)
	if err != nil {
		return cannotMake(dir, err)
	}
	if what == nothing {
		// Somebody deleted the directory. What was committed is there; what was not is gone, and the index with it.
		if err := replaceFile(own, "locked", []byte(making+"\n"), time.Now()); err != nil {
			return cannotMake(dir, err)
		}
		if err := os.Remove(filepath.Join(own, "index")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cannotMake(dir, err)
		}
		fresh = true
		if err := os.Mkdir(dir, dirMode); err != nil {
			return cannotMake(dir, err)
		}
	}
	if err := pointTo(own, dir); err != nil || !fresh {
		return err
	}
	breakLock(filepath.Join(own, "index.lock"))
	if k, _ := kindOf(filepath.Join(own, "index")); k == nothing {
		if err := r.checkout(ctx, own, dir); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(own, "locked")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotMake(dir, err)
	}
	return nil
}

// pointTo writes the .git file by which git, run by the agent, finds the repository.
func pointTo(own, dir string) error {
	dot := filepath.Join(dir, ".git")
	what, err := kindOf(dot)
	if err == nil && what == nothing {
		err = replaceFile(dir, ".git", []byte("gitdir: "+own+"\n"), time.Now())
	} else if err == nil {
		var to string
		if to, err = readPath(dot, "gitdir: ", dir); err == nil && to != own {
			err = errors.New("it belongs to " + to)
		}
	}
	if err != nil {
		return substrat.Errorf(substrat.CodeConflict, "cannot use the worktree %s: its .git file is not the one git made: %v", dir, err).
			WithHint("move %s away and try again", dot)
	}
	return nil
}

// checkout writes the files of a worktree that was never lived in, and gives it the index only when they are all there.
func (r *repository) checkout(ctx context.Context, own, dir string) error {
	s, end, err := r.shadow(ctx, own, dir)
	if err != nil {
		return err
	}
	defer end()
	if _, err := s.git(ctx, "read-tree", "--reset", "-u", s.head); err != nil {
		return cannotMake(dir, err)
	}
	index := filepath.Join(s.dir, "index")
	data, err := os.ReadFile(index)
	if err != nil {
		return cannotMake(dir, err)
	}
	info, err := os.Stat(index)
	if err == nil {
		err = replaceFile(own, "index", data, info.ModTime())
	}
	if err != nil {
		return cannotMake(dir, err)
	}
	return nil
}

// breakLock removes a lock file whose owner is gone.
func breakLock(path string) {
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > staleLock {
		os.Remove(path) //nolint:errcheck // if it stays, git says so
	}
}

func cannotMake(dir string, err error) error { return cannotDo("make the worktree "+dir, err) }

// cannotDo explains a failed call.
func cannotDo(what string, err error) error {
	var known *substrat.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := substrat.Errorf(substrat.CodeConflict, "cannot %s: %v", what, err)
	var f *failure
	switch {
	case !errors.As(err, &f):
	case f.lockHeld():
		return e.WithHint("another git process is at work, or one died there: if none runs, delete the lock file that is named")
	case strings.Contains(f.stderr, "Untracked working tree file"):
		return e.WithHint("a file of that name is in the way and git does not know it: move it away, or commit it")
	case strings.Contains(f.stderr, "exists; cannot create"):
		return e.WithHint("git keeps branches like files: where there is a branch x there can be no branch x/y; choose another name")
	case strings.Contains(f.stderr, "unknown option") || strings.Contains(f.stderr, "usage: git"):
		e.Code = substrat.CodeUnsupported
		return e.WithHint("git 2.38 or newer is needed")
	}
	return e
}
