package engine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/straight"
)

// Bounds of what is shown again from the user's own configuration directory.
const (
	copyFiles = 200
	copyBytes = 2 << 20
)

// placeFiles writes what a provider wants in place: home files through an os.Root, so that a link planted by the agent
// leads nowhere; configuration into a directory of ours, which the sandbox shows read-only over the workspace's.
func (r *runner) placeFiles(a *attempt, files []agentcli.File) ([]sandbox.Bind, error) {
	homeDir := r.e.homeDir(a.agent.ID)
	if err := os.MkdirAll(homeDir, 0o700); err != nil {
		return nil, wrapIO("make the agent's home", err)
	}
	home, err := os.OpenRoot(homeDir)
	if err != nil {
		return nil, wrapIO("open the agent's home", err)
	}
	defer home.Close()
	if a.agent.Sandbox == substrat.Bubblewrap {
		files = append(files[:len(files):len(files)], gitIgnore(files))
	}
	var dirs []string
	for _, f := range files {
		if !filepath.IsLocal(f.Path) {
			return nil, substrat.Errorf(substrat.CodeInternal, "cannot place the file %q: not a local path", f.Path)
		}
		if f.Root == agentcli.InHome || a.agent.Sandbox != substrat.Bubblewrap {
			// Beside a turn, what that turn was given stays.
			f.KeepExisting = f.KeepExisting || r.aside != ""
			if err := writeIn(home, f); err != nil {
				return nil, err
			}
			continue
		}
		if top, _, _ := strings.Cut(f.Path, "/"); !slices.Contains(dirs, top) {
			dirs = append(dirs, top)
		}
	}
	return r.buildConfig(a, dirs, files)
}

// gitIgnore keeps git from taking the generated configuration, which it sees in the workspace, for the agent's work. It is
// where git looks for what a user ignores everywhere.
func gitIgnore(files []agentcli.File) agentcli.File {
	var b strings.Builder
	for _, f := range files {
		if f.Root == agentcli.InWorkspaceConfig {
			b.WriteString("/" + f.Path + "\n")
		}
	}
	return agentcli.File{Root: agentcli.InHome, Path: ".config/git/ignore", Data: []byte(b.String())}
}

// writeIn sees to it that a file below a root holds what it should. What is there already is not written again.
func writeIn(root *os.Root, f agentcli.File) error {
	if st, err := root.Lstat(f.Path); err == nil {
		// An empty one is what a daemon left that was killed while it wrote.
		if f.KeepExisting && st.Size() > 0 || st.Mode().IsRegular() && st.Size() == int64(len(f.Data)) && holds(root, f) {
			return nil
		}
		// A file, or a link, that the agent left in its place is not written through.
		if err := root.Remove(f.Path); err != nil {
			return wrapIO("replace a file in the agent's home", err)
		}
	} else if dir := path.Dir(f.Path); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return wrapIO("make a directory in the agent's home", err)
		}
	}
	// It is there whole or not at all: one that was cut off and is kept would be in the agent's way for ever.
	made := f.Path + ".new"
	if err := root.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrapIO("replace a file in the agent's home", err)
	}
	if err := root.WriteFile(made, f.Data, 0o600); err != nil {
		return wrapIO("write a file in the agent's home", err)
	}
	return wrapIO("write a file in the agent's home", root.Rename(made, f.Path))
}

// holds reports whether a file has the content it should have.
func holds(root *os.Root, f agentcli.File) bool {
	data, err := root.ReadFile(f.Path)
	return err == nil && bytes.Equal(data, f.Data)
}

// buildConfig makes, for each configuration directory, a copy of what the user has there with the generated files on
// top, and makes sure that the workspace has a place to show it at. What we built is kept from turn to turn; only where
// the user has a directory of their own is it made anew, because that may have changed.
func (r *runner) buildConfig(a *attempt, dirs []string, files []agentcli.File) ([]sandbox.Bind, error) {
	var binds []sandbox.Bind
	for _, top := range dirs {
		built := filepath.Join(r.configDir(a), top)
		at := filepath.Join(a.agent.Dir, top)
		if err := r.buildOne(a, top, built, files); err != nil {
			return nil, err
		}
		if err := r.e.holdDir(spot{a.agent.Dir, top}, r.holdsFrom(a)); err != nil {
			return nil, err
		}
		binds = append(binds, sandbox.Bind{Host: built, At: at})
	}
	return binds, nil
}

// userMark, beside a configuration directory, says that it holds copies of the user's files.
const userMark = ".user"

func (r *runner) buildOne(a *attempt, top, built string, files []agentcli.File) error {
	users, copied := hasEntries(filepath.Join(a.agent.Dir, top)), exists(built+userMark)
	if users || copied {
		if err := errors.Join(os.RemoveAll(built), os.RemoveAll(built+userMark)); err != nil {
			return wrapIO("clear the configuration directory", err)
		}
	}
	if err := os.MkdirAll(built, 0o700); err != nil {
		return wrapIO("make the configuration directory", err)
	}
	root, err := os.OpenRoot(filepath.Dir(built))
	if err != nil {
		return wrapIO("open the configuration directory", err)
	}
	defer root.Close()
	if users {
		if err := os.WriteFile(built+userMark, nil, 0o600); err != nil {
			return wrapIO("mark the configuration directory", err)
		}
		if err := copyConfig(a.agent.Dir, top, root); err != nil {
			return err
		}
	}
	for _, f := range files {
		if f.Root == agentcli.InWorkspaceConfig && strings.HasPrefix(f.Path, top+"/") {
			if err := writeIn(root, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// hasEntries reports whether a directory is there and not empty. One that we made for another turn is empty.
func hasEntries(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && len(list) > 0
}

// copyConfig copies the regular files of the user's own directory: what is there to read stays readable, a link leads
// nowhere, and servers that a repository brings along are not started (mcp.json is replaced, never merged).
func copyConfig(workspace, top string, into *os.Root) error {
	root, err := straight.Root(workspace)
	if err != nil {
		return wrapIO("open the workspace", err)
	}
	defer root.Close()
	n, size := 0, int64(0)
	err = fs.WalkDir(root.FS(), top, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&^fs.ModeDir != 0 {
			return nil
		}
		if d.IsDir() {
			return into.MkdirAll(p, 0o700)
		}
		if n++; n > copyFiles || size > copyBytes {
			return fs.SkipAll
		}
		m, err := copyFile(root, into, p)
		size += m
		return err
	})
	return wrapIO("copy the workspace's own configuration", err)
}

func copyFile(from, to *os.Root, p string) (int64, error) {
	src, err := from.OpenFile(p, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return 0, nil // unreadable for us is unreadable for the agent
	}
	defer src.Close()
	dst, err := to.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(dst, io.LimitReader(src, copyBytes))
	return n, errors.Join(err, dst.Close())
}

// ensureDir makes an agent's workspace when it is missing: a subdirectory that its parent named, or a directory of our own.
func ensureDir(dir string) error {
	if err := straight.MkdirAll(dir, 0o700); err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot use %s as a workspace: %v", dir, err)
	}
	return nil
}
