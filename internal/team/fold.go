package team

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"substrat.dev/substrat"
)

// How much of the past an agent carries for inspect_agent.
const (
	keepBriefs    = 5
	keepHeard     = 5
	keepBriefText = 500
)

// Apply folds one entry into the state and returns what left it. Entries come in the order of the journal.
func (s *State) Apply(e Entry) ([]Retired, error) {
	f := &folding{State: s, at: e.At}
	if err := e.Fact.fold(f); err != nil {
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot fold event %d of team %s (%s): %v", s.Seq+1, s.Team, e.Fact.Type(), err)
	}
	if e.Key != "" {
		f.remember(e)
	}
	s.Seq++
	return f.retired, nil
}

// remember keeps a tool call's answer for as long as its turn is open.
func (f *folding) remember(e Entry) {
	turn, key := splitKey(e.Key)
	for id := range f.open {
		if t := f.Agents[id].Turn; t.ID == turn {
			if t.Answers == nil {
				t.Answers = map[string]json.RawMessage{}
			}
			t.Answers[key] = e.Answer
			return
		}
	}
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
	if f.Agents[a.ID] != nil {
		return substrat.Errorf(substrat.CodeConflict, "agent %s exists", a.ID)
	}
	if a.Parent != "" {
		p, err := f.agent(a.Parent)
		if err != nil {
			return err
		}
		p.Children = append(p.Children, a.ID)
	}
	a.CreatedAt = f.at
	f.Agents[a.ID] = &a
	return nil
}

func (x *AgentCompleting) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.Completing = &x.Result
	return nil
}

func (x *SessionBound) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	a.Session, a.SessionLost = x.Session, false
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
	for _, id := range x.Agents {
		a, err := f.agent(id)
		if err != nil {
			return err
		}
		if a.Turn != nil {
			f.retireTurn(a, &TurnEnded{Turn: a.Turn.ID, Agent: id, Outcome: substrat.Cancelled, Class: substrat.ClassCancelled, Detail: x.Reason})
			for _, m := range slices.Concat(a.Turn.Prompted, a.Turn.Taken) {
				f.finish(m, substrat.Dead, "the recipient was terminated: "+x.Reason)
			}
		}
		for _, m := range slices.Clone(a.Queue) {
			f.finish(m, substrat.Dead, "the recipient was terminated: "+x.Reason)
		}
		f.dropOpenRequests(a)
		maps.DeleteFunc(f.Broadcasts, func(_ string, b *Broadcast) bool { return b.From == id })
		view := f.View(id)
		view.State, view.EndedAt, view.LastError, view.Turn, view.Pending = substrat.Terminated, &f.at, x.Reason, "", 0
		f.retired = append(f.retired, Retired{Agent: &view})
		if p := f.Agents[a.Parent]; p != nil {
			p.Children = slices.DeleteFunc(p.Children, func(c string) bool { return c == id })
		}
		delete(f.Agents, id)
		f.touch(a)
	}
	return nil
}

// dropOpenRequests settles what nobody waits for any more (requests the agent sent and was not answered) and what
// nobody will answer (requests it handled without a reply).
func (f *folding) dropOpenRequests(a *Agent) {
	for _, id := range slices.Sorted(maps.Keys(f.Messages)) {
		m := f.Messages[id]
		switch {
		case m.FromID == a.ID && m.State == substrat.Handled:
			f.finish(m.ID, substrat.Handled, "the sender ended before it was answered")
		case m.ToID == a.ID:
			f.finish(m.ID, substrat.Dead, "the recipient ended")
		}
	}
}

func (x *BroadcastClosed) fold(f *folding) error {
	delete(f.Broadcasts, x.ID)
	return nil
}

// retireTurn closes the open turn and leaves its record.
func (f *folding) retireTurn(a *Agent, x *TurnEnded) {
	t := a.Turn
	ended := f.at
	f.retired = append(f.retired, Retired{Turn: &substrat.Turn{
		ID: t.ID, Agent: f.Path(a.ID), AgentID: a.ID, Team: f.Team, Session: a.Session, Number: t.Number,
		Messages: slices.Concat(t.Prompted, t.Taken), StartedAt: t.StartedAt, EndedAt: &ended,
		Outcome: x.Outcome, Class: x.Class, Detail: x.Detail, Text: x.Text, ToolCalls: x.ToolCalls, Files: x.Files, Usage: x.Usage,
	}})
	a.Recent = append(a.Recent, Brief{
		Turn: t.ID, Outcome: x.Outcome, Class: x.Class, DurationMS: ended.Sub(t.StartedAt).Milliseconds(),
		ToolCalls: x.ToolCalls, Files: x.Files, Text: clip(x.Text, keepBriefText),
	})
	a.Recent = a.Recent[max(0, len(a.Recent)-keepBriefs):]
}

// clip shortens a text at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

func ptr(t time.Time) *time.Time { return &t }

// zero is the time that stands for none.
var zero time.Time
