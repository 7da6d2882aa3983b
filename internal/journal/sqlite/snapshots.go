package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// SaveSnapshots implements journal.Journal.
func (j *Journal) SaveSnapshots(ctx context.Context, snapshots []journal.Snapshot) error {
	if err := journal.CheckSnapshots(snapshots); err != nil {
		return err
	}
	if len(snapshots) == 0 {
		return j.reading(ctx)
	}
	size := int64(pagesPerCommit)
	err := j.transact(ctx, "save snapshots", func(ctx context.Context, w *writer) error {
		for _, s := range snapshots {
			if err := j.opts.fault("insert"); err != nil {
				return err
			}
			if err := w.saveSnapshot(ctx, s); err != nil {
				return err
			}
			size += int64(len(s.Data)) + rowWeight
		}
		return nil
	})
	if err == nil {
		j.wal.grew(size, j.opts.CheckpointBytes)
	}
	return err
}

func (w *writer) saveSnapshot(ctx context.Context, s journal.Snapshot) error {
	var id, head, covered, first int64
	err := w.teamOf.QueryRowContext(ctx, s.Team).Scan(&id, &head, &covered)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if s.TeamSeq > head {
		return substrat.Errorf(substrat.CodeConflict,
			"cannot save a snapshot of team %s: it covers event %d, the journal holds %d", s.Team, s.TeamSeq, head)
	}
	if s.TeamSeq < covered {
		return nil
	}
	if s.TeamSeq < head {
		// Counted from the newest event backwards: a snapshot is rarely much behind its team.
		if err := w.seqOf.QueryRowContext(ctx, id, head-s.TeamSeq-1).Scan(&first); err != nil {
			return err
		}
	}
	if _, err := w.setFirst.ExecContext(ctx, first, id); err != nil {
		return err
	}
	_, err = w.snapshot.ExecContext(ctx, id, s.TeamSeq, int64(journal.SnapshotChecksum(s)), s.Data)
	return err
}
