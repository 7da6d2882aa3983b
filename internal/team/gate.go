package team

import "substrat.dev/substrat"

// Gate puts an agent's gate down, or lifts it: behind it mail is queued and wakes nobody. From an agent, Agent is a
// child of its own.
type Gate struct {
	Agent string
	Down  bool
}

// Permit lets exactly one turn of a gated agent through. The gate is down again when the turn begins. A turn that was cut
// off, or that the provider's account refused, was none: nobody was told of it, and the permit holds for the next attempt.
type Permit struct {
	Agent string
}

func (c Gate) decide(d *decision) (any, error) {
	a, err := d.charge(c.Agent, "gate")
	if err != nil {
		return nil, err
	}
	if a.Gated != c.Down {
		d.add(&AgentGated{Agent: a.ID, Down: c.Down})
	}
	if c.Down {
		return Status{"gated"}, nil
	}
	return Status{"ungated"}, nil
}

func (c Permit) decide(d *decision) (any, error) {
	a, err := d.charge(c.Agent, "permit a turn of")
	if err != nil {
		return nil, err
	}
	if !a.Gated {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot permit a turn of %s: it is not gated", a.Name).
			WithHint("it runs whenever it has mail; gate it first")
	}
	if !a.Permitted {
		d.add(&TurnPermitted{Agent: a.ID})
	}
	return Status{"permitted"}, nil
}

// charge finds the agent that a command is about and checks that the caller may steer it: a person may steer all, an
// agent its children.
func (d *decision) charge(id, what string) (*Agent, error) {
	a := d.Agents[id]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot %s: no such agent, or it has ended", what)
	}
	if d.Actor.Agent != "" && a.Parent != d.Actor.Agent {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot %s %s: it is no child of yours", what, a.Name).
			WithHint("list_children shows the agents under you")
	}
	return a, nil
}

// Child finds the child that an agent means by a name.
func (s *State) Child(parent, name string) (string, error) {
	a := s.Agents[parent]
	if a == nil {
		return "", substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	if c := s.child(a, name); c != nil {
		return c.ID, nil
	}
	return "", substrat.Errorf(substrat.CodeNotFound, "no child of yours is called %.80q", name).WithHint("list_children shows the agents under you")
}

// AgentGated means: an agent's gate went down, or was lifted.
type AgentGated struct {
	Agent string `json:"agent"`
	Down  bool   `json:"down"`
}

// TurnPermitted means: one turn may pass the gate.
type TurnPermitted struct {
	Agent string `json:"agent"`
}

// Type implements Fact.
func (*AgentGated) Type() string { return "agent.gated" }

// Type implements Fact.
func (*TurnPermitted) Type() string { return "turn.permitted" }

func (x *AgentGated) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.Gated, a.Permitted = x.Down, false
	if a.Turn != nil {
		a.Turn.Permitted = false
	}
	f.mark(a.ID)
	return nil
}

func (x *TurnPermitted) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	if !a.Gated {
		return substrat.Errorf(substrat.CodeConflict, "agent %s is not gated", a.ID)
	}
	a.Permitted = true
	return nil
}
