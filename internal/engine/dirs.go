package engine

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/straight"
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

// spot names a directory below a workspace. What is below the workspace is the agent's, and a link there must not lead out:
// so the two parts are kept apart.
type spot struct{ workspace, below string }

// spotOf reads what note wrote.
func spotOf(line string) (spot, bool) {
	text, err := strconv.Unquote(line)
	if err != nil {
		text = line
	}
	workspace, below, ok := strings.Cut(text, "//")
	if !ok { // as it was written before the parts were kept apart
		workspace, below = filepath.Dir(text), filepath.Base(text)
	}
	return spot{workspace, below}, filepath.IsAbs(workspace) && filepath.IsLocal(below)
}

// note is one line, whatever the names are.
func (s spot) note() string { return strconv.Quote(s.workspace + "//" + s.below) }

// holdDir makes sure that a directory exists for as long as the turn of turnDir uses it.
func (e *Engine) holdDir(at spot, turnDir string) error {
	e.runMu.Lock()
	defer e.runMu.Unlock()
	d := e.dirs[at]
	if d == nil {
		d = &sharedDir{users: map[string]struct{}{}}
	}
	root, err := straight.Root(at.workspace)
	if err != nil {
		return wrapIO("open the workspace", err)
	}
	defer root.Close()
	if _, err := root.Lstat(at.below); errors.Is(err, fs.ErrNotExist) {
		// The note comes first: a crash in between leaves a note without a directory, never the reverse.
		if err := appendLine(filepath.Join(turnDir, madeFile), at.note()); err != nil {
			return err
		}
		if err := root.Mkdir(at.below, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return wrapIO("make a place for the configuration in the workspace", err)
		}
		d.made = true
	} else if err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot use %s of the workspace %s: %v", at.below, at.workspace, err).
			WithHint("a symbolic link must not lead out of the workspace")
	} else if d.made {
		if err := appendLine(filepath.Join(turnDir, madeFile), at.note()); err != nil {
			return err
		}
	}
	d.users[turnDir] = struct{}{}
	e.dirs[at] = d
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
		at, ok := spotOf(strings.TrimSuffix(dir, "\n"))
		if !ok {
			continue
		}
		d := e.dirs[at]
		if d == nil {
			d = &sharedDir{users: map[string]struct{}{}}
			e.dirs[at] = d
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
	dirs := slices.SortedFunc(maps.Keys(e.dirs), func(a, b spot) int {
		return cmp.Compare(len(b.workspace)+len(b.below), len(a.workspace)+len(a.below))
	})
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

// removeEmpty removes a directory that has nothing in it, without following a link out of the workspace.
func removeEmpty(at spot) {
	root, err := straight.Root(at.workspace)
	if err != nil {
		return
	}
	defer root.Close()
	if st, err := root.Lstat(at.below); err == nil && st.IsDir() {
		_ = root.Remove(at.below)
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
