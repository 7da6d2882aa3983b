package resource

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kernelModes runs a test with whichever kind of cgroup this machine gives to this process.
func kernelModes(t *testing.T, test func(t *testing.T, s Support)) {
	for _, mode := range []string{ModeV2, ModeV1} {
		t.Run(mode, func(t *testing.T) { test(t, prepared(t, mode)) })
	}
}

func team(turn string, l Limits) []Node {
	return []Node{{Name: "team.root"}, {Name: "tasks"}, {Name: turn, Limits: l}}
}

// breach waits for the watch's word.
func breach(t *testing.T, w *Watch, within time.Duration) Reason {
	t.Helper()
	select {
	case r := <-w.Over():
		t.Log(r.Text)
		return r
	case <-time.After(within):
		t.Fatal("the watch has noticed nothing")
		return Reason{}
	}
}

func TestMemoryHogDiesAlone(t *testing.T) {
	kernelModes(t, func(t *testing.T, s Support) {
		l := Limits{Memory: 50 << 20}
		bad, good := open(t, s, team("t1", l)...), open(t, s, team("t2", l)...)
		w := NewWatch(l, nil, bad)
		defer w.Stop()
		sibling := start(t, good, nil, binary(t), "hog", "10")
		sibling.says("done")
		v := start(t, bad, nil, binary(t), "hog", "200")
		if ws := v.ended(10 * time.Second); !ws.Signaled() {
			t.Errorf("it was not killed: %v, %s", ws, v.text.String())
		}
		r := breach(t, w, 2*time.Second)
		if r.What != WhatMemory || r.Of != "" || r.Limit != 50<<20 || !strings.Contains(r.Text, "50 MiB") {
			t.Errorf("reason %+v", r)
		}
		if r, hit := good.Hit(); hit {
			t.Errorf("its sibling is blamed: %+v", r)
		}
		if u := good.Usage(); u.Memory < 10<<20 || u.Processes < 1 {
			t.Errorf("its sibling's usage is %+v", u)
		}
	})
}

