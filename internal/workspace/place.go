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

// Place is one directory that agents work in, as the state names it.
type Place struct {
	// Dir is the absolute directory on the host.
	Dir string
	// Tree says that it is a git worktree; nil is a plain directory.
	Tree *Tree
}

// Tree is a git worktree of Repo, on Branch.
type Tree struct {
	// Repo is a directory in the repository.
	Repo   string
	Branch string
	// Base is the branch or commit that Branch is made from and compared with; empty is what Repo has checked out.
	Base string
}

// dirMode is the mode of a directory that is made here: agents' work is nobody else's business.
const dirMode = 0o700

// Ensure makes the place if it is not there. What an earlier call left half done is finished, whenever it was cut off.
// Nothing that is already there is changed.
func Ensure(ctx context.Context, p Place) error {
	if err := p.check("make"); err != nil {
		return err
	}
	if p.Tree != nil {
		return ensureTree(ctx, p)
	}
	if err := os.MkdirAll(p.Dir, dirMode); err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot make the workspace %s: %v", p.Dir, err)
	}
	return nil
}

// check enforces the form of what the state names, before any of it becomes an argument.
func (p Place) check(verb string) error {
	if err := checkDir(verb, "directory", p.Dir); err != nil {
		return err
	}
	if p.Tree == nil {
		return nil
	}
	if err := checkDir(verb, "repository", p.Tree.Repo); err != nil {
		return err
	}
	if err := checkBranch(verb, p.Tree.Branch); err != nil {
		return err
	}
	if b := p.Tree.Base; strings.HasPrefix(b, "-") || strings.ContainsAny(b, "\x00\n") || strings.Contains(b, "..") {
		return substrat.Errorf(substrat.CodeInvalid, "cannot %s the worktree: %q is not the name of a branch or commit", verb, b)
	}
	return nil
}

func checkDir(verb, what, dir string) error {
	// Newlines end a line in git's own files, so a path that holds one could name another directory there.
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || strings.ContainsAny(dir, "\x00\n\r") || dir == "/" {
		return substrat.Errorf(substrat.CodeInvalid, "cannot %s the workspace: the %s must be an absolute, clean path: %q", verb, what, dir)
	}
	return nil
}

// checkBranch refuses what git would refuse as a branch, and what git would read as something else.
func checkBranch(verb, name string) error {
	bad := name == "" || len(name) > 200 || name == "HEAD" || name == "@" || strings.HasPrefix(name, "-") ||
		strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.ContainsAny(name, " ~^:?*[\\\x7f")
	for _, part := range strings.Split(name, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	for _, c := range []byte(name) {
		bad = bad || c < ' '
	}
	if bad {
		return substrat.Errorf(substrat.CodeInvalid, "cannot %s the worktree: %q cannot be the name of a branch", verb, name).
			WithHint("use letters, digits, - and /, beginning with a letter")
	}
	return nil
}

// realPath resolves the links above dir, the way git does when it writes down where a worktree is. dir itself need not
// exist.
func realPath(dir string) (string, error) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(dir)), nil
}

// kind says what is at path, without following a link there.
type kind int

const (
	nothing kind = iota
	directory
	other
)

func kindOf(path string) (kind, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nothing, nil
	case err != nil:
		return other, err
	case info.IsDir():
		return directory, nil
	}
	return other, nil
}

func isEmpty(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) == 0
}

// names lists a few of many, for an error.
func names(all []string) string {
	const most = 5
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return strings.Join(all[:most], ", ") + " and more"
}
