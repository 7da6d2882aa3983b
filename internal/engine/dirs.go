package engine

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sharedDir is a directory in a workspace over which turns show their configuration. A mount needs a directory to be
// mounted on. Where the user has none, an empty one is made, and removed with the last turn that used it: nothing stays
// behind in the user's tree. Removing it earlier would take the configuration away from a turn that still runs.
type sharedDir struct {
	users map[string]struct{} // turn directories
	made  bool
}

// madeFile, in a turn's directory, lists the directories that were made, so that a later daemon removes them.
const madeFile = "made-dirs"

// holdDir makes sure that dir exists for as long as the turn of turnDir uses it.
func (e *Engine) holdDir(dir, turnDir string) error {
	e.runMu.Lock()
	defer e.runMu.Unlock()
	d := e.dirs[dir]
	if d == nil {
		d = &sharedDir{users: map[string]struct{}{}}
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		// The note comes first: a crash in between leaves a note without a directory, never the reverse.
		if err := appendLine(filepath.Join(turnDir, madeFile), dir); err != nil {
			return err
		}
		root, err := os.OpenRoot(filepath.Dir(dir))
		if err != nil {
			return wrapIO("open the workspace", err)
		}
		defer root.Close()
		if err := root.Mkdir(filepath.Base(dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return wrapIO("make a place for the configuration in the workspace", err)
		}
		d.made = true
	} else if d.made {
		if err := appendLine(filepath.Join(turnDir, madeFile), dir); err != nil {
			return err
		}
	}
	d.users[turnDir] = struct{}{}
	e.dirs[dir] = d
	return nil
}

// adoptDirs enters what a turn of a dead daemon uses.
func (e *Engine) adoptDirs(turnDir string) {
	data, err := os.ReadFile(filepath.Join(turnDir, madeFile))
	if err != nil {
		return
	}
	e.runMu.Lock()
	defer e.runMu.Unlock()
	for dir := range strings.Lines(string(data)) {
		dir = strings.TrimSuffix(dir, "\n")
		d := e.dirs[dir]
		if d == nil {
			d = &sharedDir{users: map[string]struct{}{}}
			e.dirs[dir] = d
		}
		d.made = true
		d.users[turnDir] = struct{}{}
	}
}

// releaseDirs ends a turn's use, and removes what was made once nobody uses it and it is empty.
func (e *Engine) releaseDirs(turnDir string) {
	e.runMu.Lock()
	defer e.runMu.Unlock()
	// What lies inside goes before what it lies in.
	dirs := slices.SortedFunc(maps.Keys(e.dirs), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, dir := range dirs {
		d := e.dirs[dir]
		if _, ok := d.users[turnDir]; !ok {
			continue
		}
		delete(d.users, turnDir)
		if len(d.users) > 0 {
			continue
		}
		delete(e.dirs, dir)
		if d.made {
			removeEmpty(dir)
		}
	}
}

// removeEmpty removes a directory that has nothing in it, without following a link on the way.
func removeEmpty(dir string) {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return
	}
	defer root.Close()
	if st, err := root.Lstat(filepath.Base(dir)); err == nil && st.IsDir() {
		_ = root.Remove(filepath.Base(dir))
	}
}

func appendLine(file, line string) error {
	if data, err := os.ReadFile(file); err == nil && slices.Contains(strings.Split(string(data), "\n"), line) {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return wrapIO("note a directory", err)
	}
	_, err = f.WriteString(line + "\n")
	return wrapIO("note a directory", errors.Join(err, f.Close()))
}
