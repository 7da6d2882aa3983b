package team

import (
	"slices"

	"substrat.dev/substrat"
)

// validate refuses a snapshot that does not hold together: what is accepted can be used, and folded on, without looking
// again. An ended team has no agents and passes.
func (s *State) validate() error {
	v := &validation{State: s, places: map[string]bool{}, awaited: map[string]bool{}, turns: map[string]bool{}}
	if s.Team == "" || s.Seq < 0 || len(s.Agents) > 0 && s.Root() == nil {
		return v.broken("it has no root")
	}
	if err := v.identities(); err != nil {
		return err
	}
	if err := v.tree(); err != nil {
		return err
	}
	if err := v.holdings(); err != nil {
		return err
	}
	for id, a := range s.Agents {
		if err := v.agent(a); err != nil {
			return v.broken("agent %s: %v", id, err)
		}
	}
	for id, m := range s.Messages {
		if err := v.message(m); err != nil {
			return v.broken("message %s: %v", id, err)
		}
	}
	for id, b := range s.Broadcasts {
		if err := v.broadcast(id, b); err != nil {
			return v.broken("broadcast %s: %v", id, err)
		}
	}
	return nil
}

// validation goes through a snapshot. It notes the messages that were found in a mailbox or a turn, the requests that
// somebody waits for, and the open turns.
type validation struct {
	*State
	places, awaited, turns map[string]bool
}

// broken is why a part of a snapshot, or all of it, cannot be used.
func (v *validation) broken(format string, args ...any) error {
	return substrat.Errorf(substrat.CodeStorage, "cannot use the snapshot of team %.80q: "+format, append([]any{v.Team}, args...)...)
}

// part is the same within a part: the whole adds where.
func part(format string, args ...any) error {
	return substrat.Errorf(substrat.CodeStorage, format, args...)
}

// identities: everything is there, under its own id.
func (v *validation) identities() error {
	for id, a := range v.Agents {
		if a == nil || id == "" || a.ID != id || CheckName(a.Name) != nil {
			return v.broken("agent %.80q is damaged", id)
		}
	}
	for id, m := range v.Messages {
		if m == nil || id == "" || m.ID != id {
			return v.broken("message %.80q is damaged", id)
		}
	}
	for id, b := range v.Broadcasts {
		if b == nil || id == "" {
			return v.broken("broadcast %.80q is damaged", id)
		}
	}
	return nil
}

// tree: every agent but the root is once among its parent's children, and all hang on the root.
func (v *validation) tree() error {
	root := v.Root()
	if root == nil {
		return nil
	}
	if root.Parent != "" {
		return v.broken("its root has a parent")
	}
	reached := map[string]bool{root.ID: true}
	for queue := []*Agent{root}; len(queue) > 0; queue = queue[1:] {
		names := map[string]bool{}
		for _, id := range queue[0].Children {
			c := v.Agents[id]
			if c == nil || c.Parent != queue[0].ID || reached[id] || names[c.Name] {
				return v.broken("agent %s names child %.80q, which is not its own", queue[0].ID, id)
			}
			reached[id], names[c.Name] = true, true
			queue = append(queue, c)
		}
	}
	if len(reached) != len(v.Agents) {
		return v.broken("%d of its agents hang on nothing", len(v.Agents)-len(reached))
	}
	return nil
}

// agent: its mail is its own, in one place and in order; it waits for requests of its own.
func (v *validation) agent(a *Agent) error {
	if min(a.Turns, a.Attempts, a.Interrupts) < 0 {
		return part("it counts below zero")
	}
	last := int64(0)
	for _, id := range a.Queue {
		m, err := v.place(a, id, substrat.Queued)
		if err != nil {
			return err
		}
		if m.Seq < last {
			return part("its mailbox is out of order at message %s", id)
		}
		last = m.Seq
	}
	if a.Turn == nil && a.Completing != nil || a.Parent == "" && a.Completing != nil {
		return part("it cannot be completing")
	}
	if err := v.turn(a); err != nil {
		return err
	}
	for _, id := range a.Awaits {
		if m := v.Messages[id]; m == nil || m.FromID != a.ID || m.Kind != substrat.KindRequest || v.awaited[id] {
			return part("it waits for %.80q, which is no open request of its own", id)
		}
		v.awaited[id] = true
	}
	return nil
}

// turn: the open turn is the only one of its id, and what is in it and not final was injected into it.
func (v *validation) turn(a *Agent) error {
	t := a.Turn
	if t == nil {
		return nil
	}
	if t.ID == "" || v.turns[t.ID] {
		return part("its turn %.80q is damaged", t.ID)
	}
	v.turns[t.ID] = true
	for _, id := range slices.Concat(t.Prompted, t.Taken) {
		if v.Messages[id] == nil {
			continue
		}
		if m, err := v.place(a, id, substrat.Injected); err != nil {
			return err
		} else if m.Turn != t.ID {
			return part("message %s is of another turn", id)
		}
	}
	return nil
}

// place notes where a message is, and refuses a second place.
func (v *validation) place(a *Agent, id string, state substrat.MessageState) (*Message, error) {
	m := v.Messages[id]
	if m == nil || m.ToID != a.ID || m.State != state || v.places[id] {
		return nil, part("message %.80q is not %s for it, or is so twice", id, state)
	}
	v.places[id] = true
	return m, nil
}

// message: it is in a mailbox or a turn, or is a request that waits for nothing but its reply.
func (v *validation) message(m *Message) error {
	from := v.Agents[m.FromID]
	switch {
	case m.State == substrat.Held && (v.Items[m.Item] == nil || v.Items[m.Item].Message != m.ID || v.Agents[m.ToID] == nil):
		return part("it is held, and nobody is asked about it")
	case m.Seq < 0 || m.Seq > v.Seq || min(m.Failures, m.Cuts, m.Attempts) < 0:
		return part("its numbers make no sense")
	case !v.places[m.ID] && m.State != substrat.Held && (m.State != substrat.Handled || m.Kind != substrat.KindRequest || from == nil || v.Agents[m.ToID] == nil):
		return part("it is %.40q and nowhere", m.State)
	case m.Kind == substrat.KindRequest && from != nil && !v.awaited[m.ID]:
		return part("its sender does not wait for it")
	}
	return nil
}

// broadcast: its sender is alive and waits for every open request of it.
func (v *validation) broadcast(id string, b *Broadcast) error {
	if v.Agents[b.From] == nil || len(b.Open) == 0 {
		return part("it is settled and not closed")
	}
	seen := map[string]bool{}
	for _, open := range b.Open {
		if m := v.Messages[open]; m == nil || m.Broadcast != id || m.FromID != b.From || !v.awaited[open] || seen[open] {
			return part("%.80q is no open request of it", open)
		}
		seen[open] = true
	}
	return nil
}
