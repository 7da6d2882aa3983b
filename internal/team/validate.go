package team

import "substrat.dev/substrat"

// validate refuses a snapshot that does not hold together: what is accepted can be used without looking again.
func (s *State) validate() error {
	broken := func(format string, args ...any) error {
		return substrat.Errorf(substrat.CodeStorage, "cannot use the snapshot of team %s: "+format, append([]any{s.Team}, args...)...)
	}
	for id, m := range s.Messages {
		if m == nil || m.ID != id {
			return broken("message %s is damaged", id)
		}
	}
	for id, b := range s.Broadcasts {
		if b == nil {
			return broken("broadcast %s is damaged", id)
		}
	}
	for id, a := range s.Agents {
		if a == nil || a.ID != id {
			return broken("agent %s is damaged", id)
		}
		for _, m := range append(append([]string(nil), a.Queue...), a.Awaits...) {
			if s.Messages[m] == nil {
				return broken("agent %s names message %s, which is not there", id, m)
			}
		}
		for _, c := range a.Children {
			if s.Agents[c] == nil || s.Agents[c].Parent != id {
				return broken("agent %s names child %s, which is not there", id, c)
			}
		}
		if !s.rooted(a) {
			return broken("agent %s has no way to the root", id)
		}
	}
	return nil
}

// rooted follows an agent's parents to one without, in no more steps than there are agents.
func (s *State) rooted(a *Agent) bool {
	for range len(s.Agents) {
		if a.Parent == "" {
			return a.ID == s.Team
		}
		if a = s.Agents[a.Parent]; a == nil {
			return false
		}
	}
	return false
}
