package resource

import (
	"context"
	"sync"
	"time"
)

// Watch measures one turn where the kernel does not bound it, and reads what the kernel has counted where it does. The
// first breach is given once; the owner ends the turn, and the watch goes on for as long as that takes without another word.
//
// Without cgroups a breach is noticed within half a second, so a turn can overshoot by what it gets in that time.
type Watch struct {
	over   chan Reason
	once   sync.Once
	cancel context.CancelFunc
	done   sync.WaitGroup
	group  *Group
}

const (
	sampleTime = 250 * time.Millisecond
	// quietTime is between samples once nothing has changed for quietAfter of them. Where the kernel bounds the turn
	// it can be longer: what is late then is only the word about it.
	quietTime      = 500 * time.Millisecond
	quietTimeGroup = time.Second
	quietAfter     = 8
)

// NewWatch starts to watch the processes that tree lists, which is called by several goroutines; nil is for all descendants
// of the caller. Stop has to be called.
func NewWatch(l Limits, tree func() []int, group *Group) *Watch {
	if tree == nil {
		tree = ownTree()
	}
	var samplers []sampler
	if group != nil {
		samplers = append(samplers, sampler{check: watchGroup(group), quiet: quietTimeGroup})
	} else if l.Memory > 0 || l.Processes > 0 {
		samplers = append(samplers, sampler{check: newMeter(l, tree).check, quiet: quietTime})
	}
	for _, d := range l.Disk {
		if d.Bytes > 0 {
			disk := newDisk(d, tree)
			samplers = append(samplers, sampler{check: disk.check, quiet: quietTime, end: disk.read.close})
		}
	}
	return watch(group, samplers)
}

func watchGroup(g *Group) func(context.Context) (Reason, bool, bool) {
	var last int
	return func(context.Context) (Reason, bool, bool) {
		r, hit := g.Hit()
		n := g.Usage().Processes
		changed := n != last
		last = n
		return r, hit, changed
	}
}

// sampler is one measurement that is repeated: whether a bound is hit, and whether anything has changed since the last.
type sampler struct {
	check func(context.Context) (r Reason, hit, changed bool)
	quiet time.Duration
	end   func()
}

func watch(group *Group, samplers []sampler) *Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watch{over: make(chan Reason, 1), cancel: cancel, group: group}
	for _, s := range samplers {
		w.done.Go(func() { w.sample(ctx, s) })
	}
	return w
}

func (w *Watch) sample(ctx context.Context, s sampler) {
	timer := time.NewTimer(sampleTime)
	defer timer.Stop()
	if s.end != nil {
		defer s.end()
	}
	for same := 0; ; {
		r, hit, changed := s.check(ctx)
		if ctx.Err() != nil {
			return
		}
		if hit {
			w.once.Do(func() { w.over <- r })
			return
		}
		next := sampleTime
		if same++; changed {
			same = 0
		}
		if same >= quietAfter {
			next = s.quiet
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

// Over gives the first breach, and nothing after it.
func (w *Watch) Over() <-chan Reason { return w.over }

// Stop ends the watch and waits for it. A breach that nobody has taken from Over, or that the kernel has counted since the
// last sample, is given here: a process can die of it before anybody has looked.
func (w *Watch) Stop() (Reason, bool) {
	w.cancel()
	w.done.Wait()
	select {
	case r := <-w.over:
		return r, true
	default:
	}
	var (
		r   Reason
		hit bool
	)
	w.once.Do(func() { r, hit = w.group.Hit() })
	return r, hit
}
