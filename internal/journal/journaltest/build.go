package journaltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// start is when the events of the suite happen. Its nanoseconds must survive.
var start = time.Date(2026, 11, 20, 9, 30, 0, 123456789, time.UTC)

// batch makes the next n events of a team.
func batch(team string, expect int64, n int) journal.Batch {
	b := journal.Batch{Team: team, Expect: expect}
	for i := range int64(n) {
		seq := expect + 1 + i
		b.Events = append(b.Events, substrat.Event{
			Team: team, TeamSeq: seq, Type: "turn_started", At: start.Add(time.Duration(seq)),
			Actor: team + "/worker", Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, seq)),
		})
	}
	return b
}

func doc(kind, id, team string, at int64) journal.Doc {
	return journal.Doc{
		Kind: kind, ID: id, Team: team, Agent: "agent-" + team, Path: team + "/worker", At: start.Add(time.Duration(at)),
		State: "handled", Body: json.RawMessage(`{"id":"` + id + `"}`),
	}
}

// mustAppend appends and gives the events as the journal numbered them.
func mustAppend(t testing.TB, j journal.Journal, batches ...journal.Batch) (events []substrat.Event) {
	t.Helper()
	first, last, err := j.Append(t.Context(), batches)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	for _, b := range batches {
		events = append(events, b.Events...)
	}
	if len(events) > 0 && (events[0].Seq != first || events[len(events)-1].Seq != last) {
		t.Fatalf("append answered %d to %d, the events say %d to %d", first, last, events[0].Seq, events[len(events)-1].Seq)
	}
	return events
}

// refused fails unless err has the code.
func refused(t testing.TB, err error, want substrat.Code) {
	t.Helper()
	if err == nil || substrat.CodeOf(err) != want {
		t.Fatalf("got error %v, want code %s", err, want)
	}
}

// allEvents reads everything by pages.
func allEvents(t testing.TB, j journal.Journal, team string, page int) (all []substrat.Event) {
	t.Helper()
	for after := int64(0); ; {
		events, err := j.Events(t.Context(), after, team, page)
		if err != nil {
			t.Fatalf("events after %d: %v", after, err)
		}
		if len(events) == 0 {
			return all
		}
		all = append(all, events...)
		if last := events[len(events)-1].Seq; last <= after {
			t.Fatalf("events after %d end at %d", after, last)
		}
		after = events[len(events)-1].Seq
	}
}

// allDocs reads everything a query selects by pages.
func allDocs(t testing.TB, j journal.Journal, q journal.Query) (all []journal.Doc) {
	t.Helper()
	for {
		docs, next, err := j.Docs(t.Context(), q)
		if err != nil {
			t.Fatalf("docs %+v: %v", q, err)
		}
		all = append(all, docs...)
		if next == "" {
			return all
		}
		if len(docs) == 0 || len(all) > 100_000 {
			t.Fatalf("docs %+v: the pages do not come to an end", q)
		}
		q.After = next
	}
}

// loaded is what a Load gave.
type loaded struct {
	Snapshots map[string]journal.Snapshot
	Events    []substrat.Event
}

func load(t testing.TB, j journal.Journal) loaded {
	t.Helper()
	got := loaded{Snapshots: map[string]journal.Snapshot{}}
	err := j.Load(t.Context(),
		func(s journal.Snapshot) error {
			if len(got.Events) > 0 {
				t.Errorf("the snapshot of %s came after an event", s.Team)
			}
			if _, twice := got.Snapshots[s.Team]; twice {
				t.Errorf("two snapshots of %s", s.Team)
			}
			got.Snapshots[s.Team] = s
			return nil
		},
		func(e substrat.Event) error { got.Events = append(got.Events, e); return nil })
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return got
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := difference(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// difference is empty if both are the same. Long lists of events, which are nearly always equal, are compared by hand
// first: cmp takes seconds for what the suite compares.
func difference(want, got any) string {
	switch w := want.(type) {
	case []substrat.Event:
		if g, ok := got.([]substrat.Event); ok && slices.EqualFunc(w, g, sameEvent) {
			return ""
		}
	case loaded:
		if g, ok := got.(loaded); ok && slices.EqualFunc(w.Events, g.Events, sameEvent) {
			w.Events, g.Events = nil, nil
			want, got = w, g
		}
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

func sameEvent(a, b substrat.Event) bool {
	return a.Seq == b.Seq && a.Team == b.Team && a.TeamSeq == b.TeamSeq && a.Type == b.Type && a.At.Equal(b.At) && a.Actor == b.Actor &&
		a.Key == b.Key && bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Answer, b.Answer)
}
