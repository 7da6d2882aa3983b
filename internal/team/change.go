package team

import (
	"maps"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// Change sets what a person may change of an agent that exists. Nil fields stay as they are; the next turn has the new.
type Change struct {
	Agent        string
	Instructions *string
	Model        *string
	Role         *substrat.Role
	Metadata     map[string]string
	Limits       *substrat.TurnLimits
	Command      []string
}

func (c Change) decide(d *decision) (any, error) {
	a, err := d.charge(c.Agent, "change")
	if err != nil {
		return nil, err
	}
	if d.Actor.Agent != "" {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot change %s: only a person may", a.Name)
	}
	for _, text := range []*string{c.Instructions, c.Model} {
		if text != nil && (!utf8.ValidString(*text) || len(*text) > d.Limits.TextBytes) {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot change %s: a text is not UTF-8, or too long", a.Name)
		}
	}
	if c.Role != nil && *c.Role != substrat.Worker && *c.Role != substrat.Reviewer && *c.Role != substrat.Manager {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot change %s: no role %.40q", a.Name, *c.Role).WithHint("worker, reviewer or manager")
	}
	x := &AgentChanged{Agent: a.ID, Instructions: c.Instructions, Model: c.Model, Role: c.Role, Metadata: c.Metadata, Limits: c.Limits, Command: c.Command}
	d.add(x)
	return Status{"changed"}, nil
}

// AgentChanged means: a person changed an agent. What is null stays as it was.
type AgentChanged struct {
	Agent        string               `json:"agent"`
	Instructions *string              `json:"instructions,omitempty"`
	Model        *string              `json:"model,omitempty"`
	Role         *substrat.Role       `json:"role,omitempty"`
	Metadata     map[string]string    `json:"metadata,omitempty"`
	Limits       *substrat.TurnLimits `json:"limits,omitempty"`
	Command      []string             `json:"command,omitempty"`
}

// Type implements Fact.
func (*AgentChanged) Type() string { return "agent.changed" }

func (x *AgentChanged) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	if x.Instructions != nil {
		a.Instructions = *x.Instructions
	}
	if x.Model != nil {
		a.Model = *x.Model
	}
	if x.Role != nil {
		a.Role = *x.Role
	}
	if x.Metadata != nil {
		a.Metadata = maps.Clone(x.Metadata)
	}
	if x.Limits != nil {
		a.Limits = x.Limits
	}
	if x.Command != nil {
		a.Command = x.Command
	}
	return nil
}
