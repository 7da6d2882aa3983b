package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/team"
)

// Agents lists the live agents, teams in order of creation, parents before children; all adds those that ended.
func (e *Engine) Agents(ctx context.Context, all bool) ([]substrat.Agent, error) {
	out := []substrat.Agent{}
	e.mu.RLock()
	for _, s := range e.inOrder() {
		for _, id := range s.Walk() {
			out = append(out, s.View(id))
		}
	}
	e.mu.RUnlock()
	if !all {
		return out, nil
	}
	ended, err := pages[substrat.Agent](ctx, e.journal, journal.Query{Kind: "agent"}, 0)
	return append(out, ended...), err
}

// inOrder lists the teams by their ids, which sort by time. Caller holds mu.
func (e *Engine) inOrder() []*team.State {
	out := make([]*team.State, 0, len(e.teams))
	for _, s := range e.teams {
		if s.Root() != nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *team.State) int { return strings.Compare(a.Team, b.Team) })
	return out
}

// Agent finds one agent by path, unique bare name or id; by path or id also one that has ended.
func (e *Engine) Agent(ctx context.Context, ref string) (substrat.Agent, error) {
	e.mu.RLock()
	s, id, err := e.find(ref)
	if err == nil {
		defer e.mu.RUnlock()
		return s.View(id), nil
	}
	e.mu.RUnlock()
	if substrat.CodeOf(err) == substrat.CodeNotFound {
		if a, ok := e.endedAgent(ctx, ref); ok {
			return a, nil
		}
	}
	return substrat.Agent{}, err
}

// endedAgent finds the last agent that ended under a path, or the one of an id.
func (e *Engine) endedAgent(ctx context.Context, ref string) (substrat.Agent, bool) {
	if d, err := e.journal.Doc(ctx, "agent", ref); err == nil {
		a, err := decode[substrat.Agent](d)
		return a, err == nil
	}
	docs, _, err := e.journal.Docs(ctx, journal.Query{Kind: "agent", Path: ref, Newest: true, Limit: 1})
	if err != nil || len(docs) == 0 {
		return substrat.Agent{}, false
	}
	a, err := decode[substrat.Agent](docs[0])
	return a, err == nil
}

// Inspection is an agent with what it did and what waits for it.
type Inspection struct {
	Agent       substrat.Agent     `json:"agent"`
	RecentTurns []substrat.Turn    `json:"recent_turns"`
	Mailbox     []substrat.Message `json:"mailbox"`
}

