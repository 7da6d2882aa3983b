package team

import (
	"slices"

	"substrat.dev/substrat"
)

// View shows a live agent as listings do; of one that is not there, the zero Agent.
func (s *State) View(id string) substrat.Agent {
	a := s.Agents[id]
	if a == nil {
		return substrat.Agent{}
	}
	v := substrat.Agent{
		ID: a.ID, Name: a.Name, Path: s.Path(id), State: s.stateOf(a), Provider: a.Provider, Role: a.Role,
		Parent: s.Path(a.Parent), Team: s.Team, Pending: len(a.Queue), Turns: a.Turns, Sandbox: a.Sandbox, Network: a.Network,
		Model: a.Model, Dir: a.Dir, Session: a.Session, LastError: a.LastError, Metadata: a.Metadata,
		Instructions: a.Instructions, CreatedAt: a.CreatedAt, Gated: a.Gated, Permitted: a.Permitted, Command: a.Command, Limits: a.Limits,
	}
	if w := s.Workspaces[a.Workspace]; w != nil {
		v.Workspace, v.Dir = w.Name, s.Living(id).Dir()
	}
	s.viewSpending(a, &v)
	if a.Turn != nil {
		v.Turn = a.Turn.ID
	}
	for _, m := range a.Awaits {
		v.WaitingFor = append(v.WaitingFor, s.Messages[m].To)
	}
	if s.asks(a.ID) {
		v.WaitingFor = append(v.WaitingFor, substrat.User)
	}
	if !a.RetryAt.IsZero() && len(a.Queue) > 0 {
		v.RetryAt = ptr(a.RetryAt)
	}
	return v
}

func (s *State) stateOf(a *Agent) substrat.AgentState {
	switch {
	case a.Turn != nil:
		return substrat.Busy
	case a.Gated:
		return substrat.Gated
	case len(a.Awaits) > 0 || s.asks(a.ID):
		return substrat.Waiting
	case a.Failed:
		return substrat.Failed
	default:
		return substrat.Idle
	}
}

// asks reports whether an agent waits for a person's word.
func (s *State) asks(agent string) bool {
	for id := range s.items[agent] {
		switch s.Items[id].Kind {
		case substrat.ItemQuestion, substrat.ItemPermission, substrat.ItemPlan:
			return true
		}
	}
	return false
}

func (s *State) viewSpending(a *Agent, v *substrat.Agent) {
	for _, b := range a.Budgets {
		v.Budgets = append(v.Budgets, b.Budget)
	}
	if a.Below.Total != (substrat.Spent{}) {
		own, below := a.Own.Total, a.Below.Total
		v.Spent, v.SpentBelow = &own, &below
	}
}

// Walk lists a team's live agents, parents before children, in order of creation.
func (s *State) Walk() []string {
	root := s.Root()
	if root == nil {
		return nil
	}
	var out []string
	var walk func(a *Agent)
	walk = func(a *Agent) {
		out = append(out, a.ID)
		for _, c := range a.Children {
			walk(s.Agents[c])
		}
	}
	walk(root)
	return out
}

// Inspection is what inspect_agent answers.
type Inspection struct {
	Name           string              `json:"name"`
	State          substrat.AgentState `json:"state"`
	Role           substrat.Role       `json:"role"`
	Pending        int                 `json:"pending"`
	Turns          int                 `json:"turns"`
	WaitingFor     []string            `json:"waiting_for,omitempty"`
	LastError      string              `json:"last_error,omitempty"`
	Gated          bool                `json:"gated,omitempty"`
	Metadata       map[string]string   `json:"metadata,omitempty"`
	RecentMessages []Heard             `json:"recent_messages,omitempty"`
	RecentActivity []Brief             `json:"recent_activity,omitempty"`
}

// Inspect shows an agent to another: a subordinate in full, a sibling or the parent in brief.
func (s *State) Inspect(caller, name string) (Inspection, error) {
	from := s.Agents[caller]
	if from == nil {
		return Inspection{}, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	a := s.neighbour(from, name)
	if a == nil {
		return Inspection{}, substrat.Errorf(substrat.CodeNotFound, "cannot inspect %.80q: no parent, sibling or child of that name", name).
			WithHint("list_children shows the agents under you")
	}
	v := s.View(a.ID)
	i := Inspection{Name: a.Name, State: v.State, Role: a.Role, Pending: v.Pending, Turns: v.Turns, WaitingFor: v.WaitingFor, LastError: v.LastError}
	if a.Parent == from.ID {
		i.Gated = a.Gated
		i.Metadata, i.RecentMessages, i.RecentActivity = a.Metadata, slices.Clone(a.Heard), slices.Clone(a.Recent)
	}
	return i, nil
}

// Child is one row of list_children.
type Child struct {
	Name     string              `json:"name"`
	AgentID  string              `json:"agent_id"`
	State    substrat.AgentState `json:"state"`
	Role     substrat.Role       `json:"role"`
	Pending  int                 `json:"pending"`
	Gated    bool                `json:"gated"`
	Metadata map[string]string   `json:"metadata,omitempty"`
}

// Children lists the agents directly under one.
func (s *State) Children(caller string) []Child {
	out := []Child{}
	from := s.Agents[caller]
	if from == nil {
		return out
	}
	for _, id := range from.Children {
		a := s.Agents[id]
		out = append(out, Child{Name: a.Name, AgentID: id, State: s.stateOf(a), Role: a.Role, Pending: len(a.Queue), Gated: a.Gated, Metadata: a.Metadata})
	}
	return out
}
