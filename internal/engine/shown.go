package engine

import (
	"bytes"
	"encoding/json"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
)

// shown takes secrets out of a turn's events on their way to whoever reads them. The spool has none of the known ones, but a
// model writes its text in pieces, and what only looks like a secret is in it. It is for one reader.
type shown struct {
	set           *redact.Set
	emit          func(agentcli.Event) error
	text, thought *redact.Prose
}

func newShown(set *redact.Set, emit func(agentcli.Event) error) *shown {
	return &shown{set: set, emit: emit, text: set.Prose(), thought: set.Prose()}
}

// take passes an event on. Text comes a word at a time: the rest of it before the next event of another kind.
func (s *shown) take(ev agentcli.Event) error {
	if len(ev.Raw) > 0 {
		ev.Raw = s.set.ShownJSON(ev.Raw)
	}
	switch ev.Type {
	case agentcli.EventText:
		if err := s.rest(s.thought, agentcli.EventThinking, ev.Offset); err != nil {
			return err
		}
		return s.piece(s.text, ev)
	case agentcli.EventThinking:
		if err := s.rest(s.text, agentcli.EventText, ev.Offset); err != nil {
			return err
		}
		return s.piece(s.thought, ev)
	}
	if err := s.end(ev.Offset); err != nil {
		return err
	}
	s.clean(&ev)
	return s.emit(ev)
}

// piece passes on what of a text is sure. An event of which nothing is left is kept for its frame.
func (s *shown) piece(p *redact.Prose, ev agentcli.Event) error {
	had := ev.Text != ""
	ev.Text = p.Push(ev.Text)
	if had && ev.Text == "" && len(ev.Raw) == 0 {
		return nil
	}
	return s.emit(ev)
}

// end passes on what is held of texts.
func (s *shown) end(offset int64) error {
	if err := s.rest(s.thought, agentcli.EventThinking, offset); err != nil {
		return err
	}
	return s.rest(s.text, agentcli.EventText, offset)
}

func (s *shown) rest(p *redact.Prose, kind agentcli.EventType, offset int64) error {
	if text := p.End(); text != "" {
		return s.emit(agentcli.Event{Type: kind, Text: text, Offset: offset})
	}
	return nil
}

// clean replaces what an event holds by what may be shown of it. What is shared with the decoder is not changed.
func (s *shown) clean(ev *agentcli.Event) {
	ev.Text = s.set.Shown(ev.Text)
	if ev.Tool != nil {
		c := *ev.Tool
		c.Title, c.Output, c.Error, c.Diff = s.set.Shown(c.Title), s.set.Shown(c.Output), s.set.Shown(c.Error), s.set.Shown(c.Diff)
		if len(c.Input) > 0 {
			c.Input = s.set.ShownJSON(c.Input)
		}
		ev.Tool = &c
	}
	if ev.Result != nil {
		r := *ev.Result
		r.Text, r.Detail = s.set.Shown(r.Text), s.set.Shown(r.Detail)
		ev.Result = &r
	}
	ev.Todos, ev.Ask, ev.Answer = cleanJSON(s.set, ev.Todos), cleanJSON(s.set, ev.Ask), cleanJSON(s.set, ev.Answer)
}

// cleanJSON takes secrets out of a value with many texts.
func cleanJSON[T any](set *redact.Set, v T) T {
	data, err := json.Marshal(v)
	if err != nil || string(data) == "null" {
		return v
	}
	var out T
	if clean := set.ShownJSON(data); bytes.Equal(clean, data) || json.Unmarshal(clean, &out) != nil {
		return v
	}
	return out
}
