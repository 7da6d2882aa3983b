package engine

import (
	"context"
	"slices"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/team"
)

// load folds every live team from the journal: snapshots first, then the events they do not cover. What it costs follows
// what is pending, not what has been. Caller holds mu or is alone.
func (e *Engine) load(ctx context.Context) error {
	e.names.Lock()
	defer e.names.Unlock()
	e.teams, e.hot, e.debt, e.totalDebt = map[string]*team.State{}, map[string]struct{}{}, map[string]int{}, 0
	err := e.journal.Load(ctx, func(snap journal.Snapshot) error {
		s, err := team.Decode(snap.Data)
		if err != nil {
			return err
		}
		e.teams[s.Team] = s
		return nil
	}, e.replay)
	if err != nil {
		return err
	}
	e.index, e.accounts = newIndex(), newAccounts()
	for id, s := range e.teams {
		if s.Ended() {
			delete(e.teams, id)
			continue
		}
		s.Settled()
		e.accounts.note(s)
		e.hot[id] = struct{}{}
		e.index.add(s)
	}
	e.seq, err = e.journal.LastSeq(ctx)
	return err
}

// replay folds one event that no snapshot covers. What it retires was recorded when it happened.
func (e *Engine) replay(ev substrat.Event) error {
	s := e.teams[ev.Team]
	if s == nil {
		s = team.New(ev.Team)
		e.teams[ev.Team] = s
	}
	if ev.TeamSeq != s.Seq+1 {
		return substrat.Errorf(substrat.CodeStorage, "cannot fold team %s: event %d follows %d", ev.Team, ev.TeamSeq, s.Seq)
	}
	entry, err := team.ParseEvent(ev)
	if err != nil {
		return err
	}
	e.debt[ev.Team]++
	e.totalDebt++
	_, err = s.Apply(entry)
	return err
}

// How many events may be without a snapshot before some are taken: what a restart has to fold.
const (
	debtMost  = 20_000
	snapBatch = 500
)

// paySnapshots keeps the debt bounded. A snapshot that cannot be written costs time at the next start, nothing else.
func (e *Engine) paySnapshots(ctx context.Context) {
	if err := e.saveSnapshots(ctx, e.snapshotDebt()); err != nil {
		e.cfg.Log.Warn("cannot save snapshots", "error", err)
	}
}

// snapshotDebt tells how small a debt a team must have to be left alone now; 0 means no snapshots are due.
func (e *Engine) snapshotDebt() int {
	if e.totalDebt > max(debtMost, 4*len(e.index.team)) {
		return 1
	}
	return 0
}

// saveSnapshots writes snapshots of the teams with at least least events since their last one, the most indebted first.
// Caller holds mu or is alone.
func (e *Engine) saveSnapshots(ctx context.Context, least int) error {
	if least == 0 || len(e.debt) == 0 {
		return nil
	}
	var ids []string
	for id, n := range e.debt {
		if n >= least {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return e.debt[b] - e.debt[a] })
	for chunk := range slices.Chunk(ids, snapBatch) {
		snaps := make([]journal.Snapshot, 0, len(chunk))
		for _, id := range chunk {
			s := e.teams[id]
			if s == nil {
				// An ended team leaves an empty state, which load drops.
				s = team.New(id)
				s.Seq = e.index.ended[id]
			}
			data, err := s.Encode()
			if err != nil {
				return substrat.Errorf(substrat.CodeInternal, "cannot encode a snapshot: %v", err)
			}
			snaps = append(snaps, journal.Snapshot{Team: id, TeamSeq: s.Seq, Data: data})
		}
		if err := e.journal.SaveSnapshots(ctx, snaps); err != nil {
			return err
		}
		for _, id := range chunk {
			e.totalDebt -= e.debt[id]
			delete(e.debt, id)
			delete(e.index.ended, id)
		}
	}
	return nil
}
