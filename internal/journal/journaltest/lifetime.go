package journaltest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

func testReopen(t *testing.T, s suite) {
	j := s.open(t)
	var want []substrat.Event
	for i := range 5 {
		b := batch("a", int64(i*20), 20)
		b.Docs = []journal.Doc{doc("turn", fmt.Sprint("t", i), "a", int64(i))}
		want = append(want, mustAppend(t, j, b)...)
		mustSave(t, j, snap("a", int64(i*20+5), "state"))
		j = s.reopen(t, j)
		equal(t, "events", allEvents(t, j, "", 0), want)
		equal(t, "uncovered", load(t, j).Events, want[i*20+5:])
		if docs := allDocs(t, j, journal.Query{}); len(docs) != i+1 {
			t.Fatalf("%d docs", len(docs))
		}
	}
	closing(t, j)
}

func testClosed(t *testing.T, s suite) {
	j := s.open(t)
	mustAppend(t, j, batch("a", 0, 1))
	closing(t, j)
	closing(t, j)
	_, _, err := j.Append(t.Context(), []journal.Batch{batch("a", 1, 1)})
	refused(t, err, substrat.CodeUnavailable)
	_, err = j.Events(t.Context(), 0, "", 0)
	refused(t, err, substrat.CodeUnavailable)
	_, err = j.LastSeq(t.Context())
	refused(t, err, substrat.CodeUnavailable)
	_, _, err = j.Docs(t.Context(), journal.Query{})
	refused(t, err, substrat.CodeUnavailable)
	_, err = j.Doc(t.Context(), "turn", "x")
	refused(t, err, substrat.CodeUnavailable)
	_, err = j.Lease(t.Context(), "one", time.Hour)
	refused(t, err, substrat.CodeUnavailable)
	refused(t, j.SaveSnapshots(t.Context(), []journal.Snapshot{snap("a", 1, "x")}), substrat.CodeUnavailable)
	refused(t, j.Load(t.Context(), nil, nil), substrat.CodeUnavailable)
}

// testConcurrentReaders has readers tail the journal while appends of three events each come in: a reader must see every
// event once, in order, and never a part of an append.
func testConcurrentReaders(t *testing.T, s suite) {
	const appends, readers = 60, 3
	j := s.open(t)
	defer closing(t, j)
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			if err := tail(t, j, 3*appends); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range int64(appends) {
		_, _, err := j.Append(t.Context(), []journal.Batch{batch("a", 2*i, 2), batch("b", i, 1)})
		if err != nil {
			t.Errorf("append: %v", err)
			break
		}
	}
	wg.Wait()
}

func tail(t *testing.T, j journal.Journal, total int) error {
	deadline := time.Now().Add(30 * time.Second)
	var after int64
	for seen := 0; seen < total; {
		events, err := j.Events(t.Context(), after, "", 0)
		if err != nil {
			return err
		}
		if len(events)%3 != 0 {
			return fmt.Errorf("%d events: a part of an append", len(events))
		}
		for _, e := range events {
			if e.Seq <= after {
				return fmt.Errorf("seq %d after %d", e.Seq, after)
			}
			after = e.Seq
		}
		seen += len(events)
		if time.Now().After(deadline) {
			return fmt.Errorf("saw %d of %d events", seen, total)
		}
	}
	return nil
}

// testConcurrentWriters has four writers that each fold what is there and try to append the next event of one team. All
// but one must be refused each time, so that the team's events have no gap and no double.
func testConcurrentWriters(t *testing.T, s suite) {
	const each, writers = 10, 4
	j := s.open(t)
	defer closing(t, j)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			head := int64(0)
			for done := 0; done < each; head++ {
				b := batch("a", head, 1)
				b.Events[0].Actor = fmt.Sprint("writer ", w)
				_, _, err := j.Append(t.Context(), []journal.Batch{b})
				if err == nil {
					done++
				} else if substrat.CodeOf(err) != substrat.CodeConflict {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	wins := map[string]int{}
	for i, e := range allEvents(t, j, "a", 0) {
		if e.TeamSeq != int64(i)+1 {
			t.Fatalf("event %d at place %d", e.TeamSeq, i)
		}
		wins[e.Actor]++
	}
	for w := range writers {
		if n := wins[fmt.Sprint("writer ", w)]; n != each {
			t.Errorf("writer %d was told of %d events, the journal holds %d", w, each, n)
		}
	}
}
