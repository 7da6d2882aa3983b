package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
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
	e.grant(ctx, now, open)
	return e.nextLook(now)
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

// candidate is an agent that may run, with what fairness needs to know.
type candidate struct {
	team, agent string
	since       time.Time
}

// grant opens turns while slots are free.
func (e *Engine) grant(ctx context.Context, now time.Time, open []openTurn) {
	e.runMu.Lock()
	draining := e.draining
	e.runMu.Unlock()
	free := e.cfg.Slots - len(open)
	if draining || free <= 0 {
		return
	}
	ready, running := e.readyNow(now)
	var wg sync.WaitGroup
	for _, c := range e.makeRoom(pick(ready, running, free), open) {
		wg.Go(func() {
			_, err := e.Do(ctx, c.team, team.Meta{}, team.Start{Agent: c.agent, Turn: e.NewID()})
			if err != nil && ctx.Err() == nil {
				e.cfg.Log.Warn("cannot start a turn", "agent", c.agent, "error", err)
			}
		})
	}
	wg.Wait()
}

// readyNow lists who may run and how many turns each team has open; teams with nothing to come cool down.
func (e *Engine) readyNow(now time.Time) ([]candidate, map[string]int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ready []candidate
	running := map[string]int{}
	for id := range e.hot {
		s := e.teams[id]
		if s == nil {
			delete(e.hot, id)
			continue
		}
		running[id] = len(s.OpenTurns())
		agents := s.ReadyAgents(now)
		for _, r := range agents {
			ready = append(ready, candidate{team: id, agent: r.Agent, since: r.Since})
		}
		if running[id] == 0 && len(agents) == 0 && s.NextDue(now).IsZero() {
			delete(e.hot, id)
		}
	}
	return ready, running
}

// pick chooses who gets the free slots: each goes to the team with the fewest open turns, and in it to the agent that
// has waited longest. So a chatty team cannot starve a quiet one.
func pick(ready []candidate, running map[string]int, free int) []candidate {
	queues := map[string][]candidate{}
	var order []string
	slices.SortFunc(ready, func(a, b candidate) int {
		return cmp.Or(a.since.Compare(b.since), strings.Compare(a.agent, b.agent))
	})
	for _, c := range ready {
		if queues[c.team] == nil {
			order = append(order, c.team)
		}
		queues[c.team] = append(queues[c.team], c)
	}
	var out []candidate
	for len(out) < free && len(order) > 0 {
		best := slices.MinFunc(order, func(a, b string) int {
			return cmp.Or(cmp.Compare(running[a], running[b]), queues[a][0].since.Compare(queues[b][0].since))
		})
		out = append(out, queues[best][0])
		running[best]++
		if queues[best] = queues[best][1:]; len(queues[best]) == 0 {
			order = slices.DeleteFunc(order, func(t string) bool { return t == best })
		}
	}
	return out
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
