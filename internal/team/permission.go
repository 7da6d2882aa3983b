package team

import (
	"bytes"
	"encoding/json"
	"fmt"

	"substrat.dev/substrat"
)

// RequestPermission asks a person whether the calling agent may call a tool with these arguments. Allowing it lets one
// such call through.
type RequestPermission struct {
	ID    string
	Tool  string
	Input json.RawMessage
	// Rule says why it is asked.
	Rule string
}

// grantsMost bounds what was allowed and not used.
const grantsMost = 50

// Granted finds the item by which a person allowed this call. It is used up by the command that comes with Meta.Grant.
func (s *State) Granted(agent, tool string, input json.RawMessage) (item string) {
	if a := s.Agents[agent]; a != nil {
		for _, g := range a.Grants {
			if g.Tool == tool && sameJSON(g.Input, input) {
				return g.Item
			}
		}
	}
	return ""
}

// Grant is one call that a person allowed.
type Grant struct {
	Item  string          `json:"item"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func (c RequestPermission) decide(d *decision) (any, error) {
	a, err := d.caller()
	if err != nil {
		return nil, err
	}
	open := d.openItems(a.ID, substrat.ItemPermission)
	for _, x := range open {
		if x.Tool == c.Tool && sameJSON(x.Input, c.Input) {
			return Asked{"asked", x.ID}, nil
		}
	}
	if len(open) >= d.Limits.Questions || c.ID == "" {
		return nil, substrat.Errorf(substrat.CodeLimit, "cannot ask whether you may call %s: %d such questions are open, which is the limit", c.Tool, len(open)).
			WithHint("end your turn and wait for the answers")
	}
	d.open(a, Item{Item: substrat.Item{
		ID: c.ID, Kind: substrat.ItemPermission, Tool: c.Tool, Input: c.Input, Options: []string{"allow", "deny"}, Default: "deny",
		Deadline: ptr(d.At.Add(d.Limits.AskDeadline)),
		Text:     fmt.Sprintf("%s wants to call %s %s (%s)", d.Path(a.ID), c.Tool, clip(string(c.Input), 2000), c.Rule),
	}})
	return Asked{"asked", c.ID}, nil
}

// PermissionGranted means: a person allowed one call.
type PermissionGranted struct {
	Agent string          `json:"agent"`
	Item  string          `json:"item"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// GrantUsed means: the call was made.
type GrantUsed struct {
	Agent string `json:"agent"`
	Item  string `json:"item"`
}

// Type implements Fact.
func (*PermissionGranted) Type() string { return "permission.granted" }

// Type implements Fact.
func (*GrantUsed) Type() string { return "permission.used" }

func (x *PermissionGranted) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.Grants = append(a.Grants, Grant{x.Item, x.Tool, x.Input})
	a.Grants = a.Grants[max(0, len(a.Grants)-grantsMost):]
	return nil
}

func (x *GrantUsed) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	for i, g := range a.Grants {
		if g.Item == x.Item {
			a.Grants = append(a.Grants[:i:i], a.Grants[i+1:]...)
			break
		}
	}
	if len(a.Grants) == 0 {
		a.Grants = nil
	}
	return nil
}
