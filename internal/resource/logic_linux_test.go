package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// A breach is told once, whoever else sees one too, and Stop waits.
func TestWatchTellsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(after time.Duration, what string) sampler {
			began := time.Now()
			return sampler{quiet: time.Second, check: func(context.Context) (Reason, bool, bool) {
				return Reason{What: what}, time.Since(began) >= after, true
			}}
		}
		w := watch(nil, []sampler{at(time.Second, "first"), at(3*time.Second, "second")})
		if r := <-w.Over(); r.What != "first" {
			t.Errorf("told %+v", r)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if r, again := w.Stop(); again {
			t.Errorf("told again: %+v", r)
		}
	})
}

func TestStopGivesWhatNobodyTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(nil, []sampler{{quiet: time.Second, check: func(context.Context) (Reason, bool, bool) { return Reason{What: "x"}, true, true }}})
		synctest.Wait()
		if r, hit := w.Stop(); !hit || r.What != "x" {
			t.Errorf("%v %+v", hit, r)
		}
	})
}

// A turn that does nothing costs less, and one that goes on is looked at often again.
func TestWatchBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var samples atomic.Int64
		var changing atomic.Bool
		w := watch(nil, []sampler{{quiet: time.Second, check: func(context.Context) (Reason, bool, bool) {
			samples.Add(1)
			return Reason{}, false, changing.Load()
		}}})
		defer w.Stop()
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if n := samples.Swap(0); n < 15 || n > 20 {
			t.Errorf("%d samples in 12 quiet seconds", n)
		}
		changing.Store(true)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if n := samples.Load(); n < 38 {
			t.Errorf("%d samples in 11 busy seconds", n)
		}
	})
}

func TestMeterLooksCloserOnlyWhenNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, used, looks := rough{processes: 3, upper: 400}, int64(100), 0
		m := &meter{limits: Limits{Memory: 1000, Processes: 10}, read: readings{
			rough:  func() rough { return now },
			closer: func() int64 { looks++; time.Sleep(time.Millisecond); return used },
		}}
		step := func(what string, wantLooks int, want string) {
			t.Helper()
			looks = 0
			if r, hit, _ := m.check(t.Context()); hit != (want != "") || r.What != want || looks != wantLooks {
				t.Errorf("%s: %d looks, %v %+v", what, looks, hit, r)
			}
		}
		step("room", 0, "")
		now.upper = 1500
		step("pages that are shared count double", 1, "")
		step("nothing new", 0, "")
		now.upper = 1700
		step("more", 1, "")
		time.Sleep(closerMost)
		step("time has passed: pages may no longer be shared", 1, "")
		now.upper, now.shared = 400, 200
		step("files in memory have grown", 1, "")
		step("and no further", 0, "")
		now.upper, used = 1900, 1001
		step("too much", 1, WhatMemory)
		now, used = rough{processes: 11}, 0
		step("too many", 0, WhatProcesses)
	})
}

func TestDiskWalksOnlyWhenNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		var walks int
		var large bool
		now, found := space{free: 1000 * mib, files: 1 << 20}, extent{all: 10 * mib}
		fake := diskReadings{
			space: func() (space, error) { return now, nil },
			walk: func(_ context.Context, most int) (extent, error) {
				walks++
				if most > 0 && large {
					return extent{}, errTooMany
				}
				return found, nil
			},
		}
		d := &disk{read: fake}
		step := func(what string, wantWalks int, want bool) {
			t.Helper()
			walks = 0
			if r, hit, _ := d.check(t.Context()); hit != want || walks != wantWalks {
				t.Errorf("%s: %d walks, %v %+v", what, walks, hit, r)
			}
			time.Sleep(time.Millisecond)
		}
		d.limit = DiskLimit{Bytes: 90 * mib, What: "home"}
		step("the start", 0, false)
		step("the first time", 1, false)
		step("nothing lost", 0, false)
		now.free -= 9 * mib
		step("less than an eighth lost", 0, false)
		now.free -= 2 * mib
		step("more than an eighth lost", 1, false)
		now.free += 500 * mib
		step("a neighbour gives much back", 0, false)
		now.free -= 11 * mib
		step("what is written after that counts", 1, false)
		found.all = 91 * mib
		now.free -= 80 * mib
		step("over", 1, true)

		d = &disk{read: fake, limit: DiskLimit{Bytes: 90 * mib, What: "workspace", Growth: true}}
		found = extent{all: 500 * mib, changed: 2 * mib}
		step("exact growth: the start", 1, false)
		now.free += 400 * mib
		step("exact growth: a neighbour gives much back", 0, false)
		now.free -= 80 * mib
		found = extent{all: 580 * mib, changed: 300 * mib}
		step("exact growth: most of it is rebuilt", 1, false)
		now.free -= 9 * mib
		found.all += 9 * mib
		step("exact growth", 1, true)

		large = true
		d = &disk{read: fake, limit: DiskLimit{Bytes: 90 * mib, What: "workspace", Growth: true}}
		found = extent{all: 5000 * mib}
		step("growth: the start", 1, false)
		step("growth: the first time", 0, false)
		now.free -= 89 * mib
		step("growth: it cannot be", 0, false)
		now.free -= 2 * mib
		step("growth: a neighbour's", 1, false)
		found.changed = 200 * mib
		now.free -= 20 * mib
		step("growth", 1, true)
		if d.size != 111*mib {
			t.Errorf("the turn is said to have added %s; the file system has lost 111 MiB", size(d.size))
		}

		d = &disk{read: fake, limit: DiskLimit{Bytes: 4 * mib, What: "workspace", Growth: true}}
		step("inodes: the start", 1, false)
		now.files -= 2000
		step("inodes", 1, true)

		now.blind = true
		d = &disk{read: fake, limit: DiskLimit{Bytes: 300 * mib, What: "workspace", Growth: true}}
		step("blind: the start", 1, false)
		step("blind", 1, false)
		found.changed = 301 * mib
		step("blind, over", 1, true)

		d.read.space = func() (space, error) { return space{}, errors.New("not there") }
		step("not there", 0, false)
	})
}

