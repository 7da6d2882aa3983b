package guard

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// smallMost is how much of a file is read, to hash it and to tell of it.
const smallMost = 256 << 10

// readSmall reads a regular file that is not large. It never waits for a FIFO that somebody put in its place.
func readSmall(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > smallMost {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, smallMost))
}

// gitDirOf gives the git directory that belongs to a .git in the workspace, relative to root, if it lies in there. where is
// the path of the .git; it may be a file that names the directory.
func gitDirOf(root *os.Root, where string) (dir string, ok bool) {
	info, err := root.Lstat(where)
	if err != nil {
		return "", false
	}
	if info.IsDir() {
		return where, isGitDir(root, where)
	}
	data, err := readSmall(root, where)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	line, _, _ := strings.Cut(string(data), "\n")
	to, ok := strings.CutPrefix(line, "gitdir: ")
	if !ok {
		return "", false
	}
	if dir, ok = inside(root, path.Dir(where), to); !ok || !isGitDir(root, dir) {
		return "", false
	}
	return dir, true
}

// commonOf gives the git directory that all work trees of a repository share, if it is another than dir and in root.
func commonOf(root *os.Root, dir string) (common string, ok bool) {
	data, err := readSmall(root, path.Join(dir, "commondir"))
	if err != nil {
		return "", false
	}
	common, ok = inside(root, dir, strings.TrimRight(string(data), "\r\n"))
	return common, ok && common != dir
}

// inside makes a path that stands in a file in dir relative to root, if it lies there.
func inside(root *os.Root, dir, to string) (string, bool) {
	if filepath.IsAbs(to) {
		rel, err := filepath.Rel(root.Name(), to)
		return rel, err == nil && filepath.IsLocal(rel)
	}
	rel := path.Join(dir, to)
	return rel, to != "" && filepath.IsLocal(rel)
}

// isGitDir says whether git would take a directory for a repository's. It may be the worktree's part of one.
func isGitDir(root *os.Root, dir string) bool {
	if _, err := root.Lstat(path.Join(dir, "HEAD")); err != nil {
		return false
	}
	for _, name := range []string{"objects", "commondir"} {
		if _, err := root.Lstat(path.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// worktreeConfig says whether git reads config.worktree in the repository of common.
func worktreeConfig(root *os.Root, common string) bool {
	data, err := readSmall(root, path.Join(common, "config"))
	if err != nil {
		return false
	}
	for _, s := range siftGit(data) {
		if value, ok := strings.CutPrefix(s, "extensions.worktreeconfig = "); ok {
			return !strings.EqualFold(value, "false") && value != "0" && !strings.EqualFold(value, "no") && !strings.EqualFold(value, "off")
		}
	}
	return false
}
