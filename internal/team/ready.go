package team

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Ready is an agent that may have a turn now.
type Ready struct {
	Agent string
	// Since is since when it waits: from the first message that wakes it, or from the end of its back-off. It is the
	// scheduler's measure of fairness.
	Since time.Time
}

// ReadyAgents lists who may have a turn at a given time, longest waiting first.
func (s *State) ReadyAgents(now time.Time) []Ready {
	var out []Ready
	for id := range s.candidates {
		if a := s.Agents[id]; s.ready(a, now) {
			out = append(out, Ready{Agent: id, Since: s.since(a)})
		}
	}
	slices.SortFunc(out, func(a, b Ready) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Agent, b.Agent))
	})
	return out
}

// ready reports whether an agent has mail that wakes it and nothing that holds it back.
func (s *State) ready(a *Agent, now time.Time) bool {
	if a.Turn != nil || len(a.Queue) == 0 || a.StartAfter != "" || now.Before(a.RetryAt) {
		return false
	}
	return s.waker(a) != nil
}

// waker finds the first message that wakes an agent without a turn. One that waits for a reply is not woken by all.
func (s *State) waker(a *Agent) *Message {
	for _, id := range a.Queue {
		if m := s.Messages[id]; len(a.Awaits) == 0 || m.wakes() {
			return m
		}
	}
	return nil
}

// wakes reports whether a message wakes an agent that waits for a reply. Plain notifications, and notices that are no
// answer, wait for its next turn.
func (m *Message) wakes() bool {
	switch m.Kind {
	case substrat.KindNotification:
		return false
	case substrat.KindError:
		return m.ReplyTo != ""
	default:
		return true
	}
}

func (s *State) since(a *Agent) time.Time {
	t := s.waker(a).CreatedAt
	if a.RetryAt.After(t) {
		return a.RetryAt
	}
	return t
}

// NextDue is when time alone will next change something: a retry, which is after now, or a deadline, which may have
// passed. Zero means never.
func (s *State) NextDue(now time.Time) time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for id := range s.candidates {
		if a := s.Agents[id]; a.RetryAt.After(now) {
			sooner(a.RetryAt)
		}
	}
	for id := range s.due {
		sooner(*s.Messages[id].Deadline)
	}
	return next
}

// Overdue reports whether a deadline has passed.
func (s *State) Overdue(now time.Time) bool {
	for id := range s.due {
		if !now.Before(*s.Messages[id].Deadline) {
			return true
		}
	}
	return false
}

// OpenTurns lists the agents with an open turn, by id. The caller must not change them.
func (s *State) OpenTurns() []*Agent {
	var out []*Agent
	for id := range s.open {
		out = append(out, s.Agents[id])
	}
	slices.SortFunc(out, func(a, b *Agent) int { return strings.Compare(a.ID, b.ID) })
	return out
}
