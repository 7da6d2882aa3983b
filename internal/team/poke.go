package team

import (
	"time"

	"substrat.dev/substrat"
)

// Poke retries a failed turn with the same input, now: mail that waits for its next attempt does not wait any longer,
// and mail that was given up is sent again. It does nothing to an agent that is busy or has nothing to retry.
type Poke struct {
	Agent string
}

func (c Poke) decide(d *decision) (any, error) {
	a, err := d.charge(c.Agent, "poke")
	if err != nil {
		return nil, err
	}
	if a.Turn != nil {
		return Status{"busy"}, nil
	}
	if !d.poke(a, d.Key) {
		return Status{"nothing to retry"}, nil
	}
	return Status{"poked"}, nil
}

// poke reports whether there was something to retry. What was given up comes again as new messages, for what was final
// stays final: from the same senders, and a request is asked again if its sender is alive.
func (d *decision) poke(a *Agent, cause string) bool {
	if len(a.GivenUp) == 0 && (a.RetryAt.IsZero() || len(a.Queue) == 0) {
		return false
	}
	d.add(&AgentPoked{Agent: a.ID})
	for _, m := range a.GivenUp {
		again := Message{FromID: m.FromID, ToID: a.ID, Message: substrat.Message{
			ID: derive(m.ID, "again", cause), Team: d.Team, From: m.From, To: d.Path(a.ID), Kind: m.Kind, Text: m.Text, ReplyTo: m.ReplyTo,
			Cause: m.ID, Hops: m.Hops,
		}}
		if d.Agents[m.FromID] == nil {
			again.FromID = ""
		}
		switch {
		case again.Kind == substrat.KindRequest && again.FromID == "":
			again.Kind = substrat.KindNotification
		case again.Kind == substrat.KindRequest:
			again.Deadline = ptr(d.At.Add(d.Limits.ReplyDeadline))
		case again.ReplyTo != "":
			again.ReplyTo = m.ReplyTo // of a request that is settled already
		}
		d.add(&MessageSent{Message: again})
	}
	return true
}

// What a poke can bring back.
const (
	givenUpMost      = 20
	givenUpBytesMost = 256 << 10
)

// giveUp remembers a message that was given up until the agent's next turn.
func (a *Agent) giveUp(m *Message) {
	size := len(m.Text)
	for _, g := range a.GivenUp {
		size += len(g.Text)
	}
	if len(a.GivenUp) < givenUpMost && size <= givenUpBytesMost {
		a.GivenUp = append(a.GivenUp, Lost{ID: m.ID, From: m.From, FromID: m.FromID, Kind: m.Kind, Text: m.Text, ReplyTo: m.ReplyTo, Hops: m.Hops})
	}
}

// Lost is a message that was given up after its last attempt.
type Lost struct {
	ID      string               `json:"id"`
	From    string               `json:"from"`
	FromID  string               `json:"from_id,omitempty"`
	Kind    substrat.MessageKind `json:"kind"`
	Text    string               `json:"text"`
	ReplyTo string               `json:"reply_to,omitempty"`
	Hops    int                  `json:"hops,omitempty"`
}

// AgentPoked means: an agent waits no longer before it tries again.
type AgentPoked struct {
	Agent string `json:"agent"`
}

// Type implements Fact.
func (*AgentPoked) Type() string { return "agent.poked" }

func (x *AgentPoked) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.GivenUp, a.RetryAt = nil, time.Time{}
	f.mark(a.ID)
	return nil
}
