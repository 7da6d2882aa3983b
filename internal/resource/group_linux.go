package resource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"substrat.dev/substrat"
)

// Group is the group of one turn, below those of its agent and the agent's ancestors. A nil Group, which Open gives
// without cgroups, bounds nothing and every method of it can be called.
type Group struct {
	support Support
	path    []Node
	fd      int // of the directory, for cgroup v2
	mu      sync.Mutex
	opened  []counts // of each level, the turn's last
	seen    []counts // at the last Hit
}

// openTries bounds how often a group is made anew because somebody who leaves has removed its parent as empty.
const openTries = 20

// Open makes the groups along path, root of the team first and turn last, with the limits of each.
func (s Support) Open(path []Node) (*Group, error) {
	for _, n := range path {
		if err := n.Limits.Check(); err != nil {
			return nil, err
		}
	}
	if s.Mode == ModeRlimits || s.Mode == "" {
		return nil, nil
	}
	if len(path) == 0 {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make a group: the path to the turn is empty")
	}
	g := &Group{support: s, path: slices.Clone(path), fd: -1}
	if err := g.make(); err != nil {
		g.Remove()
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot make the group of turn %s in %s: %v", path[len(path)-1].Name, s.Mode, err).
			WithHint("start the daemon again; if that does not help, `substrat doctor` says what this machine can bound")
	}
	for i := range path {
		g.opened = append(g.opened, g.counts(i))
	}
	g.seen = g.opened
	return g, nil
}

func (g *Group) make() (err error) {
	for range openTries {
		if err = g.makeOnce(); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, gone := os.Lstat(g.support.roots()[0]); gone != nil {
			return err
		}
	}
	return err
}

func (g *Group) makeOnce() error {
	s := g.support
	for i, n := range g.path {
		leaf := i == len(g.path)-1
		for _, root := range s.roots() {
			dir := filepath.Join(root, relative(g.path[:i+1]))
			if err := s.kernel().mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if s.Mode == ModeV2 && !leaf {
				if err := s.enable(dir); err != nil {
					return err
				}
			}
		}
		set := s.setV1
		if s.Mode == ModeV2 {
			set = s.setV2
		}
		if err := set(relative(g.path[:i+1]), n.Limits, leaf); err != nil {
			return err
		}
	}
	if s.Mode != ModeV2 {
		return nil
	}
	fd, err := unix.Open(g.dir("", len(g.path)-1), unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if g.fd >= 0 {
		unix.Close(g.fd)
	}
	g.fd = fd
	return nil
}

// dir is the directory of a level in a controller's hierarchy.
func (g *Group) dir(controller string, level int) string {
	return filepath.Join(g.support.root(controller), relative(g.path[:level+1]))
}

// leaves lists the turn's directory in each hierarchy.
func (g *Group) leaves() (dirs []string) {
	for _, root := range g.support.roots() {
		dirs = append(dirs, filepath.Join(root, relative(g.path)))
	}
	return dirs
}

// Fork calls fork, which starts a process with attr, so that the process is in the group before it runs.
//
// With cgroup v2 the kernel puts it there (CLONE_INTO_CGROUP). With v1 a process starts in the group of the thread that
// starts it, so the calling thread goes there and comes back; fork has to start the process on the calling goroutine.
// For that moment the thread counts as one of the turn's processes. Where the way back fails, an error says so and the
// process is killed: what the thread started next would be counted as the turn's.
func (g *Group) Fork(attr *syscall.SysProcAttr, fork func() (int, error)) (int, error) {
	if g == nil {
		return fork()
	}
	pid, err := g.forkOnce(attr, fork)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, errGone) {
		// A daemon that starts has swept the group away as one that nobody is in.
		if err := g.make(); err != nil {
			return 0, err
		}
		pid, err = g.forkOnce(attr, fork)
	}
	return pid, err
}

var errGone = errors.New("the group is gone")

