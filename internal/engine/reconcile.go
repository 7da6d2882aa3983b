package engine

import (
	"context"
	"time"

	"substrat.dev/substrat/internal/team"
)

// reconcileLoop closes the difference between what the teams want and what is running, after every commit and whenever
// time alone changes something.
func (e *Engine) reconcileLoop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.kicks:
		case <-timer.C:
		}
		timer.Reset(e.reconcile(ctx))
	}
}

// kick asks for a pass. Kicks that come together are one.
func (e *Engine) kick() {
	select {
	case e.kicks <- struct{}{}:
	default:
	}
}

// openTurn is one open turn, as the state has it.
type openTurn struct {
	team, agent, turn string
	cancelled         bool
}

// reconcile does one pass and tells when to look again at the latest.
func (e *Engine) reconcile(ctx context.Context) time.Duration {
	now := time.Now()
	open := e.openTurns()
	e.matchRunners(ctx, open)
	e.endStale()
	if e.idleDrain(len(open)) {
		e.stopOnce.Do(func() { close(e.stop) })
		return time.Hour
	}
	e.expire(ctx, now)
	return min(e.nextLook(now), e.grant(ctx, now))
}

// openTurns lists every open turn.
func (e *Engine) openTurns() []openTurn {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []openTurn
	for id := range e.hot {
		s := e.teams[id]
		if s == nil {
			continue
		}
		for _, a := range s.OpenTurns() {
			out = append(out, openTurn{team: id, agent: a.ID, turn: a.Turn.ID, cancelled: a.Turn.Cancel != ""})
		}
	}
	return out
}

// countOpen counts open turns. Caller holds mu.
func (e *Engine) countOpen() int {
	n := 0
	for id := range e.hot {
		if s := e.teams[id]; s != nil {
			n += len(s.OpenTurns())
		}
	}
	return n
}

// matchRunners gives every open turn a runner, passes on cancellations, and ends runners whose turn is no longer open.
func (e *Engine) matchRunners(ctx context.Context, open []openTurn) {
	e.runMu.Lock()
	defer e.runMu.Unlock()
	wanted := make(map[string]bool, len(open))
	for _, o := range open {
		wanted[o.turn] = true
		r := e.runners[o.turn]
		if r == nil {
			r = e.newRunner(o)
			e.runners[o.turn] = r
			e.wg.Go(func() { r.run(ctx); e.forget(r) })
		}
		if o.cancelled {
			r.cancel()
		}
	}
	for id, r := range e.runners {
		if !wanted[id] {
			r.abandon()
		}
	}
}

// forget removes a runner that has returned.
func (e *Engine) forget(r *runner) {
	e.runMu.Lock()
	delete(e.runners, r.turn)
	e.runMu.Unlock()
	e.kick()
}

// idleDrain reports whether a drain has nothing left to wait for.
func (e *Engine) idleDrain(open int) bool {
	e.runMu.Lock()
	defer e.runMu.Unlock()
	return e.draining && open == 0 && len(e.runners) == 0
}

// expire settles requests whose deadline has passed.
func (e *Engine) expire(ctx context.Context, now time.Time) {
	e.mu.RLock()
	var due []string
	for id := range e.hot {
		if s := e.teams[id]; s != nil && s.Overdue(now) {
			due = append(due, id)
		}
	}
	e.mu.RUnlock()
	for _, id := range due {
		if _, err := e.Do(ctx, id, team.Meta{}, team.Expire{}); err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("cannot expire requests", "team", id, "error", err)
		}
	}
}

// nextLook is how long time alone changes nothing.
func (e *Engine) nextLook(now time.Time) time.Duration {
	e.mu.RLock()
	defer e.mu.RUnlock()
	next := now.Add(time.Hour)
	for id := range e.hot {
		if s := e.teams[id]; s != nil {
			if t := s.NextDue(now); !t.IsZero() && t.Before(next) {
				next = t
			}
		}
	}
	return max(next.Sub(now), time.Millisecond)
}
