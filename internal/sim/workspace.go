package sim

import (
	"crypto/md5"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// workspace is the directory the agent works in, absolute and without symlinks.
type workspace string

func findWorkspace(flag string) (workspace, error) {
	dir := flag
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", refuse("Error: Workspace path could not be resolved: %v", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", refuse("Error: Workspace path does not exist: %s", abs)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", refuse("Error: Workspace path is not a directory: %s", abs)
	}
	return workspace(real), nil
}

// hash names the workspace's directory among the chats.
func (w workspace) hash() string {
	sum := md5.Sum([]byte(w))
	return hex.EncodeToString(sum[:])
}

// slug names the workspace's directory among the projects: every run of other characters is one dash.
func (w workspace) slug() string {
	words := strings.FieldsFunc(string(w), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
	return strings.Join(words, "-")
}

// root is the project's root: the top of the git work tree the workspace lies in, else the workspace.
func (w workspace) root() workspace {
	for dir := string(w); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return workspace(dir)
		}
		if dir == filepath.Dir(dir) {
			return w
		}
	}
}

// resolve makes a path of a step absolute. A path out of the workspace is fine: what may be reached is the sandbox's
// concern, and the real program reaches it too.
func (w workspace) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(string(w), path)
}
