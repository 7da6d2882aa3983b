package resource

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// daemonLeaf is the group that a daemon goes to when its own group is to hold groups: a group of cgroup v2 with
// controllers for those below cannot hold processes. A unit of systemd names it too, DelegateSubgroup=substrat-daemon, so
// that the service manager starts the daemon there.
const daemonLeaf = "substrat-daemon"

// machine is what detection reads of the kernel.
type machine struct {
	cgroup    string // /proc/self/cgroup
	mountinfo string // /proc/self/mountinfo
	others    func(dir string) int
}

// Detect says what can bound the processes that the caller will start. It changes nothing. What it finds is true of the
// group that the caller runs in, so a doctor that runs elsewhere asks the daemon for its answer. root is a delegated
// directory of cgroup v2 that a person has configured; where it is empty the caller's own group decides.
func Detect(root string) Support {
	cgroup, err1 := os.ReadFile("/proc/self/cgroup")
	mountinfo, err2 := os.ReadFile("/proc/self/mountinfo")
	if err := errors.Join(err1, err2); err != nil {
		return rlimitsOnly("cannot read which cgroup this is: " + err.Error())
	}
	return machine{cgroup: string(cgroup), mountinfo: string(mountinfo), others: othersIn}.detect(root)
}

func rlimitsOnly(why string) Support {
	return Support{Mode: ModeRlimits, Detail: "memory, processes and disk are measured and CPU is not bounded, because " + why}
}

func (m machine) detect(root string) Support {
	v2, err := m.v2(root)
	if err == nil {
		return v2
	}
	v1, err1 := m.v1()
	if err1 == nil {
		v1.Detail += "; not cgroup v2, because " + err.Error()
		return v1
	}
	s := rlimitsOnly(err.Error() + ", and " + err1.Error())
	s.Detail += ". To have limits that the kernel enforces: run the daemon as a systemd service with Delegate=yes and DelegateSubgroup=" + daemonLeaf +
		", or in a scope of its own: systemd-run --user --scope -p Delegate=yes substrat daemon run"
	return s
}

func (m machine) v2(root string) (Support, error) {
	var own string
	if !kernelAtLeast(5, 7) {
		return Support{}, errors.New("a kernel before 5.7 cannot start a process in a group of cgroup v2")
	}
	if root == "" {
		var err error
		if own, err = m.ownDir("cgroup2", ""); err != nil {
			return Support{}, err
		}
		root = own
		if filepath.Base(own) == daemonLeaf {
			root = filepath.Dir(own)
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return Support{}, fmt.Errorf("%s is no group of cgroup v2", root)
	}
	offered := strings.Fields(string(data))
	s := Support{Mode: ModeV2, Roots: map[string]string{"": root}}
	for _, c := range []string{"cpu", "memory", "pids"} {
		if slices.Contains(offered, c) {
			s.Controllers = append(s.Controllers, c)
		}
	}
	if !s.has("memory") || !s.has("pids") {
		return s, fmt.Errorf("cgroup v2 offers %s only %s, not memory and pids", root, list(offered))
	}
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := unix.Access(filepath.Join(root, name), unix.W_OK); err != nil {
			return s, fmt.Errorf("the group %s is not delegated to this user", root)
		}
	}
	if root == own && !isTop(own) {
		if n := m.others(own); n > 0 {
			return s, fmt.Errorf("%d other processes share the group %s", n, own)
		}
		s.self = filepath.Join(own, daemonLeaf)
	}
	s.Detail = "limits by cgroup v2 with " + list(s.Controllers) + " below " + root
	return s, nil
}

// isTop says whether dir is the root of the whole machine, which may hold processes beside groups.
func isTop(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "cgroup.type"))
	return errors.Is(err, os.ErrNotExist)
}

func (m machine) v1() (Support, error) {
	s := Support{Mode: ModeV1, Roots: map[string]string{}}
	for _, c := range []string{"cpu", "memory", "pids"} {
		dir, err := m.ownDir("cgroup", c)
		if err == nil {
			err = usableV1(dir, c)
		}
		if err != nil && c != "cpu" {
			return s, err
		}
		if err == nil {
			s.Controllers, s.Roots[c] = append(s.Controllers, c), dir
		}
	}
	s.Detail = "limits by cgroup v1 with " + list(s.Controllers)
	return s, nil
}

func usableV1(dir, controller string) error {
	for _, name := range []string{"", "tasks"} {
		if err := unix.Access(filepath.Join(dir, name), unix.W_OK); err != nil {
			return fmt.Errorf("the group %s of cgroup v1 cannot be written", dir)
		}
	}
	if controller == "memory" {
		if v, err := readInt(dir, "memory.use_hierarchy"); err == nil && v != 1 {
			return fmt.Errorf("the group %s of cgroup v1 does not count what is below it (memory.use_hierarchy)", dir)
		}
	}
	return nil
}

// ownDir gives the directory of the process's group: of cgroup v2, or of the cgroup v1 hierarchy with the controller.
func (m machine) ownDir(fstype, controller string) (string, error) {
	what := "cgroup v2"
	if controller != "" {
		what = "the controller " + controller + " of cgroup v1"
	}
	path, ok := ownPath(m.cgroup, controller)
	if !ok {
		return "", fmt.Errorf("this process has no group in %s", what)
	}
	for line := range strings.Lines(m.mountinfo) {
		// 36 35 98:0 /root /mount/point options … - type source superoptions
		front, back, ok := strings.Cut(line, " - ")
		f, b := strings.Fields(front), strings.Fields(back)
		if !ok || len(f) < 5 || len(b) < 3 || b[0] != fstype {
			continue
		}
		if controller != "" && !slices.Contains(strings.Split(b[2], ","), controller) {
			continue
		}
		root, point := unescape(f[3]), unescape(f[4])
		rel, below := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
		if !below || rel != "" && rel[0] != '/' || strings.HasPrefix(path, "/..") {
			continue
		}
		return filepath.Join(point, rel), nil
	}
	return "", fmt.Errorf("%s is not mounted here", what)
}

// ownPath reads lines of the form 4:memory,cpu:/path, and 0::/path for cgroup v2.
func ownPath(cgroup, controller string) (string, bool) {
	for line := range strings.Lines(cgroup) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		if controller == "" && f[0] == "0" && f[1] == "" || controller != "" && slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2], true
		}
	}
	return "", false
}

// unescape undoes mountinfo's octal for blanks.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// othersIn counts the processes of a group that are neither the caller nor started by it.
func othersIn(dir string) int {
	ours, n := NewTree(os.Getpid()).Pids(), 0
	for _, pid := range readPids(dir) {
		if pid != os.Getpid() && !slices.Contains(ours, pid) {
			n++
		}
	}
	return n
}

func list(words []string) string {
	switch len(words) {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
