package resource

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeKernel gives a directory the files that a group of cgroup v2 has, and takes them with it.
type fakeKernel struct{ t *testing.T }

var fakeFiles = map[string]string{
	"cgroup.procs": "", "cgroup.subtree_control": "", "cgroup.controllers": "cpu memory pids", "cgroup.type": "domain", "cgroup.kill": "",
	"memory.max": "max", "memory.swap.max": "max", "memory.oom.group": "0", "memory.events": "oom 0\noom_kill 0\n", "memory.peak": "0", "memory.current": "0",
	"pids.max": "max", "pids.current": "0", "pids.peak": "0", "pids.events": "max 0\n", "cpu.max": "max 100000", "cpu.weight": "100",
	"cpu.stat": "usage_usec 1500\n",
}

func (k fakeKernel) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, text := range fakeFiles {
		put(k.t, dir, name, text)
	}
	return nil
}

func (k fakeKernel) rmdir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(readPids(dir)) > 0 || slices.ContainsFunc(entries, os.DirEntry.IsDir) {
		return fmt.Errorf("%s is busy", dir)
	}
	return os.RemoveAll(dir)
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, dir, name, want string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(data) != want {
		t.Errorf("%s of %s is %q, want %q (%v)", name, filepath.Base(dir), data, want, err)
	}
}

// fakeV2 is a machine whose process is in the group at own, below a mount point of its own.
func fakeV2(t *testing.T, own string) (machine, string) {
	t.Helper()
	mount := filepath.Join(t.TempDir(), "mount point")
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := mount
	for _, name := range strings.Split(strings.Trim(own, "/"), "/") {
		dir = filepath.Join(dir, name)
		if err := (fakeKernel{t}).mkdir(dir); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, "cgroup.procs", fmt.Sprintln(os.Getpid()))
	return machine{
		cgroup:    "0::" + own + "\n",
		mountinfo: "30 20 0:26 / " + strings.ReplaceAll(mount, " ", `\040`) + " rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
		others:    func(string) int { return 0 },
	}, dir
}

func TestV2InFakeTree(t *testing.T) {
	m, own := fakeV2(t, "/user.slice/substrat.service")
	s := m.detect("")
	if s.Mode != ModeV2 || !slices.Equal(s.Controllers, []string{"cpu", "memory", "pids"}) || s.Roots[""] != own {
		t.Fatalf("detected %+v", s)
	}
	s.files = fakeKernel{t}
	s = s.Prepare("one")
	if s.Mode != ModeV2 {
		t.Fatal(s.Detail)
	}
	has(t, filepath.Join(own, daemonLeaf), "cgroup.procs", fmt.Sprint(os.Getpid()))
	has(t, own, "cgroup.subtree_control", "+pids") // the last of three writes
	base := filepath.Join(own, "substrat-one")
	has(t, base, "cgroup.subtree_control", "+pids")

	l := Limits{Memory: 1 << 30, Processes: 64, CPUPercent: 150, CPUWeight: 30}
	g, err := s.Open([]Node{{Name: "memory.max", Limits: Limits{Memory: 2 << 30, Processes: 100}}, {Name: "t1", Limits: l}})
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(base, "g-memory%2emax")
	leaf := filepath.Join(agent, "g-t1")
	for name, want := range map[string]string{"memory.max": "1073741824", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "64",
		"cpu.max": "150000 100000", "cpu.weight": "30", "cgroup.subtree_control": ""} {
		has(t, leaf, name, want)
	}
	for name, want := range map[string]string{"memory.max": "2147483648", "memory.oom.group": "0", "cpu.max": "max 100000", "cpu.weight": "100", "cgroup.subtree_control": "+pids"} {
		has(t, agent, name, want)
	}
	if r, hit := g.Hit(); hit {
		t.Errorf("hit %+v", r)
	}
	hits(t, g, agent, leaf)
	if u := g.Usage(); u.CPU != 1500*time.Microsecond || u.MemoryPeak != 1<<30 {
		t.Errorf("usage %+v", u)
	}
	g.Remove()
	if _, err := os.Stat(agent); err == nil {
		t.Error("the groups are still there")
	}
	if err := s.Discard(); err != nil {
		t.Error(err)
	}
}

