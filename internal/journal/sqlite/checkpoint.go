package sqlite

import (
	"context"
	"sync/atomic"
	"time"

	"substrat.dev/substrat/internal/journal"
)

// What a write adds to the WAL, roughly: the pages that every commit touches, and what a row takes beside its payload.
const (
	pageSize       = 4096
	pagesPerCommit = 4 * pageSize
	rowWeight      = 256
)

func weight(b *journal.Batch) (n int64) {
	for i := range b.Events {
		n += int64(len(b.Events[i].Data)+len(b.Events[i].Answer)) + rowWeight
	}
	for i := range b.Docs {
		n += int64(len(b.Docs[i].Body)) + 4*rowWeight
	}
	return n
}

// walGauge guesses how much of the WAL is not folded back yet, so that nobody has to ask SQLite after each write.
type walGauge struct {
	bytes atomic.Int64
	dirty chan struct{} // something was written
	large chan struct{} // the gauge is over the limit
}

func (g *walGauge) init() {
	g.dirty, g.large = make(chan struct{}, 1), make(chan struct{}, 1)
}

func (g *walGauge) grew(n, limit int64) {
	total := g.bytes.Add(n)
	signal(g.dirty)
	if total >= limit {
		signal(g.large)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// foldWhenQuiet folds the WAL back into the file when nothing has been written for a while, or at the latest when it has
// grown over the limit, so that no writer has to wait for it. It ends when the journal is closed.
func (j *Journal) foldWhenQuiet() {
	for {
		select {
		case <-j.stop:
			return
		case <-j.wal.dirty:
		}
		if !j.awaitQuiet() {
			return
		}
	}
}

// awaitQuiet folds once the WAL deserves it. It reports false when the journal is closed.
func (j *Journal) awaitQuiet() bool {
	tick := time.NewTicker(j.opts.CheckpointIdle)
	defer tick.Stop()
	large := j.wal.large
	for seen := j.wal.bytes.Load(); seen > 0; seen = j.wal.bytes.Load() {
		select {
		case <-j.stop:
			return false
		case <-large:
			j.fold()
			large = nil // a reader may stand in the way: not again before the next tick
		case <-tick.C:
			large = j.wal.large
			if j.wal.bytes.Load() == seen {
				j.fold()
			}
		}
	}
	return true
}

// fold folds the WAL back beside the writers, and, if it is long by now, once more in their turn: a WAL starts over from
// its beginning only when it is folded to its end and nobody has begun to write behind that. What is left for the second
// time is little, so a writer waits for one fsync and not for the whole.
func (j *Journal) fold() {
	if j.checkpoint()*pageSize < j.opts.CheckpointBytes {
		return
	}
	select {
	case <-j.turn:
	case <-j.stop:
		return
	}
	defer j.end()
	j.checkpoint()
}

// checkpoint folds back what it can, lowers the gauge if that was all, and gives the length of the WAL in pages. A disk
// that is full, or a reader that stands in the way, is no harm: the WAL keeps everything, and the next quiet moment
// tries again.
func (j *Journal) checkpoint() (frames int64) {
	if j.fatal.Load() != nil {
		return 0
	}
	before := j.wal.bytes.Load()
	var busy, folded int64
	err := j.folder.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &folded)
	if err != nil {
		_ = j.classifyWrite("fold the write-ahead log back", err) // sticks if it is fatal
		return 0
	}
	if busy == 0 && folded == frames {
		j.wal.bytes.Add(-before)
	}
	return frames
}
