package tool

import (
	"context"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

type statusArgs struct {
	MessageID string `json:"message_id" jsonschema:"id of a message you sent or received, or of a broadcast of yours"`
}

// receipt is what an agent learns of a message. Times are UTC.
type receipt struct {
	MessageID  string                `json:"message_id"`
	State      substrat.MessageState `json:"state"`
	From       string                `json:"from"`
	To         string                `json:"to"`
	Turn       string                `json:"turn,omitempty"`
	Attempts   int                   `json:"attempts"`
	AnsweredBy string                `json:"answered_by,omitempty"`
	Detail     string                `json:"detail,omitempty"`
	CreatedAt  string                `json:"created_at"`
	Deadline   string                `json:"deadline,omitempty"`
	InjectedAt string                `json:"injected_at,omitempty"`
	DoneAt     string                `json:"done_at,omitempty"`
}

// tally is what an agent learns of a broadcast that is not settled. Names are paths.
type tally struct {
	MessageID string   `json:"message_id"`
	State     string   `json:"state"` // "open"
	Answered  []string `json:"answered"`
	Missing   []string `json:"missing"`
	Open      []string `json:"open"`
}

func messageStatus(ctx context.Context, c *call, in statusArgs) (any, error) {
	unknown := substrat.Errorf(substrat.CodeNotFound, "no message %.80q that you sent or received", in.MessageID).
		WithHint("of a broadcast that is settled a message told you who answered")
	var me substrat.Agent
	var open *tally
	err := c.host.Look(ctx, c.caller.Team, func(s *team.State) error {
		if s.Agents[c.caller.Agent] == nil {
			return substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
		}
		me, open = s.View(c.caller.Agent), tallyOf(s, c.caller.Agent, in.MessageID)
		return nil
	})
	if err != nil || open != nil {
		return open, err
	}
	m, err := c.host.Message(ctx, in.MessageID)
	switch {
	case err != nil && substrat.CodeOf(err) == substrat.CodeNotFound:
		return nil, unknown
	case err != nil:
		return nil, err
	// A path names one agent after another: what is older than this one was another's.
	case m.Team != c.caller.Team || m.From != me.Path && m.To != me.Path || m.CreatedAt.Before(me.CreatedAt):
		return nil, unknown
	}
	return receiptOf(m), nil
}

func receiptOf(m substrat.Message) receipt {
	return receipt{
		MessageID: m.ID, State: m.State, From: m.From, To: m.To, Turn: m.Turn, Attempts: m.Attempts, AnsweredBy: m.AnsweredBy,
		Detail: m.Detail, CreatedAt: moment(&m.CreatedAt), Deadline: moment(m.Deadline), InjectedAt: moment(m.InjectedAt), DoneAt: moment(m.DoneAt),
	}
}

// tallyOf looks for an open broadcast of the agent's.
func tallyOf(s *team.State, agent, id string) *tally {
	b := s.Broadcasts[id]
	if b == nil || b.From != agent {
		return nil
	}
	t := &tally{MessageID: id, State: "open", Answered: append([]string{}, b.Answered...), Missing: append([]string{}, b.Missing...), Open: []string{}}
	for _, open := range b.Open {
		if m := s.Messages[open]; m != nil {
			t.Open = append(t.Open, m.To)
		}
	}
	return t
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
