package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"substrat.dev/substrat"
)

// shadow is a git directory of our own over the files of a work tree. It has the repository's objects, a copy of the
// work tree's index, and none of its configuration, so nothing that the repository names can run.
type shadow struct {
	dir  string // the git directory, private and temporary
	tree string // the work tree
	head string // the commit that is checked out
	env  []string
}

const mostIndex = 1 << 30

// plainSettings are what a shadow takes over: how files are written and compared. Each value is one word.
var plainSettings = regexp.MustCompile(`^(core\.(autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|trustctime|sharedrepository)|extensions\.objectformat)\n[A-Za-z0-9]{1,20}$`)

// shadow makes one for the work tree at tree, whose git directory is own. tree may be empty: then there are no files, only
// objects. Its end removes it.
func (r *repository) shadow(ctx context.Context, own, tree string) (s *shadow, end func(), err error) {
	dir, err := os.MkdirTemp("", "substrat-git-")
	if err != nil {
		return nil, nil, substrat.Errorf(substrat.CodeInternal, "cannot work with the repository: %v", err)
	}
	drop := func() { os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			drop()
		}
	}()
	if strings.ContainsAny(r.common, "\n\r") {
		return nil, nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the repository %q: its path holds a newline", r.top)
	}
	s = &shadow{dir: dir, tree: tree}
	if s.head, err = line(r.git(ctx, own, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")); exited(err) >= 0 {
		return nil, nil, substrat.Errorf(substrat.CodeConflict, "cannot compare the worktree %s: no commit is checked out there", tree).
			WithHint("check out its branch with git switch")
	} else if err != nil {
		return nil, nil, err
	}
	config, err := r.plainConfig(ctx, own)
	if err != nil {
		return nil, nil, err
	}
	for _, sub := range []string{"refs", "objects/info", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), dirMode); err != nil {
			return nil, nil, err
		}
	}
	for name, text := range map[string]string{
		"HEAD": s.head + "\n", "config": config, "objects/info/alternates": filepath.Join(r.common, "objects") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, nil, err
		}
	}
	s.env = []string{"GIT_DIR=" + dir, "GIT_SHALLOW_FILE=" + filepath.Join(r.common, "shallow")}
	if tree != "" {
		s.env = append(s.env, "GIT_WORK_TREE="+tree)
		err = copyIndex(own, dir)
	}
	return s, drop, err
}

// plainConfig writes the configuration of a shadow.
func (r *repository) plainConfig(ctx context.Context, own string) (string, error) {
	out, err := r.git(ctx, own, "config", "--null", "--get-regexp", `^(core|extensions)\.`)
	if err != nil && exited(err) != 1 { // 1: there are none
		return "", err
	}
	exclude := filepath.Join(r.common, "info", "exclude")
	var b strings.Builder
	fmt.Fprintf(&b, "[core]\nrepositoryformatversion = 1\nbare = false\nexcludesFile = %s\n", quoteConfig(exclude))
	for _, setting := range fields(out) {
		if !plainSettings.MatchString(setting) {
			continue
		}
		key, value, _ := strings.Cut(setting, "\n")
		section, name, _ := strings.Cut(key, ".")
		fmt.Fprintf(&b, "[%s]\n%s = %s\n", section, name, value)
	}
	return b.String(), nil
}

func quoteConfig(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// copyIndex copies the index of a work tree with its time, from which git knows that a file changed right after the index
// was written.
func copyIndex(from, to string) error {
	src, err := os.OpenFile(filepath.Join(from, "index"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > mostIndex {
		return substrat.Errorf(substrat.CodeInvalid, "cannot read the index in %s: it is not a file of a size that can be read", from)
	}
	path := filepath.Join(to, "index")
	dst, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, io.LimitReader(src, mostIndex))
	if err = errors.Join(err, dst.Close(), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		return err
	}
	// An index may be split in two, the larger part beside it.
	shared, _ := filepath.Glob(filepath.Join(strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(from), "sharedindex.*"))
	for _, s := range shared {
		if err := os.Symlink(s, filepath.Join(to, filepath.Base(s))); err != nil {
			return err
		}
	}
	return nil
}

// git calls git over the shadow.
func (s *shadow) git(ctx context.Context, args ...string) ([]byte, error) {
	return git(ctx, s.call(args...))
}

func (s *shadow) call(args ...string) call {
	dir := s.tree
	if dir == "" {
		dir = s.dir
	}
	return call{dir: dir, env: s.env, args: args}
}

// changes are what a work tree has and its commit does not.
type changes struct {
	tracked   []string // files that differ from the commit, in the index or on disk
	untracked []string // files git does not know and is not told to ignore; one that ends in / is a repository in the work tree
	modules   []string // submodules that hold files
}

func (c *changes) all() []string {
	return append(append(append([]string{}, c.tracked...), c.untracked...), c.modules...)
}

// changes compares the work tree with its commit.
func (s *shadow) changes(ctx context.Context) (*changes, error) {
	c := &changes{}
	var err error
	if c.modules, err = s.unhide(ctx); err != nil {
		return nil, err
	}
	out, err := s.git(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")
	if err != nil {
		return nil, tooMany(err, s.tree)
	}
	for _, f := range fields(out) {
		switch {
		case len(f) < 4:
		case strings.HasPrefix(f, "??"):
			c.untracked = append(c.untracked, f[3:])
		default:
			c.tracked = append(c.tracked, f[3:])
		}
	}
	return c, nil
}

// unhide clears the marks that keep git from looking at a file (assume-unchanged, skip-worktree), where the file is there:
// a file must not get lost because its changes were hidden. It gives the submodules that hold files.
func (s *shadow) unhide(ctx context.Context) (modules []string, err error) {
	c := s.call("ls-files", "--stage", "-v", "-z")
	c.most = mostIndex
	out, err := git(ctx, c)
	if err != nil {
		return nil, tooMany(err, s.tree)
	}
	var hidden strings.Builder
	for _, f := range fields(out) {
		head, path, ok := strings.Cut(f, "\t")
		if !ok || len(head) < 8 {
			continue
		}
		full := filepath.Join(s.tree, path)
		if strings.HasPrefix(head[2:], "160000 ") {
			if k, _ := kindOf(full); k == directory && !isEmpty(full) || k == other {
				modules = append(modules, path)
			}
			continue
		}
		if head[0] != 'S' && (head[0] < 'a' || head[0] > 'z') {
			continue
		}
		if k, _ := kindOf(full); k != nothing {
			hidden.WriteString(path + "\x00")
		}
	}
	if hidden.Len() == 0 {
		return modules, nil
	}
	for _, mark := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		c := s.call("update-index", "-z", mark, "--stdin")
		c.in = []byte(hidden.String())
		if _, err := git(ctx, c); err != nil {
			return nil, err
		}
	}
	return modules, nil
}

func tooMany(err error, dir string) error {
	if errors.Is(err, errCut) {
		return substrat.Errorf(substrat.CodeTooLarge, "cannot compare %s: too many files changed there", dir).
			WithHint("have git ignore what is generated, in .gitignore")
	}
	return err
}
