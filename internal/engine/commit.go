package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/workspace"
)

// batchMost bounds how many commands share one transaction, and so the latency of the last of them.
const batchMost = 256

// request is one command on its way through the commit loop.
type request struct {
	team string
	meta team.Meta
	cmd  team.Command
	// root creates the team: its name must be free among the roots.
	root  string
	reply chan response // holds one
}

type response struct {
	answer json.RawMessage
	err    error
}

// Do decides a command, makes its events durable, folds them and answers. Meta's time and limits are filled in. When
// ctx ends first the command may still happen.
func (e *Engine) Do(ctx context.Context, teamID string, m team.Meta, c team.Command) (json.RawMessage, error) {
	answer, err := e.submit(ctx, &request{team: teamID, meta: m, cmd: c})
	var end team.EndOfChain
	if errors.As(err, &end) && m.Actor.Agent != "" {
		if _, err := e.submit(ctx, &request{team: teamID, cmd: team.TellChain{ID: e.NewID(), Agent: m.Actor.Agent}}); err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("the user was not told that a chain of messages ended", "agent", m.Actor.Agent, "error", err)
		}
	}
	return answer, err
}

func (e *Engine) submit(ctx context.Context, r *request) (json.RawMessage, error) {
	r.reply = make(chan response, 1)
	select {
	case e.requests <- r:
	case <-ctx.Done():
		return nil, substrat.Errorf(substrat.CodeUnavailable, "cannot take the command: %v", context.Cause(ctx))
	}
	select {
	case res := <-r.reply:
		return res.answer, res.err
	case <-ctx.Done():
		return nil, substrat.Errorf(substrat.CodeUnavailable, "gave up waiting for the command: %v", context.Cause(ctx))
	}
}

// commitLoop is the only writer. It returns an error when the journal failed for good.
func (e *Engine) commitLoop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-e.requests:
			if err := e.commit(ctx, e.drain(r)); err != nil {
				return err
			}
		}
	}
}

