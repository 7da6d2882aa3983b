package resource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A turn's start writes some twenty of these files and reads some ten, so they are opened without what os.File does for files
// that one waits for, which is some two fifths of the time.

// write sets one of a group's files.
func write(dir, file string, value any) error {
	path := filepath.Join(dir, file)
	fd, err := openFile(path, unix.O_WRONLY|unix.O_TRUNC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, fmt.Append(nil, value)); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

func openFile(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err == nil {
			return fd, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// readShort reads a file of a few lines.
func readShort(dir, file string) (string, error) {
	path := filepath.Join(dir, file)
	fd, err := openFile(path, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var buf [4096]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return "", &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return string(buf[:n]), nil
}

// readInt reads a file of one number; "max" is -1.
func readInt(dir, file string) (int64, error) {
	text, err := readShort(dir, file)
	if err != nil {
		return 0, err
	}
	text = strings.TrimSpace(text)
	if text == "max" {
		return -1, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// readCount reads one line of a file of names and numbers, 0 where it is not there.
func readCount(dir, file, name string) int64 {
	text, err := readShort(dir, file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			// A unit can follow.
			for word := range strings.FieldsSeq(value) {
				n, _ := strconv.ParseInt(word, 10, 64)
				return n
			}
		}
	}
	return 0
}

// readPids lists the processes of a group.
func readPids(dir string) (pids []int) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	for word := range strings.FieldsSeq(string(data)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
