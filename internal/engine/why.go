package engine

import (
	"context"
	"fmt"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/schedule"
	"substrat.dev/substrat/internal/team"
)

// Why tells what keeps an agent from running.
func (e *Engine) Why(ctx context.Context, ref string) (substrat.Why, error) {
	teamID, id, err := e.resolve(ref)
	if err != nil {
		return substrat.Why{}, err
	}
	now := time.Now()
	var w substrat.Why
	var ready bool
	err = e.Look(ctx, teamID, func(s *team.State) error {
		if s.Agents[id] == nil {
			return substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
		}
		w, ready = s.Why(id, now)
		return nil
	})
	if err != nil {
		return w, err
	}
	if ready {
		w.Reasons = append(e.whyNoSlot(now, id), w.Reasons...)
	}
	return w, nil
}

// whyNoSlot asks the scheduler, for an agent that may run as far as its team is concerned.
func (e *Engine) whyNoSlot(now time.Time, agent string) []substrat.Reason {
	if e.isDraining() {
		return []substrat.Reason{{Kind: substrat.WaitsDrain, Text: "the daemon is draining: no new turn starts"}}
	}
	f := e.fleet(now)
	plan := schedule.Make(now, f)
	for _, x := range plan.Waiting {
		if x.Agent != agent {
			continue
		}
		r := substrat.Reason{}
		if !x.Until.IsZero() {
			r.Until = &x.Until
		}
		ahead, _ := plan.Ahead(agent)
		switch x.Reason {
		case schedule.ReasonMemory:
			r.Kind, r.Text = substrat.WaitsMemory, "the machine is short of memory: below the configured amount no process starts"
		case schedule.ReasonAccount, schedule.ReasonStagger, schedule.ReasonProbe:
			r = e.whyHeld(f, agent, x.Reason, r)
		case schedule.ReasonPool:
			r.Kind, r.Text = substrat.WaitsSlot, fmt.Sprintf("all slots of its provider are taken; %d agents are before it", ahead)
		case schedule.ReasonFreeing:
			r.Kind, r.Text = substrat.WaitsSlot, "a slot is being freed for it"
		default:
			r.Kind, r.Text = substrat.WaitsSlot, fmt.Sprintf("all %d slots are taken; %d agents are before it", f.Limits.Total, ahead)
		}
		return []substrat.Reason{r}
	}
	return []substrat.Reason{{Kind: substrat.WaitsSlot, Text: "its turn starts now"}}
}

func (e *Engine) whyHeld(f schedule.Fleet, agent string, why schedule.Reason, r substrat.Reason) substrat.Reason {
	r.Kind = substrat.WaitsAccount
	for _, c := range f.Ready {
		if c.Agent == agent {
			r.On = c.Account
		}
	}
	for _, h := range f.Holds {
		if h.Account != r.On {
			continue
		}
		r.Text = fmt.Sprintf("the provider refused the account %s: %s", h.Account, h.Class)
		if h.Detail != "" {
			r.Text += ": " + clip(h.Detail, 200)
		}
		if h.Until.IsZero() {
			r.Text += "; substrat resume " + h.Account + " lets its agents go on"
		}
		break
	}
	switch why {
	case schedule.ReasonStagger:
		r.Text = "the hold on the account " + r.On + " is over; its agents are woken one by one"
	case schedule.ReasonProbe:
		r.Text += "; one turn tries whether it works again"
	}
	return r
}

func (e *Engine) isDraining() bool {
	e.runMu.Lock()
	defer e.runMu.Unlock()
	return e.draining
}
