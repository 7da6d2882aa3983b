package resource

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Rlimit is one limit of a process and what it starts, soft and hard alike.
type Rlimit struct {
	Resource int    `json:"resource"` // as setrlimit(2) numbers it
	Value    uint64 `json:"value"`
}

// Rlimits gives the limits that a process sets for itself just before it becomes the agent. Core dumps are off: they hold
// whatever the process had in memory.
//
// The number of processes is among them only where nothing better bounds it and where the process has a user namespace
// of its own: since Linux 5.14 the kernel counts per user and namespace, so that the limit is of the sandbox. Elsewhere
// all that the user runs would count. For root it bounds nothing, whatever the namespace; the [Watch] does.
func (l Limits) Rlimits(mode string, ownUserNamespace bool) []Rlimit {
	limits := []Rlimit{{unix.RLIMIT_CORE, 0}}
	if l.OpenFiles > 0 {
		limits = append(limits, Rlimit{unix.RLIMIT_NOFILE, uint64(l.OpenFiles)})
	}
	if l.FileSize > 0 {
		limits = append(limits, Rlimit{unix.RLIMIT_FSIZE, uint64(l.FileSize)})
	}
	if l.Processes > 0 && mode == ModeRlimits && ownUserNamespace && kernelAtLeast(5, 14) {
		limits = append(limits, Rlimit{unix.RLIMIT_NPROC, uint64(l.Processes)})
	}
	return limits
}

func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	return releaseAtLeast(unix.ByteSliceToString(u.Release[:]), major, minor)
}

func releaseAtLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	second := rest
	if end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		second = rest[:end]
	}
	a, err1 := strconv.Atoi(first)
	b, err2 := strconv.Atoi(second)
	return err1 == nil && err2 == nil && (a > major || a == major && b >= minor)
}
