package team

import "substrat.dev/substrat"

// NoteRefusal puts on record that somebody was refused at an agent's socket.
type NoteRefusal struct {
	Agent, Turn string
	Why         string
}

// refusalText bounds what is kept of it.
const refusalText = 500

func (c NoteRefusal) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	d.add(&AccessRefused{Agent: a.ID, Path: d.Path(a.ID), Turn: c.Turn, Why: clip(clean(c.Why), refusalText)})
	return Status{"noted"}, nil
}

// AccessRefused means: somebody was refused at an agent's socket. It changes nothing.
type AccessRefused struct {
	Agent string `json:"agent"`
	Path  string `json:"path"`
	Turn  string `json:"turn,omitempty"`
	Why   string `json:"why"`
}

// Type implements Fact.
func (*AccessRefused) Type() string { return "access.refused" }

func (x *AccessRefused) fold(f *folding) error {
	_, err := f.agent(x.Agent)
	return err
}
