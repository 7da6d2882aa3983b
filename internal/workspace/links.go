package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// noLinks refuses to write where a link stands on the way, at paths in the shared git directory. Git follows links among
// its own files, so one that an agent made would have it write anywhere. This finds links that lie in wait; an agent that
// swaps one in at the right moment can only be kept out by showing it the git directory read-only.
func (r *repository) noLinks(paths ...string) error {
	for _, path := range paths {
		at := r.common
		for _, part := range strings.Split(filepath.Clean(path), string(filepath.Separator)) {
			at = filepath.Join(at, part)
			info, err := os.Lstat(at)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil || info.Mode()&fs.ModeSymlink != 0 {
				return substrat.Errorf(substrat.CodeConflict, "cannot use the repository %s: %s is a link, and what is written there would go elsewhere", r.top, at).
					WithHint("put a file or directory in the place of the link, if it is yours")
			}
		}
	}
	return nil
}

// linklessRef refuses links on the way to a branch and its log.
func (r *repository) linklessRef(branch string) error {
	ref := filepath.Join("refs", "heads", filepath.FromSlash(branch))
	return r.noLinks(ref, filepath.Join("logs", ref), "packed-refs")
}

// linklessOwn refuses links among the files that are written in the git directory of one work tree.
func (r *repository) linklessOwn(own string) error {
	below, err := filepath.Rel(r.common, own)
	if err != nil {
		return err
	}
	var paths []string
	for _, name := range []string{"index", "HEAD", "logs/HEAD"} {
		paths = append(paths, filepath.Join(below, name))
	}
	return r.noLinks(paths...)
}

// linklessObjects refuses links where a merge writes objects: in the directory of objects, and in those by two digits below it.
func (r *repository) linklessObjects() error {
	if err := r.noLinks("objects"); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(r.common, "objects"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			return r.noLinks(filepath.Join("objects", e.Name()))
		}
	}
	return nil
}

// replaceFile writes a file in dir in the place of what is there, which is not followed if it is a link. The file has its
// text and its time at once.
func replaceFile(dir, name string, data []byte, at time.Time) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	part := name + ".substrat"
	if err := root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := root.Chtimes(part, at, at); err != nil {
		return err
	}
	return root.Rename(part, name)
}
