//go:build !linux

package straight

import (
	"io/fs"
	"os"
	"syscall"
)

func open(path string) (*os.File, error) {
	if err := checkParts(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

func idOf(info fs.FileInfo) ID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}
	}
	return ID{uint64(st.Dev), uint64(st.Ino)}
}