func TestWalk(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	file := func(path string, n int) {
		t.Helper()
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, make([]byte, n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file(filepath.Join(elsewhere, "big"), 8<<20)
	file(filepath.Join(dir, "a/one"), 1<<20)
	os.Link(filepath.Join(dir, "a/one"), filepath.Join(dir, "a/two"))
	os.Symlink(elsewhere, filepath.Join(dir, "out"))
	os.Symlink(filepath.Join(elsewhere, "big"), filepath.Join(dir, "big"))
	os.Symlink(dir, filepath.Join(dir, "a/loop"))
	sparse, _ := os.Create(filepath.Join(dir, "sparse"))
	sparse.Truncate(1 << 40)
	sparse.Close()
	measure := func() extent {
		t.Helper()
		d := &diskRoot{path: dir, fd: -1}
		defer d.close()
		if _, err := d.space(); err != nil {
			t.Fatal(err)
		}
		e, err := d.walk(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := measure(); e.all < 1<<20 || e.all > 1<<20+64<<10 || e.changed != 0 || e.hidden {
		t.Errorf("found %+v", e)
	}
	deep := dir
	for range mostDepth + 2 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if e := measure(); !e.hidden {
		t.Errorf("nobody sees what is nested too deep: %+v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &diskRoot{path: dir, fd: -1}
	defer d.close()
	d.space()
	if _, err := d.walk(t.Context(), 100); !errors.Is(err, errTooMany) {
		t.Errorf("a walk of too many entries gave %v", err)
	}
	if _, err := d.walk(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a walk that is to stop gave %v", err)
	}
}

func TestGroupNames(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"a", "A", "a.b", "a/b", "..", ".", "", "tasks", "memory.max", "a%2eb", "ä", "\x00", "g-a", "a\nb"} {
		dir := groupName(name)
		if strings.ContainsAny(dir, "/.\x00\n") || !strings.HasPrefix(dir, groupPrefix) {
			t.Errorf("%q becomes %q", name, dir)
		}
		if other, ok := seen[dir]; ok {
			t.Errorf("%q and %q are both %q", name, other, dir)
		}
		seen[dir] = name
		if back := nodeName(dir); back != name {
			t.Errorf("%q comes back as %q", name, back)
		}
	}
}

func FuzzOwnDir(f *testing.F) {
	f.Add("0::/a\n4:memory,cpu:/b\n", "30 20 0:26 / /sys/fs\\040x rw - cgroup2 cgroup2 rw\n31 20 0:27 /b /m rw - cgroup cgroup rw,memory\n")
	f.Add("0::/..\n:::\n", `\0 \400 \777 \04 - cgroup2 a b`)
	f.Fuzz(func(t *testing.T, cgroup, mountinfo string) {
		m := machine{cgroup: cgroup, mountinfo: mountinfo}
		for _, c := range []string{"", "memory"} {
			if dir, err := m.ownDir(map[bool]string{true: "cgroup2", false: "cgroup"}[c == ""], c); err == nil && dir == "" {
				t.Error("no directory and no error")
			}
		}
	})
}

func FuzzNodeName(f *testing.F) {
	f.Add("g-a%2e")
	f.Add("%zz%")
	f.Fuzz(func(t *testing.T, dir string) { _ = nodeName(dir) })
}

func TestRlimits(t *testing.T) {
	l := Limits{Processes: 5, OpenFiles: 6, FileSize: 7}
	for _, c := range []struct {
		mode  string
		own   bool
		nproc bool
	}{{ModeRlimits, true, true}, {ModeRlimits, false, false}, {ModeV1, true, false}, {ModeV2, true, false}} {
		got := fmt.Sprint(l.Rlimits(c.mode, c.own))
		if strings.Contains(got, fmt.Sprintf("{%d 5}", unix.RLIMIT_NPROC)) != c.nproc || !strings.Contains(got, fmt.Sprintf("{%d 0}", unix.RLIMIT_CORE)) ||
			!strings.Contains(got, fmt.Sprintf("{%d 6}", unix.RLIMIT_NOFILE)) || !strings.Contains(got, fmt.Sprintf("{%d 7}", unix.RLIMIT_FSIZE)) {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for release, want := range map[string]bool{"5.14.0": true, "5.13.9-x": false, "6.1": true, "5.14-rc1": true, "4.19.0": false, "": false, "x.y": false} {
		if releaseAtLeast(release, 5, 14) != want {
			t.Errorf("%q: %v", release, !want)
		}
	}
}

func TestLimitsAndTexts(t *testing.T) {
	for _, l := range []Limits{{Memory: -1}, {Processes: -1}, {CPUWeight: 10001}, {Disk: []DiskLimit{{Path: "relative", What: "x"}}}} {
		if l.Check() == nil {
			t.Errorf("%+v is taken", l)
		}
		if _, err := (Support{Mode: ModeV2}).Open([]Node{{Name: "x", Limits: l}}); err == nil {
			t.Errorf("a group with %+v is made", l)
		}
	}
	if n := (Limits{Memory: 4 << 30}).TmpBytes(); n != 1<<30 {
		t.Error(n)
	}
	if n := (Limits{}).TmpBytes(); n != 0 {
		t.Error(n)
	}
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 4 << 30: "4 GiB", 4402341478: "4.1 GiB", 1 << 62: "4096 PiB"} {
		if got := size(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
	want := "the turn was ended: its processes used 4.1 GiB of memory; the limit is 4 GiB (limit in substrat.toml: [resources] memory)"
	if got := memoryReason(Node{}, "", 4<<30, 4402341478).Text; got != want {
		t.Error(got)
	}
	s := Support{Mode: ModeV1, Roots: map[string]string{"memory": "/a"}, Controllers: []string{"memory"}, Detail: "x"}
	data, _ := json.Marshal(s)
	var back Support
	if err := json.Unmarshal(data, &back); err != nil || fmt.Sprint(back) != fmt.Sprint(s) {
		t.Errorf("%s: %+v", data, back)
	}
}

func TestDetectHere(t *testing.T) {
	s := Detect("")
	t.Logf("uid %d: %+v", os.Geteuid(), s)
	if s.Mode == "" || s.Detail == "" {
		t.Errorf("%+v", s)
	}
	if s := Detect("/proc"); s.Mode == ModeV2 || !strings.Contains(s.Detail, "/proc is no group") {
		t.Errorf("a directory that is no group: %+v", s)
	}
}

// The measurement of a tree of 50 processes costs less than one part in a hundred of a core.
func TestWatchCost(t *testing.T) {
	v := start(t, nil, nil, binary(t), "bomb", "49")
	v.says("done")
	tree := NewTree(v.pid)
	m := newMeter(Limits{Memory: 1 << 40, Processes: 1 << 20}, tree.Pids)
	m.check(t.Context())
	before := cpuOfSelf()
	const n = 64
	for range n {
		m.check(t.Context())
	}
	each := (cpuOfSelf() - before) / n
	share := float64(each) / float64(sampleTime)
	t.Logf("%v for each sample of %d processes: %.2f %% of a core", each, m.last.processes, 100*share)
	if raceTime == 0 && share > 0.01 {
		t.Errorf("a sample costs %v, %.2f %% of a core", each, 100*share)
	}
}

func cpuOfSelf() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
