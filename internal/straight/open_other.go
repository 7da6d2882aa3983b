//go:build !linux

package straight

import (
	"io/fs"
	"os"
)

func open(path string) (*os.File, error) {
	if err := checkParts(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

func rootOf(f *os.File) (*os.Root, error) { return os.OpenRoot(f.Name()) }

func idOf(fs.FileInfo) ID { return ID{} }
