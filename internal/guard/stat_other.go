//go:build !linux

package guard

import "io/fs"

// changed knows nothing here: content, size and the time of writing have to do.
func changed(fs.FileInfo) (ctime int64, inode uint64) { return 0, 0 }
