package team

import (
	"regexp"
	"strings"

	"substrat.dev/substrat"
)

// nameForm keeps names usable in paths, file names and prompts.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// uuidForm would make a name ambiguous with an id.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

// CheckName reports why a name may not be used for an agent.
func CheckName(name string) error {
	switch {
	case !nameForm.MatchString(name) || uuidForm.MatchString(name):
		return substrat.Errorf(substrat.CodeInvalid, "cannot use %.80q as a name", name).
			WithHint("1 to 63 letters, digits, dots, dashes or underscores, beginning with a letter or digit, and not a UUID")
	case strings.EqualFold(name, substrat.User), strings.EqualFold(name, substrat.System):
		return substrat.Errorf(substrat.CodeInvalid, "cannot use %q as a name: it stands for someone else", name)
	}
	return nil
}

// Path gives an agent's place in the tree: "lead/coder".
func (s *State) Path(id string) string {
	a := s.Agents[id]
	if a == nil {
		return ""
	}
	if a.Parent == "" {
		return a.Name
	}
	return s.Path(a.Parent) + "/" + a.Name
}

// Root returns the root agent, nil once the team has ended.
func (s *State) Root() *Agent { return s.Agents[s.Team] }

// ByPath finds a live agent by its full path.
func (s *State) ByPath(path string) *Agent {
	parts := strings.Split(path, "/")
	a := s.Root()
	if a == nil || a.Name != parts[0] {
		return nil
	}
	for _, name := range parts[1:] {
		if a = s.child(a, name); a == nil {
			return nil
		}
	}
	return a
}

func (s *State) child(a *Agent, name string) *Agent { return s.Agents[s.names[a.ID][name]] }

// depth counts levels from the root, which is 1.
func (s *State) depth(a *Agent) int {
	n := 1
	for a.Parent != "" {
		a = s.Agents[a.Parent]
		n++
	}
	return n
}

// subtree lists an agent and everything under it, parents first.
func (s *State) subtree(a *Agent) []*Agent {
	all := []*Agent{a}
	for i := 0; i < len(all); i++ {
		for _, id := range all[i].Children {
			all = append(all, s.Agents[id])
		}
	}
	return all
}

// neighbour finds whom an agent can reach under a name: its parent, a sibling or a child.
func (s *State) neighbour(a *Agent, name string) *Agent {
	if p := s.Agents[a.Parent]; p != nil {
		if p.Name == name {
			return p
		}
		if c := s.child(p, name); c != nil && c != a {
			return c
		}
	}
	return s.child(a, name)
}

// reachable names everyone an agent can write to, for error hints.
func (s *State) reachable(a *Agent) []string {
	var names []string
	if p := s.Agents[a.Parent]; p != nil {
		names = append(names, p.Name)
		for _, c := range s.siblings(a) {
			names = append(names, c.Name)
		}
	} else {
		names = append(names, substrat.User)
	}
	for _, id := range a.Children {
		names = append(names, s.Agents[id].Name)
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return names
}

func (s *State) siblings(a *Agent) []*Agent {
	p := s.Agents[a.Parent]
	if p == nil {
		return nil
	}
	var out []*Agent
	for _, id := range p.Children {
		if id != a.ID {
			out = append(out, s.Agents[id])
		}
	}
	return out
}

// checkFree refuses a child's name that someone in its neighbourhood, or in that of its siblings or its parent,
// already has: otherwise one name would mean two agents to somebody.
func (s *State) checkFree(parent *Agent, name string) error {
	taken := func(who string) error {
		return substrat.Errorf(substrat.CodeNameTaken, "cannot use the name %q: %s has it", name, who).
			WithHint("names are unique among an agent's parent, siblings and children")
	}
	if s.child(parent, name) != nil {
		return taken("a child of " + s.Path(parent.ID))
	}
	if parent.Name == name {
		return taken("the parent")
	}
	if pp := s.Agents[parent.Parent]; pp != nil {
		if pp.Name == name || s.child(pp, name) != nil {
			return taken("a neighbour of " + s.Path(parent.ID))
		}
	}
	if s.grand[parent.ID][name] == 0 {
		return nil
	}
	for _, id := range parent.Children {
		if s.child(s.Agents[id], name) != nil {
			return taken("a child of " + s.Path(id))
		}
	}
	return nil
}