// Inspect shows one agent closely.
func (e *Engine) Inspect(ctx context.Context, ref string) (Inspection, error) {
	a, err := e.Agent(ctx, ref)
	if err != nil {
		return Inspection{}, err
	}
	out := Inspection{Agent: a, Mailbox: []substrat.Message{}}
	if out.RecentTurns, err = e.Turns(ctx, a.ID, 10); err != nil {
		return out, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s, id, err := e.find(a.ID); err == nil {
		for _, m := range s.Agents[id].Queue {
			out.Mailbox = append(out.Mailbox, s.Messages[m].Message)
		}
	}
	return out, nil
}

// Message finds one message with its receipt.
func (e *Engine) Message(ctx context.Context, id string) (substrat.Message, error) {
	if m, ok := e.hotMessage(id); ok {
		return m, nil
	}
	d, err := e.journal.Doc(ctx, "message", id)
	if err != nil {
		if substrat.CodeOf(err) == substrat.CodeNotFound {
			return substrat.Message{}, substrat.Errorf(substrat.CodeNotFound, "no message %.80q", id).WithHint("substrat message ls shows the messages there are")
		}
		return substrat.Message{}, err
	}
	return decode[substrat.Message](d)
}

func (e *Engine) hotMessage(id string) (substrat.Message, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, s := range e.teams {
		if m := s.Messages[id]; m != nil {
			return m.Message, true
		}
	}
	return substrat.Message{}, false
}

// MessageQuery selects messages.
type MessageQuery struct {
	// Agent keeps those from or to one agent; Inbox those to USER.
	Agent string
	Inbox bool
	// After is the cursor of an earlier answer. Limit 0 means 1000.
	After string
	Limit int
}

// Messages lists messages in order of sending, those still under way last, and the cursor to go on from.
func (e *Engine) Messages(ctx context.Context, q MessageQuery) ([]substrat.Message, string, error) {
	if q.Limit <= 0 || q.Limit > 1000 {
		q.Limit = 1000
	}
	path, teamID := "", ""
	if q.Agent != "" {
		a, err := e.Agent(ctx, q.Agent)
		if err != nil {
			return nil, "", err
		}
		path, teamID = a.Path, a.Team
	}
	jq := journal.Query{Kind: "message", Team: teamID, After: q.After, Limit: q.Limit}
	if q.Inbox {
		jq.Path = substrat.User
	}
	keep := func(m substrat.Message) bool { return path == "" || m.From == path || m.To == path }
	final, next, err := page(ctx, e.journal, jq, keep)
	if err != nil || q.Inbox || next != "" {
		return final, next, err
	}
	return append(final, e.underWay(teamID, keep)...), "", nil
}

// underWay lists messages that are not final, in order of sending.
func (e *Engine) underWay(teamID string, keep func(substrat.Message) bool) []substrat.Message {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []substrat.Message
	for _, s := range e.teams {
		if teamID != "" && s.Team != teamID {
			continue
		}
		for _, m := range s.Messages {
			if keep(m.Message) {
				out = append(out, m.Message)
			}
		}
	}
	slices.SortFunc(out, func(a, b substrat.Message) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

// Receipt is a message that needs no more waiting, with the turn that handled it.
type Receipt struct {
	Message substrat.Message `json:"message"`
	Turn    *substrat.Turn   `json:"turn,omitempty"`
}

// Receipt waits until a message is final, or no longer goes anywhere without a person, or ctx ends.
func (e *Engine) Receipt(ctx context.Context, id string) (Receipt, error) {
	for {
		changed := e.changedNow()
		m, err := e.Message(ctx, id)
		if err != nil {
			return Receipt{}, err
		}
		if m.State.Final() || e.stuck(ctx, m) {
			r := Receipt{Message: m}
			if m.Turn != "" {
				t, err := e.Turn(ctx, m.Turn)
				if err != nil {
					return r, err
				}
				r.Turn = &t
			}
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Receipt{Message: m}, substrat.Errorf(substrat.CodeTimeout, "gave up waiting for message %s, which is %s", id, m.State).
				WithHint("it goes on; substrat message show %s tells", id)
		}
	}
}

// stuck reports whether a message waits for a person to log in to its recipient's provider.
func (e *Engine) stuck(ctx context.Context, m substrat.Message) bool {
	if m.State != substrat.Queued {
		return false
	}
	a, err := e.Agent(ctx, m.To)
	if err != nil {
		return false
	}
	stuck := false
	err = e.Look(ctx, a.Team, func(s *team.State) error {
		stuck = s.NeedsLogin(e.cfg.Rules.Account(a.Provider))
		return nil
	})
	return err == nil && stuck
}

// Turn finds one turn.
func (e *Engine) Turn(ctx context.Context, id string) (substrat.Turn, error) {
	if t, ok := e.openTurnByID(id); ok {
		return t, nil
	}
	d, err := e.journal.Doc(ctx, "turn", id)
	if err != nil {
		if substrat.CodeOf(err) == substrat.CodeNotFound {
			return substrat.Turn{}, substrat.Errorf(substrat.CodeNotFound, "no turn %.80q", id)
		}
		return substrat.Turn{}, err
	}
	return decode[substrat.Turn](d)
}

func (e *Engine) openTurnByID(id string) (substrat.Turn, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for t := range e.hot {
		s := e.teams[t]
		if s == nil {
			continue
		}
		for _, a := range s.OpenTurns() {
			if a.Turn.ID == id {
				return openView(s, a), true
			}
		}
	}
	return substrat.Turn{}, false
}

// openView shows an open turn.
func openView(s *team.State, a *team.Agent) substrat.Turn {
	return substrat.Turn{
		ID: a.Turn.ID, Agent: s.Path(a.ID), AgentID: a.ID, Team: s.Team, Session: a.Session, Number: a.Turn.Number,
		Messages: slices.Concat(a.Turn.Prompted, a.Turn.Taken), StartedAt: a.Turn.StartedAt,
	}
}

// Turns lists an agent's turns in order, the open one last. Limit 0 means all.
func (e *Engine) Turns(ctx context.Context, ref string, limit int) ([]substrat.Turn, error) {
	a, err := e.Agent(ctx, ref)
	if err != nil {
		return nil, err
	}
	// The open turn is looked up first: one that ends in between is then seen twice, not never.
	open, isOpen := e.openTurnByID(a.Turn)
	out, err := pages[substrat.Turn](ctx, e.journal, journal.Query{Kind: "turn", Agent: a.ID, Newest: true}, limit)
	if err != nil {
		return nil, err
	}
	slices.Reverse(out)
	if isOpen && !slices.ContainsFunc(out, func(t substrat.Turn) bool { return t.ID == open.ID }) {
		out = append(out, open)
	}
	return out, nil
}

// Events reads the journal.
func (e *Engine) Events(ctx context.Context, after int64, limit int) ([]substrat.Event, error) {
	return e.journal.Events(ctx, after, "", limit)
}

// EventsChanged gives a channel that is closed once an event after a Seq is durable.
func (e *Engine) EventsChanged(after int64) <-chan struct{} {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.seq > after {
		return closed
	}
	return e.changed
}

// changedNow gives a channel that is closed at the next commit.
func (e *Engine) changedNow() <-chan struct{} {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.changed
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// spoolSoon is closed shortly: a process's start is no event of the journal.
func (e *Engine) spoolSoon(ctx context.Context) <-chan struct{} {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	context.AfterFunc(ctx, cancel)
	return ctx.Done()
}

func decode[T any](d journal.Doc) (T, error) {
	var v T
	if err := json.Unmarshal(d.Body, &v); err != nil {
		return v, substrat.Errorf(substrat.CodeStorage, "cannot read the record of %s %s: %v", d.Kind, d.ID, err)
	}
	return v, nil
}

// page decodes one page of docs and keeps some.
func page[T any](ctx context.Context, j journal.Journal, q journal.Query, keep func(T) bool) ([]T, string, error) {
	docs, next, err := j.Docs(ctx, q)
	if err != nil {
		return nil, "", err
	}
	out := make([]T, 0, len(docs))
	for _, d := range docs {
		v, err := decode[T](d)
		if err != nil {
			return nil, "", err
		}
		if keep(v) {
			out = append(out, v)
		}
	}
	return out, next, nil
}

// pages decodes docs up to a limit, 0 for all.
func pages[T any](ctx context.Context, j journal.Journal, q journal.Query, limit int) ([]T, error) {
	var out []T
	for {
		if limit > 0 {
			q.Limit = min(limit-len(out), journal.MaxDocs)
		}
		some, next, err := page(ctx, j, q, func(T) bool { return true })
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
		if next == "" || limit > 0 && len(out) >= limit {
			return out, nil
		}
		q.After = next
	}
}

func join(names []string) string { return strings.Join(names, ", ") }
