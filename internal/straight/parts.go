package straight

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkParts looks at each part of a path by itself. Between the looks and the use a part may change.
func checkParts(path string) error {
	at := string(filepath.Separator)
	for part := range strings.SplitSeq(path, at) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return &fs.PathError{Op: "open", Path: at, Err: ErrLink}
		}
	}
	return nil
}
