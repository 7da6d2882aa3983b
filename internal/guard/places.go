package guard

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/straight"
)

// Make says what has to be made where nothing is, before something can be mounted there.
type Make string

const (
	// MakeNothing says that it is there.
	MakeNothing Make = ""
	// MakeDir says that it is an empty directory, to be removed when nobody uses the workspace any more: git does not see one, and
	// removing an empty directory loses nothing. It stands in for files, too.
	MakeDir Make = "dir"
	// MakeFile says that it is an empty file in a git directory, where it means what its absence means, and a directory would break git.
	// It may stay.
	MakeFile Make = "file"
)

// Place is something to be mounted in a workspace.
type Place struct {
	// Rel is where, relative to the workspace, with slashes.
	Rel string
	// Own says that what is there is shown over itself; else it is an empty directory that is shown.
	Own bool
	// Write keeps it writable: it is mounted only because what a mount sits on cannot be renamed or removed.
	Write bool
	Dir   bool
	Make  Make
	Why   string
}

// Options choose what is held.
type Options struct {
	// Allow are names that agents may write to, as the table has them or as paths of the workspace: ".vscode", ".github/workflows".
	Allow []string
}

// allows says whether a path is allowed: as a whole, by the name of a directory it is in, or by a pattern as of path.Match.
func (o Options) allows(rel string) bool {
	for _, a := range o.Allow {
		a = strings.TrimSuffix(fold(a), "/")
		for p := fold(rel); p != "." && p != "/"; p = path.Dir(p) {
			if ok, _ := path.Match(a, p); ok || a == p || strings.HasSuffix(p, "/"+a) {
				return true
			}
		}
	}
	return false
}

// Drop leaves out the findings that are allowed.
func (o Options) Drop(all []Finding) []Finding {
	return slices.DeleteFunc(all, func(f Finding) bool { return o.allows(f.Path) })
}

// Places says what to mount in a workspace so that an agent cannot write what would be obeyed: what is at its top, and in its
// git directory if that lies in it. What lies inside comes after what it lies in. A link in such a place is refused, since
// nothing can be mounted over it, and the agent could replace it.
func Places(dir string, o Options) ([]Place, error) {
	root, err := straight.Root(dir)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot protect the workspace %s: %v", dir, err)
	}
	defer root.Close()
	f := finder{root: root, options: o}
	for i := range table {
		if r := &table[i]; r.hold != flagged {
			f.rule(r)
		}
	}
	f.git()
	return f.places, f.err
}

// TreePlaces says what to mount in a repository that is shown because a worktree belongs to it: common is its git directory,
// own the part of it that is the worktree's. Both are written to. Where the repository has git read further configuration
// files, an agent is not to make them.
func TreePlaces(common, own string) ([]Place, error) {
	rel, err := filepath.Rel(common, own)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot protect the repository %s: the worktree's part of it is elsewhere", common)
	}
	root, err := straight.Root(common)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot protect the repository %s: %v", common, err)
	}
	defer root.Close()
	f := finder{root: root}
	for _, dir := range []string{".", filepath.ToSlash(rel)} {
		f.worktreeConfig(dir, ".")
	}
	return f.places, f.err
}

// finder collects places and keeps the first error.
type finder struct {
	root    *os.Root
	options Options
	places  []Place
	err     error
}

// what says what is at a path, nil if nothing is. Links end the search.
func (f *finder) what(rel string) fs.FileInfo {
	if f.err != nil {
		return nil
	}
	info, err := f.root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		f.err = substrat.Errorf(substrat.CodeInvalid, "cannot protect %s: %v", Escape(filepath.Join(f.root.Name(), rel), 300), err)
		return nil
	case info.Mode()&(fs.ModeDir|fs.ModeSymlink) == 0 && !info.Mode().IsRegular(), info.Mode()&fs.ModeSymlink != 0:
		kind := "neither a file nor a directory"
		if info.Mode()&fs.ModeSymlink != 0 {
			kind = "a symbolic link"
		}
		f.err = substrat.Errorf(substrat.CodeForbidden, "cannot protect %s: it is %s", Escape(filepath.Join(f.root.Name(), rel), 300), kind).
			WithHint("an agent could replace it; put a file or a directory there, or allow %s under [guard] in substrat.toml", rel)
		return nil
	}
	return info
}

func (f *finder) add(p Place) {
	if f.err == nil && !slices.ContainsFunc(f.places, func(q Place) bool { return q.Rel == p.Rel }) {
		f.places = append(f.places, p)
	}
}

