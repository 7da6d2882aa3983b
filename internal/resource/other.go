//go:build !linux

package resource

import (
	"context"
	"syscall"
	"time"
)

// Without Linux there is nothing that bounds a tree of processes, and Support says so.

// Detect says that there is nothing.
func Detect(string) Support {
	return Support{Mode: ModeRlimits, Detail: "nothing bounds memory, processes and CPU, because this is not Linux"}
}

// Prepare changes nothing.
func (s Support) Prepare(string) Support { return s }

// Sweep has nothing to remove.
func (s Support) Sweep() []string { return nil }

// Discard has nothing to remove.
func (s Support) Discard() error { return nil }

// Open gives no group.
func (s Support) Open([]Node) (*Group, error) { return nil, nil }

// Group is always nil.
type Group struct{}

// Usage of a turn.
type Usage struct {
	Memory, MemoryPeak int64
	Processes          int
	CPU                time.Duration
}

// Fork calls fork.
func (g *Group) Fork(_ *syscall.SysProcAttr, fork func() (int, error)) (int, error) { return fork() }

// Hit is never true.
func (g *Group) Hit() (Reason, bool) { return Reason{}, false }

// Usage is not known.
func (g *Group) Usage() Usage { return Usage{} }

// Kill does nothing.
func (g *Group) Kill(context.Context) error { return nil }

// Remove does nothing.
func (g *Group) Remove() {}

// Rlimit is one limit of a process.
type Rlimit struct {
	Resource int    `json:"resource"`
	Value    uint64 `json:"value"`
}

// Rlimits gives none.
func (l Limits) Rlimits(string, bool) []Rlimit { return nil }

type (
	meter struct{}
	disk  struct{ read struct{ close func() } }
)

func ownTree() func() []int                              { return func() []int { return nil } }
func newMeter(Limits, func() []int) meter                { return meter{} }
func newDisk(DiskLimit, func() []int) disk               { return disk{} }
func (meter) check(context.Context) (Reason, bool, bool) { return Reason{}, false, false }
func (disk) check(context.Context) (Reason, bool, bool)  { return Reason{}, false, false }
func rmdir(string) error                                 { return nil }
