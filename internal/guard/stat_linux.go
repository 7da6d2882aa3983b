package guard

import (
	"io/fs"
	"syscall"
)

// changed gives when a file or what is known of it was last changed, which no program can set, and its inode.
func changed(info fs.FileInfo) (ctime int64, inode uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return 0, 0
}
