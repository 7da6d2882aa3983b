package team

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// How much of the past an agent carries for inspect_agent.
const (
	keepBriefs    = 5
	keepHeard     = 5
	keepBriefText = 500
)

// Apply folds one entry into the state and returns what left it. Entries come in the order of the journal. An entry that
// does not fit the state is an error and leaves the state as it was.
func (s *State) Apply(e Entry) ([]Retired, error) {
	if e.Fact == nil {
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot fold event %d of team %s: it holds no fact", s.Seq+1, s.Team)
	}
	f := &folding{State: s, at: e.At}
	if err := e.Fact.fold(f); err != nil {
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot fold event %d of team %s (%s): %v", s.Seq+1, s.Team, e.Fact.Type(), err)
	}
	if e.Key != "" {
		f.remember(e)
	}
	s.observe()
	s.Seq++
	return f.retired, nil
}

// remember keeps a tool call's answer for as long as its turn is open.
func (f *folding) remember(e Entry) {
	turn, key := splitKey(e.Key)
	t := f.openTurn(turn)
	if t == nil {
		return
	}
	if t.Answers == nil {
		t.Answers = map[string]json.RawMessage{}
	}
	t.Answers[key] = e.Answer
}

func (f *folding) agent(id string) (*Agent, error) {
	if a := f.Agents[id]; a != nil {
		return a, nil
	}
	return nil, substrat.Errorf(substrat.CodeNotFound, "no agent %s", id)
}

// turn finds the open turn of an agent.
func (f *folding) turn(agent, turn string) (*Agent, error) {
	a, err := f.agent(agent)
	if err != nil {
		return nil, err
	}
	if a.Turn == nil || a.Turn.ID != turn {
		return nil, substrat.Errorf(substrat.CodeConflict, "turn %s is not open", turn)
	}
	return a, nil
}

func (x *AgentCreated) fold(f *folding) error {
	a := x.Agent
	switch {
	case a.ID == "" || f.Agents[a.ID] != nil:
		return substrat.Errorf(substrat.CodeConflict, "agent %q exists", a.ID)
	case CheckName(a.Name) != nil:
		return substrat.Errorf(substrat.CodeConflict, "agent %s cannot be called %q", a.ID, a.Name)
	case len(a.Children)+len(a.Queue)+len(a.Awaits)+len(a.Subscriptions)+len(a.Reminders) > 0 || a.Turn != nil || a.Completing != nil || a.Turns|a.Attempts|a.Interrupts != 0:
		return substrat.Errorf(substrat.CodeConflict, "agent %s is new and has a past", a.ID)
	case a.Parent == "" && (a.ID != f.Team || len(f.Agents) > 0):
		return substrat.Errorf(substrat.CodeConflict, "agent %s is not the root", a.ID)
	}
	if a.Parent != "" {
		p, err := f.agent(a.Parent)
		if err != nil {
			return err
		}
		if f.names[p.ID][a.Name] != "" {
			return substrat.Errorf(substrat.CodeConflict, "agent %s has two children %q", p.ID, a.Name)
		}
		p.Children = append(p.Children, a.ID)
	}
	if a.Workspace != "" && f.Workspaces[a.Workspace] == nil {
		return substrat.Errorf(substrat.CodeNotFound, "no workspace %s for agent %s", a.Workspace, a.ID)
	}
	if x.By != "" {
		f.Spawns = append(slices.DeleteFunc(slices.Clone(f.Spawns), func(t time.Time) bool { return f.at.Sub(t) >= time.Minute }), f.at)
	}
	a.CreatedAt = f.at
	f.Agents[a.ID] = &a
	f.enter(&a)
	return nil
}

func (x *AgentCompleting) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	if a.Turn == nil || a.Parent == "" {
		return substrat.Errorf(substrat.CodeConflict, "agent %s cannot be completing", a.ID)
	}
	result := x.Result
	a.Completing = &result
	return nil
}

func (x *SessionBound) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.Session = x.Session
	return nil
}

func (x *TurnCancelled) fold(f *folding) error {
	a, err := f.turn(x.Agent, x.Turn)
	if err != nil {
		return err
	}
	a.Turn.Cancel = x.By
	return nil
}

