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
	// Since is when it could first have run: the scheduler's measure of waiting.
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
	return len(a.Awaits) == 0 || slices.ContainsFunc(a.Queue, func(id string) bool { return s.Messages[id].wakes() })
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
	t := s.Messages[a.Queue[0]].CreatedAt
	if a.RetryAt.After(t) {
		return a.RetryAt
	}
	return t
}

// NextDue is when time alone will next change something: a retry or a deadline. Zero means never.
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

// OpenTurns lists the agents with an open turn.
func (s *State) OpenTurns() []*Agent {
	var out []*Agent
	for id := range s.open {
		out = append(out, s.Agents[id])
	}
	return out
}

func compareStrings(a, b string) int { return strings.Compare(a, b) }

func lastSlash(path string) int { return strings.LastIndexByte(path, '/') + 1 }
