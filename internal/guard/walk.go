package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"substrat.dev/substrat/internal/straight"
)

// Bounds of one look at a workspace. What lies beyond is not seen, and Cut says so.
const (
	entriesMost = 60_000
	dirsMost    = 5_000
	foundMost   = 2_000
	levelsMost  = 10
	// insideMost is how many entries of one directory that is obeyed as a whole are looked at.
	insideMost = 500
)

// passed are directories that are not looked into: large, made by tools, and nobody opens them with an editor.
var passed = map[string]bool{
	"node_modules": true, "vendor": true, ".venv": true, "venv": true, "__pycache__": true, ".tox": true, ".cache": true,
	"target": true, ".gradle": true, ".next": true, ".terraform": true, "bower_components": true, ".direnv": true, ".pnpm-store": true,
}

// Entry is what one file that is obeyed looked like.
type Entry struct {
	// Kind is file, dir, link or other.
	Kind  string `json:"kind"`
	Mode  uint32 `json:"mode"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"`
	CTime int64  `json:"ctime"`
	Inode uint64 `json:"inode"`
	// Sum is of the content of a small file, Target of a link where it leads.
	Sum    string `json:"sum,omitempty"`
	Target string `json:"target,omitempty"`
	// Tells are what a person wants to know of the content; Sifted says that nothing else in it matters.
	Tells  []string `json:"tells,omitempty"`
	Sifted bool     `json:"sifted,omitempty"`
	By     string   `json:"by"`
	Does   Does     `json:"does"`
}

// Snapshot is what the obeyed files of a workspace looked like at one time. It can be kept as JSON.
type Snapshot struct {
	Root    string           `json:"root"`
	Taken   time.Time        `json:"taken"`
	Entries map[string]Entry `json:"entries"`
	// Cut says that the workspace was too large to look at all of it.
	Cut bool `json:"cut,omitempty"`
}

// Take looks at a workspace: at the whole tree for names that are obeyed, and at those. It stops at a bound, with Cut set,
// and when ctx ends, with its error.
func Take(ctx context.Context, dir string) (Snapshot, error) {
	s := Snapshot{Root: dir, Taken: time.Now(), Entries: map[string]Entry{}}
	root, err := straight.Root(dir)
	if err != nil {
		return s, err
	}
	defer root.Close()
	top, err := root.Open(".")
	if err != nil {
		return s, err
	}
	defer top.Close()
	w := walker{root: root, top: top, into: &s, queue: []place{{path: "."}}}
	for len(w.queue) > 0 {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		next := w.queue[0]
		w.queue = w.queue[1:]
		if w.dirs++; w.dirs > dirsMost {
			s.Cut = true
			break
		}
		w.look(next)
	}
	return s, nil
}

// place is a directory to be looked at; level is how deep it is.
type place struct {
	path  string
	level int
}

// walker goes through a tree breadth first, so that what is near the top is seen whatever the bounds.
type walker struct {
	root          *os.Root
	top           *os.File
	into          *Snapshot
	queue         []place
	dirs, entries int
}

// names reads a directory, in pieces, so that a huge one costs no more than the bound.
func (w *walker) names(dir string, most int) []fs.DirEntry {
	f, err := openBelow(w.top, dir)
	if err != nil {
		if f, err = openDir(w.root, dir); err != nil {
			return nil
		}
	}
	defer f.Close()
	var all []fs.DirEntry
	for {
		some, err := f.ReadDir(min(1024, most+1-len(all)))
		all = append(all, some...)
		if w.entries += len(some); len(all) > most || w.entries > entriesMost {
			w.into.Cut = true
			return all
		}
		if err != nil || len(some) == 0 {
			return all
		}
	}
}

// look goes through one directory of the tree.
func (w *walker) look(p place) {
	all := w.names(p.path, max(0, entriesMost-w.entries))
	// A directory with these four is a repository to git, whatever it is called.
	var bare int
	for _, d := range all {
		name := d.Name()
		switch name {
		case "HEAD", "objects", "refs", "config":
			bare++
		}
		at := path.Join(p.path, name)
		isDir := d.IsDir()
		if fold(name) == ".git" {
			w.dotGit(at)
			continue
		}
		if r := match(p.path, name); r != nil {
			w.note(r, at, 0)
			continue
		}
		switch {
		case !isDir || passed[name]:
		case p.level >= levelsMost:
			w.into.Cut = true
		default:
			w.queue = append(w.queue, place{at, p.level + 1})
		}
	}
	if bare == 4 {
		w.gitDir(p.path, 0)
	}
}

