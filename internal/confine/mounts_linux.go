package confine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// verifyMounts refuses where a mount of the plan is not there, is another one, or is not read-only as said.
//
// What is asked is always what a path leads to now: opened once, and compared through the descriptor. A line of
// mountinfo alone would not do, because a mount over it or over a directory above hides it and leaves the line.
func verifyMounts(p Plan) error {
	if len(p.Mounts) == 0 {
		return nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs("/proc", &fs); err != nil || fs.Type != unix.PROC_SUPER_MAGIC {
		return errors.New("/proc is not mounted")
	}
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	points := mountPoints(info)
	for _, m := range p.Mounts {
		if err := verifyMount(m, points); err != nil {
			return fmt.Errorf("%q %w", m.At, err)
		}
	}
	return nil
}

func verifyMount(m Mount, points map[uint64]string) error {
	fd, st, err := openExactly(m.At)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	id, err := mountID(fd)
	if err != nil {
		return err
	}
	if at, ok := points[id]; !ok || at != m.At {
		return errors.New("is not a mount of its own")
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return fmt.Errorf("cannot be looked at: %w", err)
	}
	if readOnly := fs.Flags&unix.ST_RDONLY != 0; readOnly != m.ReadOnly {
		return fmt.Errorf("is mounted %s and should be %s", access(readOnly), access(m.ReadOnly))
	}
	if m.Dev|m.Ino != 0 && (uint64(st.Dev) != m.Dev || st.Ino != m.Ino) { //nolint:unconvert // Dev has another size elsewhere.
		return errors.New("is not what was checked before: its source was replaced")
	}
	return nil
}

func access(readOnly bool) string {
	if readOnly {
		return "read-only"
	}
	return "writable"
}

// openExactly opens path without any right but to name it, and refuses a path that goes through a symbolic link. The
// kernel says where the descriptor is; this holds on kernels that have no openat2, too.
func openExactly(path string) (int, unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, st, fmt.Errorf("cannot be opened: %w", err)
	}
	is, err := os.Readlink(fdPath(fd))
	if err == nil && is != path {
		err = fmt.Errorf("is a symbolic link or lies behind one: it leads to %q", is)
	}
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// fdPath names an open file, whatever lies at its path by now.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// mountID gives the mount that an open file belongs to. Kernels before Linux 5.8 say so in a file only.
func mountID(fd int) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err == nil && st.Mask&unix.STATX_MNT_ID != 0 {
		return st.Mnt_id, nil
	}
	return mountIDInProc(fd)
}

func mountIDInProc(fd int) (uint64, error) {
	info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(info) {
		if v, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			return strconv.ParseUint(string(bytes.TrimSpace(v)), 10, 64)
		}
	}
	return 0, errors.New("belongs to a mount that the kernel does not name")
}

// mountPoints gives each mount's place by its id. A line reads ID PARENT MAJOR:MINOR ROOT POINT OPTIONS ...
func mountPoints(info []byte) map[uint64]string {
	out := map[uint64]string{}
	for line := range bytes.Lines(info) {
		fields := bytes.Fields(line)
		if len(fields) < 6 {
			continue
		}
		if id, err := strconv.ParseUint(string(fields[0]), 10, 64); err == nil {
			out[id] = unescape(fields[4])
		}
	}
	return out
}

// unescape undoes what the kernel does to blanks, backslashes and the like in mountinfo: a backslash and three octal
// digits.
func unescape(s []byte) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(string(s[i+1:i+4]), 8, 8); err == nil {
				out = append(out, byte(n))
				i += 3
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}
