package team

import (
	"fmt"
	"time"

	"substrat.dev/substrat"
)

// Why tells what an agent waits for, as far as its team knows. Ready says that nothing in the team holds it back: then
// only a slot is missing.
func (s *State) Why(id string, now time.Time) (w substrat.Why, ready bool) {
	a := s.Agents[id]
	w.Agent = s.View(id)
	if a.Turn != nil {
		addReason(&w, substrat.WaitsTurn, fmt.Sprintf("turn %d is running", a.Turn.Number), a.Turn.ID, &a.Turn.StartedAt, nil)
	}
	if ready = s.ready(a, now); !ready {
		s.whyHeld(&w, a, now)
	}
	for _, m := range a.Awaits {
		x := s.Messages[m]
		addReason(&w, substrat.WaitsReply, "a reply from "+x.To, x.To, &x.CreatedAt, x.Deadline)
	}
	for _, kind := range []substrat.ItemKind{substrat.ItemQuestion, substrat.ItemPermission, substrat.ItemPlan} {
		for _, x := range s.openItems(id, kind) {
			addReason(&w, substrat.WaitsQuestion, "a person's answer: "+clip(x.Text, 120), x.ID, &x.CreatedAt, x.Deadline)
		}
	}
	if len(w.Reasons) == 0 && !ready {
		addReason(&w, substrat.WaitsNothing, "nothing: it has no mail", "", nil, nil)
	}
	for _, m := range a.Queue[:min(len(a.Queue), 10)] {
		w.Next = append(w.Next, s.Messages[m].Message)
	}
	for _, x := range s.Waits() {
		if x.To == w.Agent.Path {
			w.WaitedOnBy = append(w.WaitedOnBy, x.From)
		}
	}
	return w, ready
}

// whyHeld lists what keeps an agent that has mail from running.
func (s *State) whyHeld(w *substrat.Why, a *Agent, now time.Time) {
	add := func(kind substrat.ReasonKind, text, on string, until *time.Time) {
		addReason(w, kind, text, on, nil, until)
	}
	if a.Gated && !a.Permitted {
		add(substrat.WaitsGate, fmt.Sprintf("its gate is down; mail behind it: %d", len(a.Queue)), "", nil)
	}
	if owner, b := s.blocking(a, now); owner != nil {
		var until *time.Time
		if b.Period == substrat.PeriodDay {
			until = ptr(nextDay(now))
		}
		add(substrat.WaitsBudget, fmt.Sprintf("the %s of %s is used up", b.describe(owner, now), s.Path(owner.ID)), s.Path(owner.ID), until)
	}
	if len(a.Queue) == 0 || a.Turn != nil {
		return
	}
	if a.StartAfter != "" {
		add(substrat.WaitsSpawner, "the turn of "+s.Path(a.Parent)+" that made it", s.Path(a.Parent), nil)
	}
	if now.Before(a.RetryAt) {
		add(substrat.WaitsBackoff, "its next attempt, after: "+a.LastError, "", &a.RetryAt)
	}
}

func addReason(w *substrat.Why, kind substrat.ReasonKind, text, on string, since, until *time.Time) {
	w.Reasons = append(w.Reasons, substrat.Reason{Kind: kind, Text: text, On: on, Since: copied(since), Until: copied(until)})
}

// copied keeps a view from sharing a time with the state.
func copied(t *time.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	return ptr(*t)
}
