package team

import (
	"maps"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// Annotate sets one note of an agent's metadata, or removes it when Value is nil.
type Annotate struct {
	Agent string
	Key   string
	Value *string
}

// What an agent's metadata may hold.
const (
	metadataMost      = 32
	metadataKeyMost   = 64
	metadataValueMost = 4 << 10
)

func (c Annotate) decide(d *decision) (any, error) {
	a, err := d.charge(c.Agent, "annotate")
	if err != nil {
		return nil, err
	}
	old, has := a.Metadata[c.Key]
	switch {
	case c.Key == "" || len(c.Key) > metadataKeyMost || !utf8.ValidString(c.Key):
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot note %.80q: a key has 1 to %d bytes of UTF-8", c.Key, metadataKeyMost)
	case c.Value == nil && !has, c.Value != nil && has && *c.Value == old:
		return Status{"unchanged"}, nil
	case c.Value != nil && (len(*c.Value) > metadataValueMost || !utf8.ValidString(*c.Value)):
		return nil, substrat.Errorf(substrat.CodeTooLarge, "cannot note %q: a value has at most %d bytes of UTF-8", c.Key, metadataValueMost).
			WithHint("put it in a file of the workspace and note the path")
	case c.Value != nil && !has && len(a.Metadata) >= metadataMost:
		return nil, substrat.Errorf(substrat.CodeLimit, "cannot note %q: %s has %d notes, which is the limit", c.Key, a.Name, metadataMost)
	}
	d.add(&AgentAnnotated{Agent: a.ID, Key: c.Key, Value: c.Value})
	return Status{"noted"}, nil
}

// AgentAnnotated means: a note of an agent's metadata was set, or removed when Value is null.
type AgentAnnotated struct {
	Agent string  `json:"agent"`
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// Type implements Fact.
func (*AgentAnnotated) Type() string { return "agent.annotated" }

func (x *AgentAnnotated) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	// Views hand the map out, so it is never changed in place.
	next := maps.Clone(a.Metadata)
	if next == nil {
		next = map[string]string{}
	}
	if x.Value == nil {
		delete(next, x.Key)
	} else {
		next[x.Key] = *x.Value
	}
	if len(next) == 0 {
		next = nil
	}
	a.Metadata = next
	return nil
}
