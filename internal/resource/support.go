package resource

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The mechanisms, best first.
const (
	ModeV2      = "cgroup v2"
	ModeV1      = "cgroup v1"
	ModeRlimits = "rlimits"
)

// Support is the mechanism in force. The daemon gets it from [Detect], makes it ready with Prepare and hands it to each
// turn's supervisor, as JSON if it likes.
type Support struct {
	Mode string `json:"mode"`
	// Roots gives the directory below which groups are made, by controller. With cgroup v2 it is one for all, at "".
	Roots map[string]string `json:"roots,omitempty"`
	// Controllers that can bound something: of "cpu", "memory", "pids".
	Controllers []string `json:"controllers,omitempty"`
	// Detail is for a person: what is bounded by what, and why there is nothing better.
	Detail string `json:"detail"`

	// self is where Prepare puts the daemon, in cgroup v2 where its own group cannot hold both it and groups.
	self string
	// files stands for the kernel in tests.
	files kernelFiles
}

// kernelFiles makes and removes groups. A real group has its files as soon as it is made and loses them with its end.
type kernelFiles interface {
	mkdir(dir string) error
	rmdir(dir string) error
}

type realFiles struct{}

func (realFiles) mkdir(dir string) error { return os.Mkdir(dir, 0o755) }
func (realFiles) rmdir(dir string) error { return rmdir(dir) }

func (s Support) kernel() kernelFiles {
	if s.files == nil {
		return realFiles{}
	}
	return s.files
}

func (s Support) has(controller string) bool { return slices.Contains(s.Controllers, controller) }

// root is the directory for a controller's groups.
func (s Support) root(controller string) string {
	if s.Mode == ModeV2 {
		return s.Roots[""]
	}
	return s.Roots[controller]
}

// roots lists each directory once: controllers of cgroup v1 can share a hierarchy.
func (s Support) roots() []string {
	var dirs []string
	for _, dir := range s.Roots {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// groupPrefix keeps the names of groups apart from those of the kernel's files, and shows Sweep what is ours.
const groupPrefix = "g-"

// groupName makes any name one of a directory. Different names stay different.
func groupName(name string) string {
	var b strings.Builder
	b.WriteString(groupPrefix)
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			const digits = "0123456789abcdef"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func relative(path []Node) string {
	var names []string
	for _, n := range path {
		names = append(names, groupName(n.Name))
	}
	return filepath.Join(names...)
}
