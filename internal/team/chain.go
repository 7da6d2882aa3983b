package team

import (
	"fmt"

	"substrat.dev/substrat"
)

// TellChain tells the user that a chain of messages was stopped: agents that answer each other for ever do not know what they do.
// It is told once for a turn.
type TellChain struct{ ID, Agent string }

func (c TellChain) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil || a.Turn == nil {
		return nil, substrat.Errorf(substrat.CodeConflict, "the turn is over")
	}
	if a.ChainTold == a.Turn.ID {
		return Status{"told"}, nil
	}
	d.add(&ChainStopped{Agent: a.ID, Path: d.Path(a.ID), Turn: a.Turn.ID, Hops: a.Turn.Hops})
	text := fmt.Sprintf("%s wanted to continue a chain of messages that is %d long, which is the limit, and was refused. Nobody goes on from there unless you say so.", d.Path(a.ID), a.Turn.Hops)
	d.send(Message{Message: substrat.Message{
		ID: c.ID, Team: d.Team, From: substrat.System, To: substrat.User, Kind: substrat.KindNotification, Text: text, Hops: 1,
	}})
	return Status{"told"}, nil
}

// ChainStopped means: a chain of messages was as long as it may be, and the user is told.
type ChainStopped struct {
	Agent string `json:"agent"`
	Path  string `json:"path"`
	Turn  string `json:"turn"`
	Hops  int    `json:"hops"`
}

// Type implements Fact.
func (*ChainStopped) Type() string { return "chain.stopped" }

func (x *ChainStopped) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.ChainTold = x.Turn
	return nil
}