func (x *AgentTerminated) fold(f *folding) error {
	gone := make(map[string]bool, len(x.Agents))
	for _, id := range x.Agents {
		a, err := f.agent(id)
		if err != nil {
			return err
		}
		if gone[id] || slices.ContainsFunc(a.Children, func(c string) bool { return !gone[c] }) {
			return substrat.Errorf(substrat.CodeConflict, "agent %s cannot end: it has, or has children that have not", id)
		}
		gone[id] = true
	}
	for _, id := range x.Agents {
		f.end(f.Agents[id], x.Reason)
	}
	maps.DeleteFunc(f.Broadcasts, func(_ string, b *Broadcast) bool { return gone[b.From] })
	return nil
}

// end takes one agent out of the tree, with its open turn and its mail.
func (f *folding) end(a *Agent, reason string) {
	view := f.View(a.ID)
	if t := a.Turn; t != nil {
		f.retireTurn(a, &TurnEnded{Turn: t.ID, Agent: a.ID, Outcome: substrat.Cancelled, Class: substrat.ClassCancelled, Detail: reason})
	}
	for _, id := range f.mail(a) {
		f.finish(id, substrat.Dead, "the recipient ended: "+reason)
	}
	f.dropOpenRequests(a)
	f.withdraw(func(x *Item) bool { return x.AgentID != a.ID })
	view.State, view.EndedAt, view.LastError = substrat.Terminated, ptr(f.at), reason
	view.Turn, view.Pending, view.RetryAt, view.WaitingFor = "", 0, nil, nil
	f.retired = append(f.retired, Retired{Agent: &view})
	if p := f.Agents[a.Parent]; p != nil {
		p.Children = remove(p.Children, a.ID)
	}
	f.inherit(a)
	f.leave(a)
	delete(f.reminded, a.ID)
	delete(f.Agents, a.ID)
	for _, s := range a.Subscriptions {
		f.unwatch(a.ID, s.Target)
	}
	f.touch(a)
}

// mail lists what is addressed to an agent and not final: what is in its open turn, its mailbox, what is held.
func (s *State) mail(a *Agent) []string {
	var ids []string
	if a.Turn != nil {
		ids = s.injected(a)
	}
	ids = append(ids, a.Queue...)
	for _, x := range s.openItems(a.ID, substrat.ItemMessage) {
		ids = append(ids, x.Message)
	}
	return ids
}

// dropOpenRequests settles the requests whose turn completed and whose reply will not come any more, because the one who
// asked or the one who was asked has ended.
func (f *folding) dropOpenRequests(a *Agent) {
	for _, id := range slices.Sorted(maps.Keys(f.handled)) {
		switch m := f.Messages[id]; a.ID {
		case m.FromID:
			f.finish(id, substrat.Handled, "the sender ended before it was answered")
		case m.ToID:
			f.finish(id, substrat.Dead, "the recipient ended")
		}
	}
}

func (x *BroadcastClosed) fold(f *folding) error {
	if b := f.Broadcasts[x.ID]; b == nil || len(b.Open) > 0 {
		return substrat.Errorf(substrat.CodeConflict, "broadcast %s is not settled", x.ID)
	}
	delete(f.Broadcasts, x.ID)
	return nil
}

// retireTurn closes the open turn and leaves its record.
func (f *folding) retireTurn(a *Agent, x *TurnEnded) {
	t := a.Turn
	a.LastHops = t.Hops
	f.spend(a, x.spent(f.at.Sub(t.StartedAt)))
	f.retired = append(f.retired, Retired{Turn: &substrat.Turn{
		ID: t.ID, Agent: f.Path(a.ID), AgentID: a.ID, Team: f.Team, Session: a.Session, Number: t.Number,
		Messages: slices.Concat(t.Prompted, t.Taken), StartedAt: t.StartedAt, EndedAt: ptr(f.at),
		Outcome: x.Outcome, Class: x.Class, Detail: x.Detail, Text: x.Text, ToolCalls: x.ToolCalls, Files: x.Files, Usage: x.Usage, CostMicros: x.CostMicros,
	}})
	a.Recent = append(a.Recent, Brief{
		Turn: t.ID, Outcome: x.Outcome, Class: x.Class, DurationMS: f.at.Sub(t.StartedAt).Milliseconds(),
		ToolCalls: x.ToolCalls, Files: x.Files, Text: clip(x.Text, keepBriefText),
	})
	a.Recent = a.Recent[max(0, len(a.Recent)-keepBriefs):]
}

// clip shortens a text to at most n bytes and an ellipsis, at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func ptr(t time.Time) *time.Time { return &t }
