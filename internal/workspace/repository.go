package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"substrat.dev/substrat"
)

// repository is a git repository with a work tree. Its methods call git on it directly, and so only to read and move
// refs; whatever touches an index or files is done by a shadow.
type repository struct {
	top    string // the work tree that was named
	dir    string // the git directory of that work tree
	common string // the git directory that all work trees share
}

// worktree is one work tree of a repository, as git lists it.
type worktree struct {
	path, branch string // branch is empty if a commit is checked out and not a branch
}

// Repo says in which git repository a directory is: the top of its work tree. It looks at the file system only, so
// nothing in the repository has a say, and a bare repository is none.
func Repo(dir string) (top string, ok bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return "", false
	}
	for ; ; real = filepath.Dir(real) {
		if _, _, err := gitDirs(real); err == nil {
			return real, true
		}
		if real == filepath.Dir(real) {
			return "", false
		}
	}
}

// Base says what a worktree made now would be branched from by default: the branch that the repository at dir has checked
// out, or the id of the commit. Whoever makes a worktree keeps it as its Tree's Base, so that later comparisons do not
// depend on what is checked out by then.
func Base(ctx context.Context, dir string) (string, error) {
	if err := checkDir("make", "repository", dir); err != nil {
		return "", err
	}
	r, err := open(dir)
	if err != nil {
		return "", err
	}
	id, name, err := r.base(ctx, &Tree{})
	if name == "HEAD" {
		name = id
	}
	return name, err
}

// open finds the repository that dir is in.
func open(dir string) (*repository, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot use the repository %s: there is no such directory", dir).
			WithHint("it was moved or deleted; put it back, or make a new workspace")
	}
	top, ok := Repo(dir)
	if !ok && isGitDir(dir) {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the repository %s: it is bare, so nothing is checked out there to branch from", dir).
			WithHint("clone it, and name the directory of the clone")
	}
	if !ok {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the repository %s: it is not in a git repository", dir).
			WithHint("run git init there and commit something, or use a plain directory")
	}
	own, common, err := gitDirs(top)
	if err != nil {
		return nil, err
	}
	return &repository{top: top, dir: own, common: common}, nil
}

// gitDirs gives the git directory of the work tree at top, and the one that is shared.
func gitDirs(top string) (own, common string, err error) {
	dot := filepath.Join(top, ".git")
	info, err := os.Stat(dot)
	if err != nil {
		return "", "", err
	}
	own = dot
	if !info.IsDir() {
		if own, err = readPath(dot, "gitdir: ", top); err != nil {
			return "", "", err
		}
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return "", "", err
	}
	common = own
	if shared, err := readPath(filepath.Join(own, "commondir"), "", own); err == nil {
		if common, err = filepath.EvalSymlinks(shared); err != nil {
			return "", "", err
		}
		// Whoever can write that file must not lead us to a repository that knows nothing of this work tree.
		if filepath.Dir(own) != filepath.Join(common, "worktrees") {
			return "", "", errors.New("the worktree's git directory is not the repository's")
		}
	}
	if !isGitDir(common) {
		return "", "", errors.New("not a git directory")
	}
	return own, common, nil
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// readPath reads a file of git's that holds one path, relative to dir unless absolute.
func readPath(file, prefix, dir string) (string, error) {
	text, err := readSmall(file)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(text, "\n"), prefix)
	if !ok || path == "" || strings.ContainsAny(path, "\x00\n") {
		return "", errors.New("not a file of git's")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path), nil
}

// readSmall reads a small regular file, and never waits for a FIFO that somebody put in its place.
func readSmall(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return string(data), err
}

// git calls git on the repository, or with own set on the git directory of one of its work trees.
func (r *repository) git(ctx context.Context, own string, args ...string) ([]byte, error) {
	return git(ctx, call{dir: r.common, env: []string{"GIT_DIR=" + own, "GIT_WORK_TREE=" + r.top}, args: args})
}

// commit resolves a revision to the id of a commit; ok is false if there is none. A branch goes before a tag of the name.
func (r *repository) commit(ctx context.Context, own, rev string) (id string, ok bool, err error) {
	for _, name := range []string{"refs/heads/" + rev, rev} {
		id, err = line(r.git(ctx, own, "rev-parse", "--verify", "--quiet", name+"^{commit}"))
		if err == nil {
			return id, true, nil
		}
		if exited(err) < 0 {
			return "", false, err
		}
	}
	return "", false, nil
}

// branch gives the id of a branch's tip; ok is false if there is no such branch.
func (r *repository) branch(ctx context.Context, name string) (id string, ok bool, err error) {
	id, err = line(r.git(ctx, r.common, "rev-parse", "--verify", "--quiet", "refs/heads/"+name+"^{commit}"))
	if exited(err) >= 0 {
		return "", false, nil
	}
	return id, err == nil, err
}

// checkedOut gives the branch that a work tree has checked out, empty if it has none.
func (r *repository) checkedOut(ctx context.Context, own string) (string, error) {
	name, err := line(r.git(ctx, own, "symbolic-ref", "--quiet", "HEAD"))
	if exited(err) >= 0 {
		return "", nil
	}
	return strings.TrimPrefix(name, "refs/heads/"), err
}

// base gives the commit that the tree's branch is compared with, and its name.
func (r *repository) base(ctx context.Context, t *Tree) (id, name string, err error) {
	name = t.Base
	if name == "" {
		if name, err = r.checkedOut(ctx, r.dir); err != nil {
			return "", "", err
		}
		if name == "" {
			name = "HEAD"
		}
	}
	id, ok, err := r.commit(ctx, r.dir, name)
	if err != nil || ok {
		return id, name, err
	}
	if _, some, err := r.commit(ctx, r.dir, "HEAD"); err == nil && !some {
		return "", "", substrat.Errorf(substrat.CodeConflict, "cannot use the repository %s: it has no commits yet", r.top).
			WithHint("commit something first")
	}
	return "", "", substrat.Errorf(substrat.CodeNotFound, "cannot use the repository %s: it has no branch or commit %q", r.top, name).
		WithHint("git branch --list shows what there is")
}

// worktrees lists the work trees of the repository.
func (r *repository) worktrees(ctx context.Context) ([]worktree, error) {
	out, err := r.git(ctx, r.common, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var all []worktree
	for _, f := range fields(out) {
		key, value, _ := strings.Cut(f, " ")
		switch {
		case key == "worktree":
			all = append(all, worktree{path: value})
		case key == "branch" && len(all) > 0:
			all[len(all)-1].branch = strings.TrimPrefix(value, "refs/heads/")
		}
	}
	return all, nil
}

// holder finds the work tree that has a branch checked out.
func (r *repository) holder(ctx context.Context, branch string) (path string, ok bool, err error) {
	all, err := r.worktrees(ctx)
	for _, w := range all {
		if w.branch == branch {
			return w.path, true, err
		}
	}
	return "", false, err
}

// admin finds the git directory of the worktree at dir, whole or half made.
func (r *repository) admin(dir string) (string, bool) {
	entries, _ := os.ReadDir(filepath.Join(r.common, "worktrees"))
	for _, e := range entries {
		own := filepath.Join(r.common, "worktrees", e.Name())
		dot, err := readPath(filepath.Join(own, "gitdir"), "", own)
		if err == nil && e.IsDir() && dot == filepath.Join(dir, ".git") {
			return own, true
		}
	}
	return "", false
}