// rule holds what one line of the table says.
func (f *finder) rule(r *rule) {
	rel := strings.TrimSuffix(r.name, "/")
	if f.options.allows(rel) {
		return
	}
	p := Place{Rel: rel, Dir: true, Why: r.by}
	switch info := f.what(rel); {
	case f.err != nil:
		return
	case info == nil && r.hold == kept:
		return
	case info == nil:
		p.Make = MakeDir
	default:
		p.Dir = info.IsDir()
		// An empty directory may be one that was made for another turn.
		p.Own = !p.Dir || !f.empty(rel)
		if !p.Own && r.hold == kept {
			return
		}
	}
	f.add(p)
}

func (f *finder) empty(rel string) bool {
	d, err := openDir(f.root, rel)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(1)
	return len(names) == 0
}

// git holds the .git of the workspace and the directory it stands for.
func (f *finder) git() {
	if f.options.allows(".git") {
		return
	}
	info := f.what(".git")
	if info == nil {
		return // a repository that an agent makes is looked at afterwards
	}
	dir, ok := gitDirOf(f.root, ".git")
	if !info.IsDir() {
		f.add(Place{Rel: ".git", Own: true, Why: "git"})
	}
	if !ok {
		return
	}
	f.gitDir(dir, dir)
	if common, ok := commonOf(f.root, dir); ok && isGitDir(f.root, common) {
		f.gitDir(common, common)
	}
}

// modulesMost bounds how many submodules are held.
const modulesMost = 50

// gitDir holds a git directory: it stays where it is and is written to, but for what git obeys.
func (f *finder) gitDir(dir, common string) {
	if info := f.what(dir); info == nil || !info.IsDir() {
		return
	}
	f.add(Place{Rel: dir, Own: true, Write: true, Dir: true, Why: "git"})
	if shared, ok := commonOf(f.root, dir); ok {
		common = shared
		f.existing(path.Join(dir, "commondir"))
	} else {
		f.file(path.Join(dir, "config"))
		f.directory(path.Join(dir, "hooks"))
	}
	f.worktreeConfig(dir, common)
	f.existing(path.Join(dir, "info/attributes"))
	f.existing(path.Join(dir, "worktrees"))
	modules := path.Join(dir, "modules")
	if info := f.what(modules); info != nil && info.IsDir() {
		f.add(Place{Rel: modules, Own: true, Write: true, Dir: true, Why: "git"})
		f.modules(modules, 0)
	}
}

// worktreeConfig holds the further configuration file in dir, which git reads if that of common says so.
func (f *finder) worktreeConfig(dir, common string) {
	file := path.Join(dir, "config.worktree")
	if worktreeConfig(f.root, common) {
		f.file(file)
	} else {
		f.existing(file)
	}
}

func (f *finder) modules(dir string, level int) {
	d, err := openDir(f.root, dir)
	if err != nil {
		return
	}
	names, _ := d.Readdirnames(modulesMost)
	_ = d.Close()
	slices.Sort(names)
	for _, name := range names {
		at := path.Join(dir, name)
		info, err := f.root.Lstat(at)
		switch {
		case err != nil || !info.IsDir() || level > 3:
		case isGitDir(f.root, at):
			f.gitDir(at, at)
		default:
			f.add(Place{Rel: at, Own: true, Write: true, Dir: true, Why: "git"})
			f.modules(at, level+1)
		}
	}
}

// existing holds what is there and lets be what is not.
func (f *finder) existing(rel string) {
	if info := f.what(rel); info != nil {
		f.add(Place{Rel: rel, Own: true, Dir: info.IsDir(), Why: "git"})
	}
}

// file holds a file, which is made empty if it is not there.
func (f *finder) file(rel string) {
	p := Place{Rel: rel, Own: true, Why: "git"}
	if info := f.what(rel); info == nil {
		p.Make = MakeFile
	}
	f.add(p)
}

// directory holds a directory; an empty one stands in for it if it is not there.
func (f *finder) directory(rel string) {
	p := Place{Rel: rel, Dir: true, Why: "git"}
	if info := f.what(rel); info == nil {
		p.Make = MakeDir
	} else {
		p.Dir, p.Own = info.IsDir(), !info.IsDir() || !f.empty(rel)
	}
	f.add(p)
}

// MakeEmpty makes the empty file of a place, and leaves what is there.
func MakeEmpty(dir, rel string) error {
	root, err := straight.Root(dir)
	if err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot protect the workspace %s: %v", dir, err)
	}
	defer root.Close()
	file, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return substrat.Errorf(substrat.CodeStorage, "cannot protect %s: %v", Escape(filepath.Join(dir, rel), 300), err)
	}
	return file.Close()
}
