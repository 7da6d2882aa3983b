// Package sqlite keeps the journal of one machine in one SQLite file: WAL, synchronous=FULL, one connection that
// writes, a few that read.
//
// It owns the file, its schema and when the WAL is folded back into it. It never groups writers: who wants many
// decisions in one fsync hands them to one Append. It never retries a failed fsync, and never repairs: what is damaged
// is refused and named.
//
// How the file is made, so that it can be read with the sqlite3 program: teams holds a number for every team, and
// where it ends; events holds the log by seq; snapshots the folded state of a team at one of its events; docs the
// records for people; lease the one writer. Times are nanoseconds since 1970.
package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// Options may be left zero.
type Options struct {
	// Busy is how long a write waits for another process that writes. Default 5 s.
	Busy time.Duration
	// CheckpointBytes is the size of the WAL, about, at which it is folded back without waiting for a quiet moment.
	// Default 16 MiB.
	CheckpointBytes int64
	// CheckpointIdle is how long nothing must have been written before the WAL is folded back. Default 1 s.
	CheckpointIdle time.Duration

	// fault is asked before each step of a write transaction ("begin", "insert", "commit"); its error counts as the
	// step's. For tests.
	fault func(step string) error
	// now is the clock of leases.
	now func() time.Time
}

// Journal is a journal.Journal in a SQLite file.
type Journal struct {
	path string
	opts Options

	// turn holds one token: who has it may use write.
	turn  chan struct{}
	write *writer
	// read is the pool of readers. folder is the connection that checkpoints, so that writers need not.
	read   *sql.DB
	folder *sql.DB

	// fatal is the error that ended this journal's life, see journal.ErrFatal.
	fatal atomic.Pointer[error]

	wal       walGauge
	stop      chan struct{}
	folding   sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

var _ journal.Journal = (*Journal)(nil)

// begin waits for the right to write. The caller hands it back with end.
func (j *Journal) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-j.stop:
		return errClosed()
	default:
	}
	select {
	case <-j.turn:
	case <-ctx.Done():
		return ctx.Err()
	case <-j.stop:
		return errClosed()
	}
	if err := j.fatal.Load(); err != nil {
		j.end()
		return *err
	}
	return nil
}

func (j *Journal) end() { j.turn <- struct{}{} }

// reading reports whether reads may go on. They may after a fatal error: what was acknowledged is still there.
func (j *Journal) reading(ctx context.Context) error {
	select {
	case <-j.stop:
		return errClosed()
	default:
		return ctx.Err()
	}
}

func errClosed() error {
	return substrat.Errorf(substrat.CodeUnavailable, "cannot use the journal: it is closed")
}

// Close waits for the write that is under way, folds the WAL back and lets go of the file. After a fatal error it leaves
// the file and the WAL as they are for the next process to recover from, and keeps the handle that wrote them: closing
// it would checkpoint.
func (j *Journal) Close() error {
	j.closeOnce.Do(func() {
		close(j.stop)
		<-j.turn
		j.folding.Wait()
		j.closeErr = j.closeFiles()
	})
	return j.closeErr
}

func (j *Journal) closeFiles() error {
	err := j.read.Close()
	if j.fatal.Load() != nil {
		return nil
	}
	// The writer goes last, so that it is the last connection to the file, whose close removes the WAL.
	if e := j.folder.Close(); err == nil {
		err = e
	}
	if e := j.write.Close(); err == nil {
		err = e
	}
	return j.classify("close the journal", err)
}
