// Package straight opens directories by paths that have no symbolic link in them. An agent can put a link in place of any part of a
// path that lies in what it may write; who then opens the path by its name is led to wherever the link points. The paths that are
// opened here were resolved when a person named them, so that a link in one now is somebody's trick, and an error.
//
// It never makes or changes anything, and never follows a link.
package straight

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLink says that a path is, or leads through, a symbolic link.
var ErrLink = errors.New("it is, or lies behind, a symbolic link")

// ID is a file or directory, whatever its name.
type ID struct{ Dev, Ino uint64 }

// Root opens a directory.
func Root(dir string) (*os.Root, error) {
	f, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	checked, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// It is opened by its name, so that errors tell it; what was checked decides.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(checked, opened) {
		err = &fs.PathError{Op: "open", Path: dir, Err: ErrLink}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// Stat tells what is at a path.
func Stat(path string) (fs.FileInfo, ID, error) {
	f, err := open(path)
	if err != nil {
		return nil, ID{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, ID{}, err
	}
	return info, idOf(info), nil
}

// MkdirAll makes a directory where there is none, below the nearest one that is there. That one's path must be straight.
func MkdirAll(dir string, mode fs.FileMode) error {
	up := dir
	for {
		info, _, err := Stat(up)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s: not a directory", up)
		case err == nil && up == dir:
			return nil
		case err == nil:
			return below(up, dir, mode)
		case !errors.Is(err, fs.ErrNotExist) || up == filepath.Dir(up):
			return err
		}
		up = filepath.Dir(up)
	}
}

func below(up, dir string, mode fs.FileMode) error {
	root, err := Root(up)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(up, dir)
	if err != nil {
		return err
	}
	// What was put there meanwhile shows when the directory is opened.
	return root.MkdirAll(rel, mode)
}