func TestForkBombIsRefused(t *testing.T) {
	kernelModes(t, func(t *testing.T, s Support) {
		l := Limits{Processes: 100}
		bad, good := open(t, s, team("t1", l)...), open(t, s, team("t2", l)...)
		w := NewWatch(l, nil, bad)
		defer w.Stop()
		v := start(t, bad, nil, binary(t), "bomb", "400")
		r := breach(t, w, 5*time.Second)
		if r.What != WhatProcesses || r.Of != "" || r.Limit != 100 {
			t.Errorf("reason %+v", r)
		}
		v.says("done")
		if n := bad.Usage().Processes; n > 100 || n < 50 {
			t.Errorf("it has %d processes", n)
		}
		start(t, good, nil, binary(t), "bomb", "20").says("started 20")
		if r, hit := good.Hit(); hit {
			t.Errorf("its sibling is blamed: %+v", r)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := bad.Kill(ctx); err != nil {
			t.Error(err)
		}
		v.ended(time.Second)
		if n := good.Usage().Processes; n < 21 {
			t.Errorf("its sibling has lost processes: %d are left", n)
		}
	})
}

// The bound of an agent holds for all turns below it together; the turn that has most is the one to end.
func TestBoundOfSubtree(t *testing.T) {
	kernelModes(t, func(t *testing.T, s Support) {
		path := func(turn string) []Node {
			return []Node{{Name: "team"}, {Name: "agent", Limits: Limits{Processes: 150, Memory: 80 << 20}, Where: "the agent's own limits:"},
				{Name: turn, Limits: Limits{Processes: 1000, Memory: 1 << 30}}}
		}
		small, large := open(t, s, path("small")...), open(t, s, path("large")...)
		start(t, small, nil, binary(t), "bomb", "30").says("started 30")
		start(t, large, nil, binary(t), "bomb", "300").says("done")
		// The small one is refused a process too, and is not to blame.
		_, err := small.Fork(&syscall.SysProcAttr{}, func() (int, error) {
			for range 200 {
				if _, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{}); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
		if !errors.Is(err, syscall.EAGAIN) {
			t.Errorf("starting another process gave %v", err)
		}
		if r, hit := small.Hit(); hit {
			t.Errorf("the small one is blamed: %+v", r)
		}
		r, hit := large.Hit()
		if !hit || r.What != WhatProcesses || r.Of != "agent" || r.Limit != 150 || !strings.Contains(r.Text, "the agent's own limits") {
			t.Errorf("hit %v: %+v", hit, r)
		}
		t.Log(r.Text)
	})
	kernelModes(t, func(t *testing.T, s Support) {
		path := func(turn string) []Node {
			return []Node{{Name: "team", Limits: Limits{Memory: 80 << 20}}, {Name: turn, Limits: Limits{Memory: 1 << 30}}}
		}
		small, large := open(t, s, path("small")...), open(t, s, path("large")...)
		start(t, small, nil, binary(t), "hog", "10").says("done")
		start(t, large, nil, binary(t), "hog", "200").ended(10 * time.Second)
		if r, hit := large.Hit(); !hit || r.What != WhatMemory || r.Of != "team" || r.Limit != 80<<20 {
			t.Errorf("hit %v: %+v", hit, r)
		}
		if r, hit := small.Hit(); hit {
			t.Errorf("the small one is blamed: %+v", r)
		}
	})
}

func TestCPUIsDividedOut(t *testing.T) {
	kernelModes(t, func(t *testing.T, s Support) {
		if !s.has("cpu") {
			t.Skip("no controller of CPU")
		}
		g := open(t, s, team("t1", Limits{CPUPercent: 20, CPUWeight: 50})...)
		before := cpuOfChildren()
		start(t, g, nil, binary(t), "spin", "1000").ended(10 * time.Second)
		use := cpuOfChildren() - before
		if use > 450*time.Millisecond {
			t.Errorf("it had %v of CPU in a second; 20 %% of a core are allowed", use)
		}
	})
}

// The thread that forks is back in its own groups, and so is what it starts next.
func TestForkComesBack(t *testing.T) {
	kernelModes(t, func(t *testing.T, s Support) {
		before, _ := os.ReadFile("/proc/thread-self/cgroup")
		g := open(t, s, team("t1", Limits{})...)
		in := start(t, g, nil, binary(t), "wait", "0")
		out := start(t, nil, nil, binary(t), "wait", "0")
		inside, _ := os.ReadFile(filepath.Join("/proc", itoa(in.pid), "cgroup"))
		outside, _ := os.ReadFile(filepath.Join("/proc", itoa(out.pid), "cgroup"))
		after, _ := os.ReadFile("/proc/thread-self/cgroup")
		if strings.Count(string(inside), "/g-tasks/g-t1\n") < len(s.roots()) {
			t.Errorf("the process is not in its groups:\n%s", inside)
		}
		if string(before) != string(after) || string(before) != string(outside) {
			t.Errorf("the caller is not where it was:\n%s\n%s\n%s", before, after, outside)
		}
	})
}

// What a supervisor that was killed leaves is found: empty groups go, the others are named.
func TestSweep(t *testing.T) {
	kernelModes(t, func(t *testing.T, s Support) {
		lost, err := s.Open(team("lost", Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		live := open(t, s, team("still/running", Limits{})...)
		start(t, live, nil, binary(t), "wait", "0")
		if left := s.Sweep(); len(left) != 1 || left[0] != "still/running" {
			t.Errorf("running: %q", left)
		}
		if _, err := os.Stat(lost.leaves()[0]); err == nil {
			t.Error("the empty group is still there")
		}
		// A group that was swept away between Open and Fork is made anew.
		v := start(t, lost, nil, binary(t), "wait", "0")
		data, _ := os.ReadFile(filepath.Join("/proc", itoa(v.pid), "cgroup"))
		if !strings.Contains(string(data), "/g-lost\n") {
			t.Errorf("the process is not in its group:\n%s", data)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := lost.Kill(ctx); err != nil {
			t.Error(err)
		}
		v.ended(time.Second)
		lost.Remove()
	})
}
