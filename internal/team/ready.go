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
	// Pool is its provider. Priority says what it is woken by: 0 a person's word, 1 replies and results, 2 requests,
	// 3 notifications.
	Pool     string
	Priority int
	// Since is since when it waits: from the first message that wakes it, or from the end of its back-off. It is the
	// scheduler's measure of fairness.
	Since time.Time
}

// ReadyAgents lists who may have a turn at a given time, longest waiting first.
func (s *State) ReadyAgents(now time.Time) []Ready {
	var out []Ready
	for id := range s.candidates {
		if a := s.Agents[id]; s.ready(a, now) {
			out = append(out, Ready{Agent: id, Pool: a.Provider, Priority: s.priority(a), Since: s.since(a)})
		}
	}
	slices.SortFunc(out, func(a, b Ready) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Agent, b.Agent))
	})
	return out
}

// ready reports whether an agent has mail that wakes it and nothing that holds it back.
func (s *State) ready(a *Agent, now time.Time) bool {
	if a.Turn != nil || len(a.Queue) == 0 || a.StartAfter != "" || a.Gated && !a.Permitted || now.Before(a.RetryAt) {
		return false
	}
	if owner, _ := s.blocking(a, now); owner != nil {
		return false
	}
	return s.waker(a) != nil
}

// priority is that of the most urgent message in a mailbox.
func (s *State) priority(a *Agent) int {
	best := 3
	for _, id := range a.Queue[:min(len(a.Queue), 100)] {
		best = min(best, s.Messages[id].priority())
	}
	return best
}

func (m *Message) priority() int {
	switch m.Kind {
	case substrat.KindUser, substrat.KindAnswer:
		return 0
	case substrat.KindReply, substrat.KindResult:
		return 1
	case substrat.KindRequest, substrat.KindStart, substrat.KindReminder:
		return 2
	case substrat.KindError:
		if m.ReplyTo != "" {
			return 1
		}
	}
	return 3
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
		a := s.Agents[id]
		if a.RetryAt.After(now) {
			sooner(a.RetryAt)
		}
		if owner, b := s.blocking(a, now); owner != nil && b.Period == substrat.PeriodDay {
			sooner(nextDay(now))
		}
	}
	for id := range s.reminded {
		for _, r := range s.Agents[id].Reminders {
			sooner(r.At)
		}
	}
	for _, x := range s.Items {
		if x.Deadline != nil {
			sooner(*x.Deadline)
		}
	}
	for id := range s.due {
		sooner(*s.Messages[id].Deadline)
	}
	return next
}

// Overdue reports whether a deadline has passed or a reminder is due.
func (s *State) Overdue(now time.Time) bool {
	for id := range s.due {
		if !now.Before(*s.Messages[id].Deadline) {
			return true
		}
	}
	return len(s.dueReminders(now)) > 0 || len(s.dueItems(now)) > 0
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