// drain takes what else is waiting, so that one fsync serves all.
func (e *Engine) drain(first *request) []*request {
	batch := []*request{first}
	for len(batch) < batchMost {
		select {
		case r := <-e.requests:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// commit decides a batch, appends it, and answers. On a failed append nobody is told of success and the states are
// folded anew from what is durable.
func (e *Engine) commit(ctx context.Context, batch []*request) error {
	w := &writing{e: e, at: time.Now().UTC(), byTeam: map[string]int{}}
	answers := make([]response, len(batch))
	e.mu.Lock()
	e.names.Lock()
	for i, r := range batch {
		answers[i] = w.decide(r)
	}
	e.names.Unlock()
	err := w.append(ctx)
	if err == nil {
		e.publish(w)
		e.paySnapshots(ctx)
	} else if reload := e.load(ctx); reload != nil {
		err = errors.Join(err, reload, journal.ErrFatal)
	}
	e.mu.Unlock()
	if err != nil {
		e.cfg.Log.Error("commit failed", "error", err, "commands", len(batch))
		for i := range answers {
			answers[i] = response{err: err}
		}
	}
	for i, r := range batch {
		r.reply <- answers[i]
	}
	if len(w.batches) > 0 {
		e.kick()
	}
	if errors.Is(err, journal.ErrFatal) {
		return err
	}
	return nil
}

// writing collects the events of one transaction.
type writing struct {
	e       *Engine
	at      time.Time
	batches []journal.Batch
	byTeam  map[string]int
	// deleted are places to clear up once it is durable that they are deleted.
	deleted []deletedPlace
	// asker is the agent whose command is decided, empty for a person and the daemon.
	asker string
}

// decide runs one command against the state as the transaction will leave it.
func (w *writing) decide(r *request) response {
	s := w.e.teams[r.team]
	if r.root != "" {
		if _, taken := w.e.index.roots[r.root]; taken {
			return response{err: substrat.Errorf(substrat.CodeNameTaken, "cannot use the name %q: another root agent has it", r.root)}
		}
		s = team.New(r.team)
	}
	if s == nil {
		return response{err: substrat.Errorf(substrat.CodeNotFound, "no such team, or it has ended")}
	}
	name := r.root
	if root := s.Root(); root != nil {
		name = root.Name
	}
	r.meta.At, r.meta.Limits, r.meta.Keep = w.at, w.e.cfg.Rules.Limits(name), w.e.cfg.Rules.Hold
	r.meta.Budgets = w.e.cfg.Rules.Budgets
	w.asker = r.meta.Actor.Agent
	entries, answer, err := team.Decide(s, r.meta, r.cmd)
	if err != nil || len(entries) == 0 {
		return response{answer: answer, err: err}
	}
	if err := w.fold(s, entries); err != nil {
		return response{err: err}
	}
	if err := w.settle(s, r.meta); err != nil {
		return response{err: err}
	}
	return response{answer: answer}
}

// settleMost bounds how often something may follow from what followed. Nothing in the core comes near it.
const settleMost = 10

// settle lets follow what follows from a command, in its transaction: a crash cannot come between the two.
func (w *writing) settle(s *team.State, m team.Meta) error {
	m.Actor, m.Key, m.Grant = team.Actor{}, "", ""
	for n := 0; s.Unsettled() && n < settleMost; n++ {
		entries, _, err := team.Decide(s, m, team.Settle{})
		s.Settled()
		if err != nil {
			return err
		}
		if err := w.fold(s, entries); err != nil {
			return err
		}
	}
	s.Settled()
	return nil
}

// fold encodes entries for the journal and applies them.
func (w *writing) fold(s *team.State, entries []team.Entry) error {
	i, ok := w.byTeam[s.Team]
	if !ok {
		i = len(w.batches)
		w.byTeam[s.Team] = i
		w.batches = append(w.batches, journal.Batch{Team: s.Team, Epoch: w.e.epoch, Expect: s.Seq})
	}
	b := &w.batches[i]
	for _, entry := range entries {
		w.noteDeleted(s, entry)
		ev, err := entry.Event(s.Team, s.Seq+1)
		if err != nil {
			return err
		}
		retired, err := s.Apply(entry)
		if err != nil {
			return err
		}
		b.Events = append(b.Events, ev)
		b.Docs = append(b.Docs, docs(s.Team, entry.At, retired)...)
		w.e.index.note(s, entry.Fact)
	}
	w.e.teams[s.Team] = s
	return nil
}

// noteDeleted remembers the files of workspaces that an agent deletes. A person's are removed by who deletes them.
func (w *writing) noteDeleted(s *team.State, entry team.Entry) {
	x, ok := entry.Fact.(*team.WorkspaceDeleted)
	if !ok || w.asker == "" {
		return
	}
	for _, id := range x.IDs {
		if ws := s.Workspaces[id]; ws != nil && ws.Made && ws.ViewOf == "" {
			p := workspace.Place{Dir: ws.Dir}
			if ws.Tree != nil {
				p.Tree = &workspace.Tree{Repo: ws.Tree.Repo, Branch: ws.Tree.Branch, Base: ws.Tree.Base}
			}
			w.deleted = append(w.deleted, deletedPlace{Place: p, team: s.Team, agent: w.asker})
		}
	}
}

func (w *writing) append(ctx context.Context) error {
	if len(w.batches) == 0 {
		return nil
	}
	_, last, err := w.e.journal.Append(ctx, w.batches)
	if err != nil {
		return err
	}
	w.e.seq = last
	return nil
}

// publish lets the rest of the daemon see a transaction: caller holds mu.
func (e *Engine) publish(w *writing) {
	if len(w.batches) == 0 {
		return
	}
	for _, b := range w.batches {
		e.debt[b.Team] += len(b.Events)
		e.totalDebt += len(b.Events)
		e.hot[b.Team] = struct{}{}
		e.accounts.note(e.teams[b.Team])
		if e.teams[b.Team].Ended() {
			e.names.Lock()
			delete(e.teams, b.Team)
			e.names.Unlock()
		}
	}
	close(e.changed)
	e.changed = make(chan struct{})
	e.clearDeleted(w.deleted)
}

// docs makes the journal's records of what left the hot state.
func docs(teamID string, at time.Time, retired []team.Retired) []journal.Doc {
	out := make([]journal.Doc, 0, len(retired))
	for _, r := range retired {
		d := journal.Doc{Team: teamID, At: at}
		var body any
		switch {
		case r.Message != nil:
			d.Kind, d.ID, d.Path, d.State, d.At, body = "message", r.Message.ID, r.Message.To, string(r.Message.State), r.Message.CreatedAt, r.Message
		case r.Turn != nil:
			d.Kind, d.ID, d.Agent, d.Path, d.State, body = "turn", r.Turn.ID, r.Turn.AgentID, r.Turn.Agent, string(r.Turn.Outcome), r.Turn
		case r.Item != nil:
			d.Kind, d.ID, d.Agent, d.Path, d.State, d.At, body = "item", r.Item.ID, r.Item.AgentID, r.Item.Agent, string(r.Item.State), r.Item.CreatedAt, r.Item
		default:
			d.Kind, d.ID, d.Agent, d.Path, d.State, body = "agent", r.Agent.ID, r.Agent.ID, r.Agent.Path, string(r.Agent.State), r.Agent
		}
		// The words marshal without error: they hold strings, numbers and times.
		d.Body, _ = json.Marshal(body)
		out = append(out, d)
	}
	return out
}
