package sqlite

import (
	"context"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// Lease implements journal.Journal. Time is this machine's clock: the file cannot be shared between machines.
func (j *Journal) Lease(ctx context.Context, holder string, ttl time.Duration) (journal.Lease, error) {
	if err := journal.CheckLease(holder, ttl); err != nil {
		return journal.Lease{}, err
	}
	var lease journal.Lease
	err := j.transact(ctx, "lease the journal", func(ctx context.Context, w *writer) error {
		now := j.opts.now()
		lease.Until = now.Add(ttl)
		var epoch, until int64
		var held string
		if err := w.lease.QueryRowContext(ctx).Scan(&epoch, &held, &until); err != nil {
			return err
		}
		if held != holder && now.UnixNano() < until {
			return substrat.Errorf(substrat.CodeConflict, "cannot lease the journal: %s holds it until %s",
				held, journal.Time(until).Format(time.RFC3339))
		}
		if held != holder {
			if ttl == 0 {
				return substrat.Errorf(substrat.CodeConflict, "cannot give up the lease of the journal: %s does not hold it", holder)
			}
			epoch++
		}
		lease.Epoch = epoch
		if ttl == 0 {
			holder = "" // so that the same name, too, comes back with a new epoch
		}
		_, err := w.setLease.ExecContext(ctx, epoch, holder, lease.Until.UnixNano())
		return err
	})
	if err != nil {
		return journal.Lease{}, err
	}
	j.wal.grew(pagesPerCommit, j.opts.CheckpointBytes)
	return lease, nil
}
