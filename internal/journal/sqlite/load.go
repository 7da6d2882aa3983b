package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// uncovered is what the snapshots leave to be read.
type uncovered struct {
	teams map[int64]*tail // by number
	// from is the Seq of the first such event, count how many there are.
	from, count int64
}

// tail is the end of one team's events: the next that Load must meet, and the last there is.
type tail struct {
	team       string
	next, head int64
}

// errCallback carries the error of a callback past classify.
type errCallback struct{ error }

func (e errCallback) Unwrap() error { return e.error }

// Load implements journal.Journal.
func (j *Journal) Load(ctx context.Context, snapshot func(journal.Snapshot) error, event func(substrat.Event) error) error {
	if err := j.reading(ctx); err != nil {
		return err
	}
	err := j.load(ctx, snapshot, event)
	var own errCallback
	if errors.As(err, &own) {
		return own.error
	}
	return j.classify("load the journal", err)
}

func (j *Journal) load(ctx context.Context, snapshot func(journal.Snapshot) error, event func(substrat.Event) error) error {
	tx, err := j.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	rest, err := loadSnapshots(ctx, tx, snapshot)
	if err != nil || rest.count == 0 {
		return err
	}
	return rest.load(ctx, tx, event)
}

func loadSnapshots(ctx context.Context, tx *sql.Tx, give func(journal.Snapshot) error) (*uncovered, error) {
	rows, err := tx.QueryContext(ctx, `SELECT t.id, t.name, t.head, t.first, coalesce(s.team_seq, 0), coalesce(s.sum, 0), s.data
		 FROM teams t LEFT JOIN snapshots s ON s.team = t.id ORDER BY t.id`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	rest := &uncovered{teams: map[int64]*tail{}}
	for rows.Next() {
		var s journal.Snapshot
		var id, head, first int64
		var sum uint32
		if err := rows.Scan(&id, &s.Team, &head, &first, &s.TeamSeq, &sum, &s.Data); err != nil {
			return nil, unreadable(err, "team number %d %q", id, s.Team)
		}
		if err := giveSnapshot(s, sum, give); err != nil {
			return nil, err
		}
		rest.add(id, s, head, first)
	}
	return rest, rows.Err()
}

func giveSnapshot(s journal.Snapshot, sum uint32, give func(journal.Snapshot) error) error {
	if s.TeamSeq == 0 {
		return nil
	}
	if sum != journal.SnapshotChecksum(s) {
		return damaged("the snapshot of team %s at its event %d is not what was written", s.Team, s.TeamSeq)
	}
	if err := give(s); err != nil {
		return errCallback{err}
	}
	return nil
}

func (u *uncovered) add(id int64, s journal.Snapshot, head, first int64) {
	if head <= s.TeamSeq {
		return
	}
	u.teams[id] = &tail{team: s.Team, next: s.TeamSeq + 1, head: head}
	if u.count == 0 || first < u.from {
		u.from = first
	}
	u.count += head - s.TeamSeq
}

// load reads the uncovered events. Where they lie close together one scan over that part of the log is cheapest; where a
// few old ones would make that scan long, they are looked up team by team instead. So the cost follows their number.
func (u *uncovered) load(ctx context.Context, tx *sql.Tx, give func(substrat.Event) error) error {
	var last int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&last); err != nil {
		return err
	}
	text := "SELECT " + numberedColumns + " FROM events e WHERE e.seq >= ? ORDER BY e.seq"
	args := []any{u.from}
	if last-u.from >= 4*u.count {
		text = "SELECT " + numberedColumns + ` FROM events e WHERE e.seq IN (SELECT o.seq FROM teams t
			CROSS JOIN events o ON o.team = t.id AND o.seq >= t.first WHERE t.first > 0) ORDER BY e.seq`
		args = nil
	}
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := u.next(rows, give); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return u.complete()
}

// next passes an event on, if its team's snapshot does not cover it and it is the one that must come now.
func (u *uncovered) next(rows *sql.Rows, give func(substrat.Event) error) error {
	var e substrat.Event
	var id int64
	sum, err := scanRow(rows, &e, &id)
	if err != nil {
		return err
	}
	t := u.teams[id]
	if t == nil || e.TeamSeq < t.next {
		return nil
	}
	e.Team = t.team
	if err := check(&e, sum); err != nil {
		return err
	}
	if e.TeamSeq != t.next {
		return damaged("team %s: event %d follows where event %d should be (seq %d)", e.Team, e.TeamSeq, t.next, e.Seq)
	}
	t.next++
	if err := give(e); err != nil {
		return errCallback{err}
	}
	return nil
}

func (u *uncovered) complete() error {
	for _, t := range u.teams {
		if t.next <= t.head {
			return damaged("team %s: event %d of %d is missing", t.team, t.next, t.head)
		}
	}
	return nil
}
