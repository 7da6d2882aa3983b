package resource

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// write sets one of a group's files.
func write(dir, file string, value any) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(fmt.Sprint(value))
	return err
}

// readInt reads a file of one number; "max" is -1.
func readInt(dir, file string) (int64, error) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(data))
	if text == "max" {
		return -1, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// readCount reads one line of a file of names and numbers, 0 where it is not there.
func readCount(dir, file, name string) int64 {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
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
