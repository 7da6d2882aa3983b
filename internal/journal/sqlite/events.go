package sqlite

import (
	"context"
	"database/sql"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// eventColumns is what scanEvent reads, of events e and its team t. numberedColumns has the team's number instead of its
// name, which spares a long scan a lookup per row.
const (
	eventColumns    = "e.seq, t.name, " + restColumns
	numberedColumns = "e.seq, e.team, " + restColumns
	restColumns     = "e.team_seq, e.type, e.at, e.actor, e.key, e.sum, e.answer, e.data"
)

// Events implements journal.Journal.
func (j *Journal) Events(ctx context.Context, after int64, team string, limit int) ([]substrat.Event, error) {
	if err := j.reading(ctx); err != nil {
		return nil, err
	}
	limit = journal.Clamp(limit, journal.DefaultEvents, journal.MaxEvents)
	text := "SELECT " + eventColumns + " FROM events e CROSS JOIN teams t ON t.id = e.team WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2"
	args := []any{after, limit}
	if team != "" {
		text = "SELECT " + eventColumns + " FROM teams t CROSS JOIN events e ON e.team = t.id" +
			" WHERE t.name = ?3 AND e.seq > ?1 ORDER BY e.seq LIMIT ?2"
		args = append(args, team)
	}
	rows, err := j.read.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, j.classify("read events", err)
	}
	defer func() { _ = rows.Close() }()
	return j.collectEvents(rows)
}

func (j *Journal) collectEvents(rows *sql.Rows) (events []substrat.Event, err error) {
	size := 0
	for size < journal.MaxAnswerBytes && rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, j.classify("read events", err)
		}
		events = append(events, e)
		size += len(e.Data) + len(e.Answer)
	}
	if err := rows.Err(); err != nil {
		return nil, j.classify("read events", err)
	}
	return events, nil
}

// scanEvent reads a row of eventColumns and compares its checksum.
func scanEvent(rows *sql.Rows) (substrat.Event, error) {
	var e substrat.Event
	sum, err := scanRow(rows, &e, &e.Team)
	if err != nil {
		return e, err
	}
	return e, check(&e, sum)
}

// scanRow reads a row with the team's name or number, as the columns are, into team.
func scanRow(rows *sql.Rows, e *substrat.Event, team any) (sum uint32, err error) {
	var at int64
	err = rows.Scan(&e.Seq, team, &e.TeamSeq, &e.Type, &at, &e.Actor, &e.Key, &sum, (*[]byte)(&e.Answer), (*[]byte)(&e.Data))
	e.At = journal.Time(at)
	return sum, unreadable(err, "event %d", e.Seq)
}

func check(e *substrat.Event, sum uint32) error {
	if sum == journal.Checksum(e) {
		return nil
	}
	return damaged("event %d (number %d of team %q) is not what was written", e.Seq, e.TeamSeq, e.Team)
}

// LastSeq implements journal.Journal.
func (j *Journal) LastSeq(ctx context.Context) (seq int64, err error) {
	if err := j.reading(ctx); err != nil {
		return 0, err
	}
	err = j.read.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events").Scan(&seq)
	return seq, j.classify("read the journal", err)
}