// dotGit looks at a .git: git follows it when it is a file or a link, too.
func (w *walker) dotGit(at string) {
	info, err := w.root.Lstat(at)
	if err != nil {
		return
	}
	if !info.IsDir() {
		w.note(&gitLead, at, 0)
	}
	if dir, ok := gitDirOf(w.root, at); ok {
		w.gitDir(dir, 0)
		if common, ok := commonOf(w.root, dir); ok {
			w.gitDir(common, 0)
		}
	}
}

// gitDir looks at what git obeys in a git directory, and in those of submodules and worktrees in it.
func (w *walker) gitDir(dir string, level int) {
	w.note(&gitConfig, path.Join(dir, "config"), 0)
	w.note(&gitConfig, path.Join(dir, "config.worktree"), 0)
	w.note(&gitLead, path.Join(dir, "commondir"), 0)
	w.note(&gitAttrs, path.Join(dir, "info/attributes"), 0)
	w.note(&gitHook, path.Join(dir, "hooks"), 0)
	if level > 3 {
		return
	}
	for _, sub := range []string{"modules", "worktrees"} {
		w.gitDirsIn(path.Join(dir, sub), level+1)
	}
}

func (w *walker) gitDirsIn(dir string, level int) {
	for _, d := range w.names(dir, insideMost) {
		at := path.Join(dir, d.Name())
		switch {
		case !d.IsDir():
		case isGitDir(w.root, at):
			w.gitDir(at, level)
		case level <= 3:
			w.gitDirsIn(at, level+1) // the name of a submodule may hold slashes
		}
	}
}

// note enters what is at a path that r holds for, and if it is a directory, what is in it.
func (w *walker) note(r *rule, at string, level int) {
	if _, known := w.into.Entries[at]; known {
		return
	}
	info, err := w.root.Lstat(at)
	if err != nil || r == &gitHook && strings.HasSuffix(at, ".sample") {
		return
	}
	if len(w.into.Entries) >= foundMost {
		w.into.Cut = true
		return
	}
	e := Entry{Mode: uint32(info.Mode().Perm()), Size: info.Size(), MTime: info.ModTime().UnixNano(), By: r.by, Does: r.does}
	e.CTime, e.Inode = changed(info)
	isDir := info.IsDir()
	switch info.Mode().Type() {
	case 0:
		e.Kind = "file"
		w.content(r, at, &e)
	case fs.ModeDir:
		e.Kind = "dir"
	case fs.ModeSymlink:
		e.Kind = "link"
		e.Target, _ = w.root.Readlink(at)
		// Root follows it only within the workspace: what lies outside is not the agent's to change.
		if to, err := w.root.Stat(at); err == nil {
			if isDir = to.IsDir(); to.Mode().IsRegular() {
				w.content(r, at, &e)
			}
		}
	default:
		e.Kind = "other"
	}
	w.into.Entries[at] = e
	if !isDir {
		return
	}
	if level >= 4 {
		w.into.Cut = true
		return
	}
	for _, d := range w.names(at, insideMost) {
		w.note(r, path.Join(at, d.Name()), level+1)
	}
}

// content enters what is in a file.
func (w *walker) content(r *rule, at string, e *Entry) {
	data, err := readSmall(w.root, at)
	if err != nil {
		return
	}
	sum := sha256.Sum256(data)
	e.Sum = hex.EncodeToString(sum[:])
	switch {
	case r.sift != nil:
		e.Tells, e.Sifted = r.sift(data), true
	case r.tell != nil:
		e.Tells = r.tell(data)
	}
}

// openDir opens a directory of the workspace to read its names.
func openDir(root *os.Root, dir string) (*os.File, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return nil, errors.Join(err, f.Close(), io.ErrUnexpectedEOF)
	}
	return f, nil
}
