package sqlite

import (
	"context"
	"errors"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// maxFindings bounds what Verify reports: who has a hundred needs no more.
const maxFindings = 100

// Verify reads everything and reports every damage it finds (errors.Join of CodeStorage errors that name the place), or
// nil. It takes seconds for a million events, and may run beside writers.
func (j *Journal) Verify(ctx context.Context) error {
	if err := j.reading(ctx); err != nil {
		return err
	}
	var found []error
	heads := map[string]int64{} // of each team, as far as its events go
	for _, check := range []func() error{
		func() error { return j.verifyFile(ctx, &found) },
		func() error { return j.verifyEvents(ctx, &found, heads) },
		func() error { return j.verifyTeams(ctx, &found, heads) },
	} {
		if err := check(); err != nil {
			found = append(found, j.classify("verify the journal", err))
		}
	}
	return errors.Join(found...)
}

func (j *Journal) verifyFile(ctx context.Context, found *[]error) error {
	rows, err := j.read.QueryContext(ctx, "PRAGMA integrity_check")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return err
		}
		if s != "ok" {
			*found = append(*found, damaged("%s", s))
		}
	}
	return rows.Err()
}

func (j *Journal) verifyEvents(ctx context.Context, found *[]error, heads map[string]int64) error {
	rows, err := j.read.QueryContext(ctx, "SELECT "+eventColumns+" FROM events e CROSS JOIN teams t ON t.id = e.team ORDER BY e.seq")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() && len(*found) < maxFindings {
		e, err := scanEvent(rows)
		if substrat.CodeOf(err) == substrat.CodeStorage {
			*found = append(*found, err)
		} else if err != nil {
			return err
		}
		if want := heads[e.Team] + 1; e.TeamSeq != want {
			*found = append(*found, damaged("team %s: event %d where event %d should be (seq %d)", e.Team, e.TeamSeq, want, e.Seq))
		}
		heads[e.Team] = e.TeamSeq
	}
	return rows.Err()
}

// verifyTeams looks for events that are missing at the end of a team, and for snapshots that are not what was written.
func (j *Journal) verifyTeams(ctx context.Context, found *[]error, heads map[string]int64) error {
	rows, err := j.read.QueryContext(ctx, `SELECT t.name, t.head, t.first, coalesce((SELECT min(e.seq) FROM events e
		WHERE e.team = t.id AND e.team_seq > coalesce(s.team_seq, 0)), 0), coalesce(s.team_seq, 0), coalesce(s.sum, 0), s.data
		FROM teams t LEFT JOIN snapshots s ON s.team = t.id`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() && len(*found) < maxFindings {
		var s journal.Snapshot
		var head, first, should int64
		var sum uint32
		if err := rows.Scan(&s.Team, &head, &first, &should, &s.TeamSeq, &sum, &s.Data); err != nil {
			return unreadable(err, "team %q", s.Team)
		}
		if heads[s.Team] < head {
			*found = append(*found, damaged("team %s: event %d is missing", s.Team, head))
		}
		if first != should {
			*found = append(*found, damaged("team %s: its uncovered events begin at seq %d, not %d", s.Team, should, first))
		}
		if err := giveSnapshot(s, sum, func(journal.Snapshot) error { return nil }); err != nil {
			*found = append(*found, err)
		}
	}
	return rows.Err()
}
