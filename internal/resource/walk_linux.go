package resource

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// mostDepth bounds how many directories a walk holds open. Nobody who works nests deeper.
const mostDepth = 200

// walker adds up what lies below a directory. It opens nothing but directories, each from its parent and never through a
// link, so that it stays in the tree whatever is moved meanwhile, and stays on one device.
type walker struct {
	ctx   context.Context
	dev   uint64
	since time.Time
	seen  map[uint64]bool // inodes with several names
	most  int             // entries, 0 for all there are
	count int
	found extent
}

// dir walks an open directory and closes it.
func (w *walker) dir(fd, depth int) error {
	defer unix.Close(fd)
	if err := w.ctx.Err(); err != nil {
		return err
	}
	var below []string
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break // what is left of a directory that was removed meanwhile
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		if w.count += len(names); w.most > 0 && w.count > w.most {
			return errTooMany
		}
		for _, name := range names {
			if w.entry(fd, name) {
				below = append(below, name)
			}
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
	for _, name := range below {
		if depth >= mostDepth {
			w.found.hidden = true
			break
		}
		sub, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.EACCES {
			w.closed(fd, name)
		}
		if err == unix.EMFILE || err == unix.ENFILE {
			w.found.hidden = true
		}
		if err != nil {
			continue
		}
		if err := w.dir(sub, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// entry counts one name, and says whether to go there.
func (w *walker) entry(dir int, name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Dev != w.dev {
		return false
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !isDir && st.Nlink > 1 {
		if w.seen[st.Ino] {
			return false
		}
		w.seen[st.Ino] = true
	}
	n := max(st.Blocks*512, entryBytes)
	w.found.all += n
	if w.isChanged(st) {
		w.found.changed += n
	}
	return isDir
}

func (w *walker) isChanged(st unix.Stat_t) bool { return !time.Unix(st.Ctim.Unix()).Before(w.since) }

// closed is for a directory that may not be read. One of our own that was changed since the start was closed to hide
// what is in it.
func (w *walker) closed(dir int, name string) {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && int(st.Uid) == os.Geteuid() && w.isChanged(st) {
		w.found.hidden = true
	}
}
