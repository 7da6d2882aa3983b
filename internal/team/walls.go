package team

import "substrat.dev/substrat"

// NoteWalls puts on record what an agent's sandbox does not hold.
type NoteWalls struct {
	Agent, Turn string
	Open        string
}

// wallsText bounds what is kept of it.
const wallsText = 2000

func (c NoteWalls) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	d.add(&WallsNoted{Agent: a.ID, Path: d.Path(a.ID), Turn: c.Turn, Sandbox: a.Sandbox, Open: clip(clean(c.Open), wallsText)})
	return Status{"noted"}, nil
}

// WallsNoted means: a process starts in a sandbox that is no full wall, and Open is what it leaves. It changes nothing.
type WallsNoted struct {
	Agent   string           `json:"agent"`
	Path    string           `json:"path"`
	Turn    string           `json:"turn"`
	Sandbox substrat.Sandbox `json:"sandbox"`
	Open    string           `json:"open"`
}

// Type implements Fact.
func (*WallsNoted) Type() string { return "sandbox.partial" }

func (x *WallsNoted) fold(f *folding) error {
	_, err := f.agent(x.Agent)
	return err
}
