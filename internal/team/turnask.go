package team

import (
	"encoding/json"

	"substrat.dev/substrat"
)

// AskInTurn puts into the person's queue what an agent's CLI asks in the middle of a turn and waits for. The answer is no
// message: whoever runs the turn hands it to the process. It is withdrawn when the turn ends.
//
// ID is derived from the turn and the CLI's own id of the question: one that is asked again, as after a restart of the
// daemon, is the same.
type AskInTurn struct {
	ID   string
	Kind substrat.ItemKind // question, permission or plan
	Text string
	// Options are what can be answered; without them any text answers, as it does beside them with Free.
	Options        []string
	Multiple, Free bool
	// Default is what is taken when nobody answers in time.
	Default string
	// Tool and Input are what a permission is for.
	Tool  string
	Input json.RawMessage
	// Content is the sum of all that a permission is for: what the answer Always holds for.
	Content string
}

func (c AskInTurn) decide(d *decision) (any, error) {
	a, err := d.caller()
	if err != nil {
		return nil, err
	}
	if d.Items[c.ID] != nil {
		return Asked{"asked", c.ID}, nil
	}
	if c.ID == "" || a.Turn == nil {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot ask in a turn: none is open")
	}
	text := clip(clean(c.Text), d.Limits.TextBytes)
	if err := d.checkText(text); err != nil {
		return nil, err
	}
	if err := d.checkOptions(Ask{Options: c.Options, Default: c.Default}); err != nil {
		return nil, err
	}
	waiting := 0
	for id := range d.items[a.ID] {
		if d.Items[id].Waits {
			waiting++
		}
	}
	if waiting >= d.Limits.Questions {
		return nil, substrat.Errorf(substrat.CodeLimit, "cannot ask: %d questions of this turn are not answered, which is the limit", waiting)
	}
	d.open(a, Item{Waits: true, Content: c.Content, Item: substrat.Item{
		ID: c.ID, Kind: c.Kind, Text: text, Options: c.Options, Multiple: c.Multiple, Free: c.Free || len(c.Options) == 0,
		Default: c.Default, Tool: c.Tool, Input: c.Input, Deadline: ptr(d.At.Add(d.Limits.AskDeadline)),
	}})
	return Asked{"asked", c.ID}, nil
}
