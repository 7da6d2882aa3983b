// Package memory tells how much memory is left to start processes with. It owns the reading of two kernel interfaces and
// decides nothing.
package memory

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Free is how many bytes the machine could give to new processes without swapping, or the control group this process is
// in, or one above it, if that leaves less. It is false where that cannot be known, as on macOS.
func Free() (uint64, bool) { return free("/proc", "/sys/fs/cgroup") }

func free(proc, cgroups string) (uint64, bool) {
	left, ok := available(filepath.Join(proc, "meminfo"))
	if !ok {
		return 0, false
	}
	return min(left, room(cgroups, own(filepath.Join(proc, "self/cgroup")))), true
}

// available reads MemAvailable: what is free, and what caches would give back.
func available(path string) (uint64, bool) {
	for line := range strings.Lines(read(path)) {
		rest, ok := strings.CutPrefix(line, "MemAvailable:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil || kb > math.MaxUint64/1024 {
			return 0, false
		}
		return kb * 1024, true
	}
	return 0, false
}

// own is the path of this process's group in the unified hierarchy, "/" if it has none.
func own(path string) string {
	for line := range strings.Lines(read(path)) {
		if group, ok := strings.CutPrefix(line, "0::"); ok {
			return filepath.Clean("/" + strings.TrimSpace(group))
		}
	}
	return "/"
}

// room is the least that a group and those above it leave. The page cache counts as used there, but the kernel takes it
// back before it refuses memory: so the part of it that is not in use is counted as left.
func room(root, group string) uint64 {
	least := uint64(math.MaxUint64)
	for {
		dir := filepath.Join(root, group)
		most, limited := number(filepath.Join(dir, "memory.max"))
		if high, ok := number(filepath.Join(dir, "memory.high")); ok && (!limited || high < most) {
			most, limited = high, true
		}
		if used, ok := number(filepath.Join(dir, "memory.current")); ok && limited {
			used -= min(used, stat(filepath.Join(dir, "memory.stat"), "inactive_file"))
			least = min(least, most-min(most, used))
		}
		if group == "/" || group == "." {
			return least
		}
		group = filepath.Dir(group)
	}
}

// number reads a file of one number. "max" is none.
func number(path string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(read(path)), 10, 64)
	return n, err == nil
}

// stat reads one figure of a list of names and figures, 0 if it is not there.
func stat(path, name string) uint64 {
	for line := range strings.Lines(read(path)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == name {
			n, _ := strconv.ParseUint(value, 10, 64)
			return n
		}
	}
	return 0
}

// read gives a small file's text, nothing if it cannot be read.
func read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}