func hits(t *testing.T, g *Group, agent, leaf string) {
	t.Helper()
	put(t, leaf, "memory.peak", "1073741824")
	put(t, leaf, "memory.events", "low 0\noom 1\noom_kill 1\n")
	put(t, agent, "memory.events", "oom 1\noom_kill 1\n")
	if r, hit := g.Hit(); !hit || r.What != WhatMemory || r.Of != "" || r.Limit != 1<<30 {
		t.Errorf("hit %v %+v", hit, r)
	}
	if r, hit := g.Hit(); hit {
		t.Errorf("told twice: %+v", r)
	}
	// A neighbour in the subtree lost a process: that is its own affair.
	put(t, agent, "memory.events", "oom 2\noom_kill 2\n")
	if r, hit := g.Hit(); hit {
		t.Errorf("blamed for its neighbour: %+v", r)
	}
	put(t, leaf, "pids.events", "max 3\n")
	put(t, leaf, "pids.peak", "64")
	if r, hit := g.Hit(); !hit || r.What != WhatProcesses || r.Limit != 64 {
		t.Errorf("hit %v %+v", hit, r)
	}
	// The subtree is full: newer kernels count that above the turn only.
	put(t, leaf, "pids.peak", "50")
	put(t, leaf, "pids.current", "50")
	put(t, agent, "pids.current", "100")
	put(t, agent, "pids.events", "max 1\n")
	if r, hit := g.Hit(); !hit || r.Of != "memory.max" || r.Limit != 100 {
		t.Errorf("hit %v %+v", hit, r)
	}
	put(t, agent, "pids.events", "max 2\n")
	put(t, agent, "pids.current", "60")
	if r, hit := g.Hit(); hit {
		t.Errorf("blamed when there is room again: %+v", r)
	}
}

func TestV2IsNotTakenWhereItDoesNotWork(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(m *machine, own string)
		why   string
	}{
		"controllers missing": {func(_ *machine, own string) { put(t, own, "cgroup.controllers", "cpu hugetlb") }, "only cpu and hugetlb, not memory and pids"},
		"others in the group": {func(m *machine, _ string) { m.others = func(string) int { return 2 } }, "2 other processes share the group"},
		"file missing":        {func(_ *machine, own string) { os.Remove(filepath.Join(own, "cgroup.subtree_control")) }, "not delegated"},
		"outside the mount":   {func(m *machine, _ string) { m.cgroup = "0::/../elsewhere\n" }, "not mounted"},
		"no line":             {func(m *machine, _ string) { m.cgroup = "nonsense\n:\n1:memory\n" }, "no group in cgroup v2"},
	} {
		t.Run(name, func(t *testing.T) {
			m, own := fakeV2(t, "/a")
			c.spoil(&m, own)
			s := m.detect("")
			if s.Mode != ModeRlimits || !strings.Contains(s.Detail, c.why) || !strings.Contains(s.Detail, "Delegate=yes") {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A kernel that refuses what looked possible costs the bounds, not the daemon.
func TestPrepareFallsBack(t *testing.T) {
	m, own := fakeV2(t, "/a")
	s := m.detect("")
	s.files = fakeKernel{t}
	os.Remove(filepath.Join(own, "cgroup.subtree_control"))
	if s = s.Prepare("one"); s.Mode != ModeRlimits || s.Detail == "" {
		t.Errorf("%+v", s)
	}
	g, err := s.Open(team("t", Limits{Memory: 1}))
	if g != nil || err != nil {
		t.Errorf("a group without cgroups: %v, %v", g, err)
	}
	if pid, err := g.Fork(nil, func() (int, error) { return 7, nil }); pid != 7 || err != nil {
		t.Error(pid, err)
	}
	g.Remove()
}

// A daemon that its service manager has put into the leaf finds the group above it.
func TestV2DaemonInItsLeaf(t *testing.T) {
	m, own := fakeV2(t, "/substrat.service/"+daemonLeaf)
	if s := m.detect(""); s.Mode != ModeV2 || s.Roots[""] != filepath.Dir(own) || s.self != "" {
		t.Errorf("%+v", s)
	}
}

// The mechanisms of cgroup v2 that need no controller are tried on the real kernel wherever a hierarchy is mounted.
func TestV2OnRealKernel(t *testing.T) {
	cgroup, _ := os.ReadFile("/proc/self/cgroup")
	mountinfo, _ := os.ReadFile("/proc/self/mountinfo")
	root, err := machine{cgroup: string(cgroup), mountinfo: string(mountinfo)}.ownDir("cgroup2", "")
	if err != nil {
		t.Skip(err)
	}
	s := Support{Mode: ModeV2, Roots: map[string]string{"": root}}.Prepare(fmt.Sprint("test-", os.Getpid()))
	if s.Mode != ModeV2 {
		t.Skip(s.Detail)
	}
	t.Cleanup(func() {
		s.Sweep()
		if err := s.Discard(); err != nil {
			t.Error(err)
		}
	})
	a, b := open(t, s, team("a", Limits{})...), open(t, s, team("b", Limits{})...)
	exe := binary(t)
	bad, good := start(t, a, nil, exe, "bomb", "30"), start(t, b, nil, exe, "wait", "0")
	bad.says("done")
	data, _ := os.ReadFile(filepath.Join("/proc", itoa(bad.pid), "cgroup"))
	if !strings.Contains(string(data), "/g-tasks/g-a\n") {
		t.Errorf("the process is not in its group:\n%s", data)
	}
	if left := s.Sweep(); len(left) != 2 {
		t.Errorf("running: %q", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := a.Kill(ctx); err != nil {
		t.Error(err)
	}
	bad.ended(time.Second)
	if len(readPids(b.leaves()[0])) != 1 || good.pid == 0 {
		t.Error("its sibling was killed too")
	}
	reap()
	a.Remove()
	if left := s.Sweep(); len(left) != 1 || left[0] != "b" {
		t.Errorf("running: %q", left)
	}
}
