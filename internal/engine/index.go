package engine

import (
	"context"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// index finds live agents by id and name. It is derived from the states.
type index struct {
	// team is the team of each live agent, name its bare name, names the agents of each bare name, roots the team of
	// each root's name.
	team  map[string]string
	name  map[string]string
	names map[string]map[string]struct{}
	roots map[string]string
	// ended remembers the last event of teams that ended, until their snapshot says so.
	ended map[string]int64
}

func newIndex() index {
	return index{team: map[string]string{}, name: map[string]string{}, names: map[string]map[string]struct{}{}, roots: map[string]string{}, ended: map[string]int64{}}
}

// add enters a whole team.
func (x *index) add(s *team.State) {
	for _, a := range s.Agents {
		x.enter(s.Team, a.ID, a.Name, a.Parent)
	}
}

func (x *index) enter(teamID, id, name, parent string) {
	x.team[id], x.name[id] = teamID, name
	if x.names[name] == nil {
		x.names[name] = map[string]struct{}{}
	}
	x.names[name][id] = struct{}{}
	if parent == "" {
		x.roots[name] = teamID
	}
}

// note follows one fact that was just folded into s.
func (x *index) note(s *team.State, f team.Fact) {
	switch f := f.(type) {
	case *team.AgentCreated:
		x.enter(s.Team, f.Agent.ID, f.Agent.Name, f.Agent.Parent)
	case *team.AgentTerminated:
		for _, id := range f.Agents {
			x.leave(id)
		}
		if len(s.Agents) == 0 {
			x.ended[s.Team] = s.Seq
		}
	}
}

func (x *index) leave(id string) {
	name := x.name[id]
	delete(x.team, id)
	delete(x.name, id)
	delete(x.names[name], id)
	if len(x.names[name]) == 0 {
		delete(x.names, name)
	}
	if x.roots[name] == id {
		delete(x.roots, name)
	}
}

// find resolves a path, a bare name that fits one agent, or an id. Caller holds mu or names.
func (e *Engine) find(ref string) (*team.State, string, error) {
	if t, ok := e.index.team[ref]; ok {
		return e.teams[t], ref, nil
	}
	root, _, _ := strings.Cut(ref, "/")
	if t, ok := e.index.roots[root]; ok {
		if a := e.teams[t].ByPath(ref); a != nil {
			return e.teams[t], a.ID, nil
		}
	}
	ids := e.index.names[ref]
	if len(ids) > 1 {
		return nil, "", substrat.Errorf(substrat.CodeAmbiguous, "the name %q fits %d agents", ref, len(ids)).WithHint("use a path: substrat agent ls shows them")
	}
	for id := range ids {
		return e.teams[e.index.team[id]], id, nil
	}
	return nil, "", substrat.Errorf(substrat.CodeNotFound, "no agent %.80q", ref).WithHint("substrat agent ls shows the agents there are")
}

// resolve is find for those who do not hold mu. It does not wait for a batch that is on its way to the disk: an agent
// that is not durable yet may be found, and a command for it is then decided after it.
func (e *Engine) resolve(ref string) (teamID, id string, err error) {
	e.names.RLock()
	defer e.names.RUnlock()
	s, id, err := e.find(ref)
	if err != nil {
		return "", "", err
	}
	return s.Team, id, nil
}

// Look shows the durable state of one team. f must neither keep nor change it.
func (e *Engine) Look(_ context.Context, teamID string, f func(*team.State) error) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := e.teams[teamID]
	if s == nil {
		return substrat.Errorf(substrat.CodeNotFound, "no such team, or it has ended")
	}
	return f(s)
}
