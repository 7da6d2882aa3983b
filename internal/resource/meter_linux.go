package resource

import (
	"context"
	"os"
	"time"
)

func ownTree() func() []int { return NewTree(os.Getpid()).Pids }

// meter measures memory and processes of a turn that is in no cgroup.
//
// The sum of the processes' resident memory is cheap, but counts a page once for each process that shares it. So it only
// says when there cannot be a breach; otherwise a closer look divides shared pages, and adds files in memory that no process
// has mapped.
type meter struct {
	limits Limits
	read   readings
	node   Node

	last   rough
	looked time.Time
	cost   time.Duration // of the last closer look
	upper  int64         // at the last closer look
	used   int64         // what it found
	shared int64         // of the machine, at the last closer look
}

// rough is what every sample reads.
type rough struct {
	processes int
	upper     int64 // no less than the memory in use
	shared    int64 // of the whole machine
}

// readings are of the machine, or a test's.
type readings struct {
	rough  func() rough
	closer func() int64
}

func newMeter(l Limits, tree func() []int) *meter {
	return &meter{limits: l, node: Node{Limits: l}, read: readings{
		rough:  func() rough { return readRough(l, tree()) },
		closer: func() int64 { return memoryOf(tree()) },
	}, shared: sharedOnMachine()}
}

func readRough(l Limits, pids []int) (r rough) {
	for _, pid := range pids {
		if l.Processes > 0 {
			r.processes += threadsOf(pid)
		}
		if l.Memory > 0 {
			resident, _ := residentOf(pid)
			r.upper += resident
		}
	}
	if l.Memory > 0 {
		r.shared = sharedOnMachine()
	}
	return r
}

// memoryOf takes the larger of mapped shared memory and files in memory, because most of it is both.
func memoryOf(pids []int) int64 {
	var anonymous, shared int64
	for _, pid := range pids {
		a, s, ok := proportional(pid)
		if !ok {
			resident, fileBacked := residentOf(pid)
			a, s = resident-fileBacked, 0
		}
		anonymous, shared = anonymous+a, shared+s
	}
	return anonymous + max(shared, removedFiles(pids, memoryFiles()))
}

const (
	// closerShare: a closer look costs no more than one part in so many of the time.
	closerShare = 50
	closerMost  = time.Second
)

func (m *meter) check(context.Context) (r Reason, hit, changed bool) {
	now := m.read.rough()
	changed = now.processes != m.last.processes || abs(now.upper-m.last.upper) > m.limits.Memory/64
	m.last = now
	if l := m.limits.Processes; l > 0 && now.processes > l {
		return processReason(m.node, "", int64(l), int64(now.processes)), true, true
	}
	if m.limits.Memory == 0 || !m.wantsLook(now) {
		return r, false, changed
	}
	began := time.Now()
	m.used = m.read.closer()
	m.looked, m.upper, m.shared = time.Now(), now.upper, now.shared
	m.cost = m.looked.Sub(began)
	if m.used > m.limits.Memory {
		return memoryReason(m.node, "", m.limits.Memory, m.used), true, true
	}
	return r, false, changed
}

// wantsLook: there can be a breach when the resident memory allows it, or when files in memory have grown on the machine by
// an eighth of what is left. Pages that stop being shared change neither, so time passes for a reason too.
func (m *meter) wantsLook(now rough) bool {
	eighth := (m.limits.Memory - m.used) / 8
	files := now.shared-m.shared > eighth
	if now.shared < m.shared {
		m.shared = now.shared
	}
	if now.upper <= m.limits.Memory && !files {
		return false
	}
	if m.looked.IsZero() || files || now.upper-m.upper > eighth {
		return true
	}
	return time.Since(m.looked) >= min(m.cost*closerShare, closerMost)
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
