package engine

import (
	"context"
	"maps"
	"sync"
	"time"

	"substrat.dev/substrat/internal/memory"
	"substrat.dev/substrat/internal/schedule"
	"substrat.dev/substrat/internal/team"
)

// grant opens the turns that the scheduler wants opened and suspends the live sessions that it wants gone. It tells how
// soon time alone would change that.
func (e *Engine) grant(ctx context.Context, now time.Time) time.Duration {
	if e.isDraining() {
		return time.Hour
	}
	plan := schedule.Make(now, e.fleet(now))
	var wg sync.WaitGroup
	for _, c := range plan.Start {
		wg.Go(func() {
			_, err := e.Do(ctx, c.Team, team.Meta{}, team.Start{Agent: c.Agent, Turn: e.NewID()})
			if err != nil && ctx.Err() == nil {
				e.cfg.Log.Warn("cannot start a turn", "agent", c.Agent, "error", err)
			}
		})
	}
	e.mu.Lock()
	for _, c := range plan.Start {
		e.served[c.Team] = now
	}
	e.mu.Unlock()
	for _, p := range plan.Suspend {
		e.suspend(p.Agent)
	}
	wg.Wait()
	if plan.Next.IsZero() {
		return time.Hour
	}
	return max(plan.Next.Sub(now), time.Millisecond)
}

// fleet is everything the scheduler decides on. Teams with nothing to come cool down.
func (e *Engine) fleet(now time.Time) schedule.Fleet {
	f := schedule.Fleet{Running: e.restingProcesses(), Limits: schedule.Limits{
		Total: e.cfg.Slots, Pools: e.cfg.Rules.Pools(), SuspendAfter: e.cfg.Rules.SuspendAfter(),
	}}
	resting := map[string]int{}
	for i, p := range f.Running {
		resting[p.Agent] = i
	}
	e.mu.Lock()
	for id := range e.hot {
		s := e.teams[id]
		if s == nil {
			delete(e.hot, id)
			delete(e.served, id)
			continue
		}
		open, ready := s.OpenTurns(), s.ReadyAgents(now)
		for _, a := range open {
			p := schedule.Process{
				Team: id, Agent: a.ID, Pool: a.Provider, Account: e.cfg.Rules.Account(a.Provider), Turn: true, Since: a.Turn.StartedAt,
			}
			// A turn that is about to take its resting process is one process, not two.
			if i, ok := resting[a.ID]; ok {
				f.Running[i] = p
			} else {
				f.Running = append(f.Running, p)
			}
		}
		for _, r := range ready {
			f.Ready = append(f.Ready, schedule.Candidate{
				Team: id, Agent: r.Agent, Pool: r.Pool, Account: e.cfg.Rules.Account(r.Pool), Priority: schedule.Priority(r.Priority), Since: r.Since,
			})
		}
		if len(open) == 0 && len(ready) == 0 && s.NextDue(now).IsZero() {
			delete(e.hot, id)
			delete(e.served, id)
		}
	}
	f.Holds, f.Served = schedule.Holds(now, e.streaks()), maps.Clone(e.served)
	e.mu.Unlock()
	if least := e.cfg.Rules.FreeLeast(); least > 0 && len(f.Ready) > 0 {
		free, known := memory.Free()
		f.Limits.MemoryLow = known && free < least
	}
	return f
}

// accounts is what is known of the providers' accounts over all teams. It is derived from their states.
type accounts struct {
	// refused are the teams that a provider refused lately; worked has, by account, when it was last seen to work.
	refused map[string]struct{}
	worked  map[string]schedule.Streak
}

func newAccounts() accounts {
	return accounts{refused: map[string]struct{}{}, worked: map[string]schedule.Streak{}}
}

// note takes in what a team has seen.
func (x *accounts) note(s *team.State) {
	delete(x.refused, s.Team)
	for _, k := range s.Streaks {
		w := x.worked[k.Account]
		w.Account = k.Account
		for _, p := range []struct{ to, from *time.Time }{{&w.OKBegan, &k.OKBegan}, {&w.OKEnded, &k.OKEnded}, {&w.Resumed, &k.Resumed}} {
			if p.from.After(*p.to) {
				*p.to = *p.from
			}
		}
		x.worked[k.Account] = w
		if len(k.Refusals) > 0 {
			x.refused[s.Team] = struct{}{}
		}
	}
}

// streaks are what the scheduler makes holds of. Caller holds mu.
func (e *Engine) streaks() []schedule.Streak {
	if len(e.accounts.refused) == 0 {
		return nil
	}
	var out []schedule.Streak
	for _, w := range e.accounts.worked {
		out = append(out, w)
	}
	for id := range e.accounts.refused {
		if s := e.teams[id]; s != nil {
			out = append(out, s.Streaks...)
		}
	}
	return out
}
