package team

import (
	"slices"

	"substrat.dev/substrat"
)

// Always is the answer to a permission that holds for whatever is asked again with the same content.
const Always = "always"

// approvalsMost bounds what is approved for good for one agent; the oldest is asked about again.
const approvalsMost = 500

// Approved reports whether a person approved a content for good, for this agent.
func (s *State) Approved(agent, content string) bool {
	a := s.Agents[agent]
	return a != nil && content != "" && slices.Contains(a.Approved, content)
}

// approve keeps a person's word about a content.
func (d *decision) approve(x *Item, answer substrat.Answer) {
	if x.Kind != substrat.ItemPermission || x.Content == "" || !slices.Contains(answer.Choices, Always) {
		return
	}
	d.add(&ContentApproved{Agent: x.AgentID, Item: x.ID, Tool: x.Tool, Content: x.Content})
}

// ContentApproved means: a person approved, for good, what has exactly this content.
type ContentApproved struct {
	Agent   string `json:"agent"`
	Item    string `json:"item"`
	Tool    string `json:"tool,omitempty"`
	Content string `json:"content"`
}

// Type implements Fact.
func (*ContentApproved) Type() string { return "permission.kept" }

func (x *ContentApproved) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	// Copies of agents are handed out, so the list is not changed in place.
	next := append(slices.Clone(a.Approved), x.Content)
	a.Approved = next[max(0, len(next)-approvalsMost):]
	return nil
}
