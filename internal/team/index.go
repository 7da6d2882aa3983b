package team

import (
	"slices"

	"substrat.dev/substrat"
)

// index is what is derived from the rest of a state, so that no question about one agent costs a look at all of them.
// It is rebuilt after a snapshot is loaded and kept up by the fold.
type index struct {
	// candidates are agents with mail and no open turn; open are those with an open turn.
	candidates, open map[string]struct{}
	// due are requests with a deadline; handled those whose turn completed and whose reply is still to be folded.
	due, handled map[string]struct{}
	// names finds a child by its parent's id and its name; grand counts the names of an agent's grandchildren.
	names map[string]map[string]string
	grand map[string]map[string]int
	// below counts the agents under one, at any depth.
	below map[string]int
	// items are the open items about an agent; reminded are the agents with reminders.
	items    map[string]map[string]struct{}
	reminded map[string]struct{}
	// watched are the subscribers to an agent's states, seen how it was when they were last looked at.
	watched map[string][]string
	seen    map[string]sight
	// marked, firings and metered live within one transaction: whose state may have changed, what subscribers have not
	// been told, whose spending has grown. [Settle] works them off.
	marked  []string
	firings []firing
	metered []string
}

// reindex rebuilds what is derived.
func (s *State) reindex() {
	s.index = index{
		candidates: map[string]struct{}{}, open: map[string]struct{}{}, due: map[string]struct{}{}, handled: map[string]struct{}{},
		names: map[string]map[string]string{}, grand: map[string]map[string]int{}, below: map[string]int{},
		items: map[string]map[string]struct{}{}, reminded: map[string]struct{}{}, watched: map[string][]string{}, seen: map[string]sight{},
	}
	for _, x := range s.Items {
		s.enterItem(x)
	}
	for _, a := range s.Agents {
		s.enter(a)
		s.touch(a)
		if len(a.Reminders) > 0 {
			s.reminded[a.ID] = struct{}{}
		}
	}
	s.marked = nil
	for _, id := range s.Walk() {
		for _, sub := range s.Agents[id].Subscriptions {
			s.watch(id, sub.Target)
		}
	}
	for _, m := range s.Messages {
		if m.expires() {
			s.due[m.ID] = struct{}{}
		}
		if m.State == substrat.Handled {
			s.handled[m.ID] = struct{}{}
		}
	}
}

// enter adds a live agent to what is known of the tree. Its ancestors are there already.
func (s *State) enter(a *Agent) {
	p := s.Agents[a.Parent]
	if p == nil {
		return
	}
	if s.names[p.ID] == nil {
		s.names[p.ID] = map[string]string{}
	}
	s.names[p.ID][a.Name] = a.ID
	if p.Parent != "" {
		if s.grand[p.Parent] == nil {
			s.grand[p.Parent] = map[string]int{}
		}
		s.grand[p.Parent][a.Name]++
	}
	for up := p; up != nil; up = s.Agents[up.Parent] {
		s.below[up.ID]++
	}
}

// leave takes an agent that ended out of the tree. It has no children any more.
func (s *State) leave(a *Agent) {
	delete(s.names, a.ID)
	delete(s.grand, a.ID)
	delete(s.below, a.ID)
	p := s.Agents[a.Parent]
	if p == nil {
		return
	}
	if delete(s.names[p.ID], a.Name); len(s.names[p.ID]) == 0 {
		delete(s.names, p.ID)
	}
	if g := s.grand[p.Parent]; g != nil {
		if less(g, a.Name); len(g) == 0 {
			delete(s.grand, p.Parent)
		}
	}
	for up := p; up != nil; up = s.Agents[up.Parent] {
		less(s.below, up.ID)
	}
}

// less counts one down. What is at zero is not kept: a rebuilt index does not have it either.
func less(counts map[string]int, key string) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

func (s *State) enterItem(x *Item) {
	if s.items[x.AgentID] == nil {
		s.items[x.AgentID] = map[string]struct{}{}
	}
	s.items[x.AgentID][x.ID] = struct{}{}
}

func (s *State) leaveItem(x *Item) {
	if delete(s.items[x.AgentID], x.ID); len(s.items[x.AgentID]) == 0 {
		delete(s.items, x.AgentID)
	}
}

// touch puts an agent where it belongs among those that may run and those that do.
func (s *State) touch(a *Agent) {
	s.mark(a.ID)
	delete(s.candidates, a.ID)
	delete(s.open, a.ID)
	if s.Agents[a.ID] == nil {
		return
	}
	switch {
	case a.Turn != nil:
		s.open[a.ID] = struct{}{}
	case len(a.Queue) > 0:
		s.candidates[a.ID] = struct{}{}
	}
}

// remove takes an id out of a list in place. Most that leave are the first or the last of their list, so those are
// looked at before the others. An empty list is nil, as it comes back from a snapshot.
func remove(ids []string, id string) []string {
	switch n := len(ids); {
	case n > 0 && ids[n-1] == id:
		ids = ids[:n-1]
	case n > 0 && ids[0] == id:
		ids = ids[1:]
	default:
		if i := slices.Index(ids, id); i >= 0 {
			ids = slices.Delete(ids, i, i+1)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return ids
}
