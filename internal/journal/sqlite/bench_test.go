package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
)

var body = json.RawMessage(`{"text":"` + strings.Repeat("x", 389) + `"}`) // 400 bytes

// batchOf makes the next n events of a team.
func batchOf(team string, expect int64, n int) journal.Batch {
	b := journal.Batch{Team: team, Expect: expect}
	for i := range n {
		b.Events = append(b.Events, substrat.Event{
			Team: team, TeamSeq: expect + 1 + int64(i), Type: "message_sent", At: time.Unix(1_700_000_000, int64(i)).UTC(),
			Actor: "lead/coder", Data: body,
		})
	}
	return b
}

// BenchmarkAppend puts Append beside plain inserts of the same payloads through the same driver, in transactions of the
// same size and settings. The two take turns, so that the noise of the machine meets both. The promise is ratio ≥ 0.5.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			raw, ours := rawInserts(b, n), ourAppends(b, n)
			var rawTime, ourTime time.Duration
			for b.Loop() {
				start := time.Now()
				raw()
				middle := time.Now()
				ours()
				rawTime += middle.Sub(start)
				ourTime += time.Since(middle)
			}
			b.ReportMetric(rawTime.Seconds()/ourTime.Seconds(), "ratio")
			b.ReportMetric(float64(b.N*n)/ourTime.Seconds(), "events/s")
			b.ReportMetric(float64(b.N*n)/rawTime.Seconds(), "raw/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func ourAppends(b *testing.B, n int) func() {
	j := openB(b, filepath.Join(b.TempDir(), "journal.db"))
	batch := batchOf("0190a000-0000-7000-8000-000000000001", 0, n)
	return func() {
		if _, _, err := j.Append(b.Context(), []journal.Batch{batch}); err != nil {
			b.Fatal(err)
		}
		batch.Expect += int64(n)
		for i := range batch.Events {
			batch.Events[i].TeamSeq += int64(n)
		}
	}
}

func rawInserts(b *testing.B, n int) func() {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "raw.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE m (seq INTEGER PRIMARY KEY, team TEXT, n INTEGER, at INTEGER, body BLOB)"); err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO m (team, n, at, body) VALUES (?, ?, ?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = insert.Close() })
	return func() {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		s := tx.Stmt(insert)
		for i := range n {
			if _, err := s.Exec("0190a000-0000-7000-8000-000000000001", i, time.Now().UnixNano(), []byte(body)); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

func openB(b *testing.B, path string) *sqlite.Journal {
	b.Helper()
	j, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close() })
	return j
}

// fill writes teams × per events, spread as if the teams had run side by side.
func fill(b *testing.B, j *sqlite.Journal, teams, per, step int) {
	b.Helper()
	for done := 0; done < per; done += step {
		for first := 0; first < teams; first += 100 {
			var batches []journal.Batch
			for t := first; t < min(first+100, teams); t++ {
				batches = append(batches, batchOf(fmt.Sprintf("team-%05d", t), int64(done), step))
			}
			if _, _, err := j.Append(b.Context(), batches); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// cover saves snapshots of all teams.
func cover(b *testing.B, j *sqlite.Journal, teams, at int) {
	b.Helper()
	state := []byte(strings.Repeat("s", 1024))
	var all []journal.Snapshot
	for t := range teams {
		all = append(all, journal.Snapshot{Team: fmt.Sprintf("team-%05d", t), TeamSeq: int64(at), Data: state})
	}
	if err := j.SaveSnapshots(b.Context(), all); err != nil {
		b.Fatal(err)
	}
}

func load(b *testing.B, j *sqlite.Journal) (snapshots, events int) {
	b.Helper()
	err := j.Load(context.Background(),
		func(journal.Snapshot) error { snapshots++; return nil },
		func(substrat.Event) error { events++; return nil })
	if err != nil {
		b.Fatal(err)
	}
	return snapshots, events
}

// BenchmarkLoad recovers 10,000 teams with 1,000,000 events: nothing covered, which is the full scan; all covered; all but
// one at the very beginning of the log; and 20,000 more at its end.
func BenchmarkLoad(b *testing.B) {
	const teams, per = 10_000, 100
	j := openB(b, filepath.Join(b.TempDir(), "journal.db"))
	if _, _, err := j.Append(b.Context(), []journal.Batch{batchOf("old", 0, 2)}); err != nil {
		b.Fatal(err)
	}
	fill(b, j, teams, per, 20)
	measure := func(name string, snapshots, events int) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if s, e := load(b, j); s != snapshots || e != events {
					b.Fatalf("loaded %d snapshots and %d events, want %d and %d", s, e, snapshots, events)
				}
			}
		})
	}
	measure("nothing covered", 0, teams*per+2)
	b.Run("events in pages of 1000", func(b *testing.B) {
		for b.Loop() {
			pages(b, j, teams*per)
		}
	})
	cover(b, j, teams, per)
	if err := j.SaveSnapshots(b.Context(), []journal.Snapshot{{Team: "old", TeamSeq: 1}}); err != nil {
		b.Fatal(err)
	}
	measure("all but an old one covered", teams+1, 1)
	if err := j.SaveSnapshots(b.Context(), []journal.Snapshot{{Team: "old", TeamSeq: 2}}); err != nil {
		b.Fatal(err)
	}
	measure("all covered", teams+1, 0)
	var more []journal.Batch
	for t := range teams {
		more = append(more, batchOf(fmt.Sprintf("team-%05d", t), per, 2))
	}
	if _, _, err := j.Append(b.Context(), more); err != nil {
		b.Fatal(err)
	}
	measure("20000 uncovered", teams+1, 2*teams)
}

func pages(b *testing.B, j *sqlite.Journal, want int) {
	b.Helper()
	var after int64
	for n := 0; n < want; {
		events, err := j.Events(b.Context(), after, "", 1000)
		if err != nil || len(events) == 0 {
			b.Fatal(n, err)
		}
		n += len(events)
		after = events[len(events)-1].Seq
	}
}
