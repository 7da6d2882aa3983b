package resource

import (
	"os"
	"path/filepath"
	"strings"
)

// counts is what the kernel has counted of one level's bounds.
type counts struct {
	kills int64 // processes that the kernel killed for want of memory
	full  int64 // times that the kernel found no memory within the level's bound; cgroup v2 only
	forks int64 // processes that were refused
}

func (g *Group) counts(level int) (c counts) {
	if g.support.has("memory") {
		dir := g.dir("memory", level)
		if g.support.Mode == ModeV2 {
			c.kills, c.full = readCount(dir, "memory.events", "oom_kill"), readCount(dir, "memory.events", "oom")
		} else {
			c.kills = readCount(dir, "memory.oom_control", "oom_kill")
		}
	}
	if g.support.has("pids") {
		c.forks = readCount(g.dir("pids", level), "pids.events", "max")
	}
	return c
}

// Hit says which bound the turn has hit since the last call.
//
// Memory counts once the kernel had to kill one of the turn's processes: before that it takes back what can be taken
// back. A bound that turns share is hit by the turn that lost a process, or, for processes, by the turn that has most;
// the others see processes refused for a moment and go on.
func (g *Group) Hit() (Reason, bool) {
	if g == nil {
		return Reason{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now, before := make([]counts, len(g.path)), g.seen
	for i := range g.path {
		now[i] = g.counts(i)
	}
	g.seen = now
	leaf := len(g.path) - 1
	if now[leaf].kills > before[leaf].kills {
		return g.memoryHit(now), true
	}
	for i := range now {
		if now[i].forks > before[i].forks {
			return g.processHit()
		}
	}
	return Reason{}, false
}

// memoryHit finds the lowest level that was full.
func (g *Group) memoryHit(now []counts) Reason {
	leaf := len(g.path) - 1
	used := max(g.Usage().MemoryPeak, g.Usage().Memory)
	for i := leaf; i >= 0; i-- {
		n := g.path[i]
		if n.Limits.Memory == 0 || !g.wasFull(i, now) {
			continue
		}
		if i == leaf {
			return memoryReason(n, "", n.Limits.Memory, used)
		}
		return memoryReason(n, n.Name, n.Limits.Memory, used)
	}
	return memoryReason(g.path[leaf], "", 0, used)
}

// wasFull goes by the most that the level ever held where the kernel does not count. memory.failcnt of cgroup v1 is no help:
// newer kernels leave it at 0.
func (g *Group) wasFull(level int, now []counts) bool {
	if g.support.Mode == ModeV2 {
		return now[level].full > g.opened[level].full
	}
	limit := g.path[level].Limits.Memory
	most, _ := readInt(g.dir("memory", level), "memory.max_usage_in_bytes")
	return most >= limit-limit/64
}

func (g *Group) processHit() (Reason, bool) {
	leaf := len(g.path) - 1
	own := g.dir("pids", leaf)
	mine, _ := readInt(own, "pids.current")
	most := mine
	if peak, err := readInt(own, "pids.peak"); err == nil {
		most = max(most, peak)
	}
	if l := int64(g.path[leaf].Limits.Processes); l > 0 && most >= l {
		return processReason(g.path[leaf], "", l, l), true
	}
	for i := leaf - 1; i >= 0; i-- {
		l := int64(g.path[i].Limits.Processes)
		all, _ := readInt(g.dir("pids", i), "pids.current")
		// No longer nearly full: whoever it was has been ended.
		if l == 0 || all < l*3/4 {
			continue
		}
		if mine >= largest(g.dir("pids", i)) {
			return processReason(g.path[i], g.path[i].Name, l, mine), true
		}
	}
	return Reason{}, false
}

// largest gives the most processes that any turn's group below dir has.
func largest(dir string) (most int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	inner := false
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), groupPrefix) {
			inner = true
			most = max(most, largest(filepath.Join(dir, e.Name())))
		}
	}
	if !inner {
		most, _ = readInt(dir, "pids.current")
	}
	return most
}
