package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// Append implements journal.Journal.
func (j *Journal) Append(ctx context.Context, batches []journal.Batch) (first, last int64, err error) {
	if err := journal.CheckBatches(batches); err != nil {
		return 0, 0, err
	}
	var size int64
	var before int64
	err = j.transact(ctx, "append to the journal", func(ctx context.Context, w *writer) (err error) {
		before, size, err = j.appendAll(ctx, w, batches)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	j.wal.grew(size, j.opts.CheckpointBytes)
	first, last = number(batches, before)
	return first, last, nil
}

// number writes Seq back, now that it is certain.
func number(batches []journal.Batch, seq int64) (first, last int64) {
	for _, b := range batches {
		for i := range b.Events {
			seq++
			b.Events[i].Seq = seq
			if first == 0 {
				first = seq
			}
			last = seq
		}
	}
	return first, last
}

func (j *Journal) appendAll(ctx context.Context, w *writer, batches []journal.Batch) (before, size int64, err error) {
	var epoch int64
	if err := w.state.QueryRowContext(ctx).Scan(&epoch, &before); err != nil {
		return 0, 0, err
	}
	seq := before
	size = pagesPerCommit
	for i := range batches {
		b := &batches[i]
		if b.Epoch != epoch {
			return 0, 0, substrat.Errorf(substrat.CodeConflict,
				"cannot append for team %s: the writer has epoch %d, the journal %d", b.Team, b.Epoch, epoch).
				WithHint("another daemon has taken over")
		}
		if err := j.appendBatch(ctx, w, b, &seq); err != nil {
			return 0, 0, err
		}
		size += weight(b)
	}
	return before, size, nil
}

func (j *Journal) appendBatch(ctx context.Context, w *writer, b *journal.Batch, seq *int64) error {
	team, err := w.claim(ctx, b, *seq)
	if err != nil {
		return err
	}
	for rest := b.Events; len(rest) > 0; {
		if err := j.opts.fault("insert"); err != nil {
			return err
		}
		n, err := w.insertSome(ctx, team, rest, *seq)
		if err != nil {
			return err
		}
		*seq += int64(n)
		rest = rest[n:]
	}
	for i := range b.Docs {
		if err := j.opts.fault("insert"); err != nil {
			return err
		}
		if err := w.putDoc(ctx, &b.Docs[i]); err != nil {
			return err
		}
	}
	return nil
}

// claim moves the head of the team over the events of the batch and gives the team's number. That the team stands where
// the writer thinks is checked by the same statement that moves it.
func (w *writer) claim(ctx context.Context, b *journal.Batch, seq int64) (team int64, err error) {
	n := int64(len(b.Events))
	switch {
	case n == 0:
		var head int64
		if err := w.headOf.QueryRowContext(ctx, b.Team).Scan(&head); err != nil {
			return 0, err
		}
		if head != b.Expect {
			return 0, w.behind(ctx, b)
		}
		return 0, nil
	case b.Expect == 0:
		err = w.newTeam.QueryRowContext(ctx, b.Team, n, seq+1).Scan(&team)
	default:
		err = w.moveTeam.QueryRowContext(ctx, b.Team, b.Expect+n, seq+1, b.Expect).Scan(&team)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return 0, w.behind(ctx, b)
	}
	return team, err
}

func (w *writer) behind(ctx context.Context, b *journal.Batch) error {
	var head int64
	if err := w.headOf.QueryRowContext(ctx, b.Team).Scan(&head); err != nil {
		return err
	}
	return substrat.Errorf(substrat.CodeConflict,
		"cannot append for team %s: the writer has folded event %d, the journal holds %d", b.Team, b.Expect, head)
}

// insertSome inserts as many of the events as the largest fitting statement takes, numbered after seq.
func (w *writer) insertSome(ctx context.Context, team int64, events []substrat.Event, seq int64) (int, error) {
	in := w.insert[len(w.insert)-1]
	for _, i := range w.insert {
		if i.rows <= len(events) {
			in = i
			break
		}
	}
	args := w.args[:0]
	for i := range in.rows {
		e := events[i] // a copy: the caller's gets its Seq after the commit
		e.Seq = seq + 1 + int64(i)
		args = append(args, e.Seq, team, e.TeamSeq, e.Type, journal.Nanos(e.At), e.Actor, e.Key,
			int64(journal.Checksum(&e)), []byte(e.Answer), []byte(e.Data))
	}
	_, err := in.stmt.ExecContext(ctx, args...)
	clear(args) // lets go of the payloads
	w.args = args
	return in.rows, err
}

func (w *writer) putDoc(ctx context.Context, d *journal.Doc) error {
	_, err := w.doc.ExecContext(ctx, d.Kind, d.ID, d.Team, d.Agent, d.Path, journal.Nanos(d.At), d.State, []byte(d.Body))
	return err
}