func (g *Group) forkOnce(attr *syscall.SysProcAttr, fork func() (int, error)) (int, error) {
	if g.support.Mode == ModeV2 {
		attr.UseCgroupFD, attr.CgroupFD = true, g.fd
		return fork()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	homes, err := g.homes()
	if err != nil {
		return 0, err
	}
	var pid int
	entered := 0
	for _, dir := range g.leaves() {
		if err = write(dir, "tasks", 0); err != nil {
			err = fmt.Errorf("cannot enter the group %s: %w", dir, err)
			if _, statErr := os.Lstat(dir); statErr != nil {
				err = fmt.Errorf("%w: %w", errGone, err)
			}
			break
		}
		entered++
	}
	if err == nil {
		pid, err = fork()
	}
	for _, home := range homes[:entered] {
		if back := write(home, "tasks", 0); back != nil {
			if pid > 0 {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			// The thread has to end with its goroutine, not serve others: it keeps one lock.
			runtime.LockOSThread()
			return pid, fmt.Errorf("cannot leave the turn's group again: %w", back)
		}
	}
	return pid, err
}

// homes are the calling thread's own groups, in the order of the roots.
func (g *Group) homes() ([]string, error) {
	cgroup, err1 := os.ReadFile("/proc/thread-self/cgroup")
	mountinfo, err2 := os.ReadFile("/proc/self/mountinfo")
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("cannot read which cgroup this is: %w", err)
	}
	m := machine{cgroup: string(cgroup), mountinfo: string(mountinfo)}
	var homes []string
	for _, root := range g.support.roots() {
		for c, dir := range g.support.Roots {
			if dir != root {
				continue
			}
			home, err := m.ownDir("cgroup", c)
			if err != nil {
				return nil, err
			}
			homes = append(homes, home)
			break
		}
	}
	return homes, nil
}

// Usage is what the turn's processes hold and have used. A figure that the kernel does not have is 0.
type Usage struct {
	Memory     int64         `json:"memory"`
	MemoryPeak int64         `json:"memory_peak"`
	Processes  int           `json:"processes"`
	CPU        time.Duration `json:"cpu"`
}

// Usage reads the group's figures.
func (g *Group) Usage() (u Usage) {
	if g == nil {
		return u
	}
	last := len(g.path) - 1
	if g.support.Mode == ModeV2 {
		dir := g.dir("", last)
		u.Memory, _ = readInt(dir, "memory.current")
		u.MemoryPeak, _ = readInt(dir, "memory.peak")
		u.CPU = time.Duration(readCount(dir, "cpu.stat", "usage_usec")) * time.Microsecond
	} else {
		u.Memory, _ = readInt(g.dir("memory", last), "memory.usage_in_bytes")
		u.MemoryPeak, _ = readInt(g.dir("memory", last), "memory.max_usage_in_bytes")
	}
	n, _ := readInt(g.dir("pids", last), "pids.current")
	u.Processes = int(n)
	return u
}

// Kill kills every process of the group and waits until it is empty.
func (g *Group) Kill(ctx context.Context) error {
	if g == nil {
		return nil
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		if g.killOnce() == 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return substrat.Errorf(substrat.CodeTimeout, "cannot end the turn's group: a process in it does not die")
		case <-timer.C:
		}
	}
}

// killOnce gives the number of processes that it found.
func (g *Group) killOnce() int {
	dirs := g.leaves()
	if g.support.Mode == ModeV2 {
		n := len(readPids(dirs[0]))
		if n > 0 && write(dirs[0], "cgroup.kill", 1) != nil {
			n = killListed(dirs[0])
		}
		return n
	}
	// So that nobody starts more while they are killed.
	_ = write(g.dir("pids", len(g.path)-1), "pids.max", 0)
	n := 0
	for _, dir := range dirs {
		n += killListed(dir)
	}
	return n
}

// killListed holds each process by a descriptor before it reads the list again: what is then still listed is what the
// descriptor refers to, or that is dead.
func killListed(dir string) int {
	held := map[int]int{}
	first := readPids(dir)
	for _, pid := range first {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			held[pid] = fd
		}
		if len(held) >= 256 {
			break // the rest comes in the next round
		}
	}
	for _, pid := range readPids(dir) {
		if fd, ok := held[pid]; ok {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
	}
	for _, fd := range held {
		unix.Close(fd)
	}
	return len(first)
}

// Remove removes the turn's group, then each group above it that has become empty. It does nothing to one that still has
// processes, which Sweep finds later.
func (g *Group) Remove() {
	if g == nil {
		return
	}
	if g.fd >= 0 {
		unix.Close(g.fd)
		g.fd = -1
	}
	for _, root := range g.support.roots() {
		for rel := relative(g.path); rel != "."; rel = filepath.Dir(rel) {
			if g.support.kernel().rmdir(filepath.Join(root, rel)) != nil {
				break
			}
		}
	}
}

// String names the group for logs.
func (g *Group) String() string {
	if g == nil {
		return "no group"
	}
	return g.support.Mode + ":" + strings.Join(g.leaves(), ":")
}
