package sqlite_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
)

// A fixture is made once, by the first program with its version, and never again: it stands for files in the field.
var makeFixture = flag.String("make-fixture", "", "write the journal of TestFixture to this file")

func fixtureBatches() []journal.Batch {
	at := time.Date(2026, 11, 20, 10, 0, 0, 987654321, time.UTC)
	event := func(team string, seq int64, typ, data string) substrat.Event {
		return substrat.Event{
			Team: team, TeamSeq: seq, Type: typ, At: at.Add(time.Duration(seq)), Actor: "USER", Key: "turn:1",
			Data: json.RawMessage(data), Answer: json.RawMessage(`{"status":"sent"}`),
		}
	}
	return []journal.Batch{
		{Team: "lead", Epoch: 1, Events: []substrat.Event{
			event("lead", 1, "agent_created", `{"name":"lead"}`), event("lead", 2, "message_sent", `{"text":"é🎉"}`),
			event("lead", 3, "turn_started", ``),
		}},
		{Team: "other", Epoch: 1, Events: []substrat.Event{event("other", 1, "agent_created", `{"name":"other"}`)}, Docs: []journal.Doc{
			{Kind: "turn", ID: "t1", Team: "other", Agent: "a1", Path: "other", At: at, State: "completed", Body: json.RawMessage(`{}`)},
		}},
	}
}

func TestFixture(t *testing.T) {
	if *makeFixture != "" {
		writeFixture(t, *makeFixture)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "v1.db"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, path, sqlite.Options{})
	checkFixture(t, j)
	b := journal.Batch{Team: "lead", Expect: 3, Epoch: 1, Events: batchOf("lead", 3, 1).Events}
	if _, last, err := j.Append(t.Context(), []journal.Batch{b}); err != nil || last != 5 {
		t.Fatalf("append to an old journal: %d, %v", last, err)
	}
}

func writeFixture(t *testing.T, path string) {
	t.Helper()
	j := open(t, path, sqlite.WithClock(sqlite.Options{}, func() time.Time { return time.Unix(1_700_000_000, 0) }))
	if _, err := j.Lease(t.Context(), "first", time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, _, err := j.Append(t.Context(), fixtureBatches()); err != nil {
		t.Fatal(err)
	}
	if err := j.SaveSnapshots(t.Context(), []journal.Snapshot{{Team: "lead", TeamSeq: 2, Data: []byte("state")}}); err != nil {
		t.Fatal(err)
	}
	closed(t, j)
}

// closed closes a journal and sees to it that nothing is left but the one file.
func closed(t testing.TB, j *sqlite.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(sqlite.Path(j) + suffix); err == nil {
			t.Fatalf("the closed journal left its %s", suffix)
		}
	}
}

func checkFixture(t *testing.T, j *sqlite.Journal) {
	t.Helper()
	var want []substrat.Event
	for _, b := range fixtureBatches() {
		want = append(want, b.Events...)
	}
	for i := range want {
		want[i].Seq = int64(i) + 1
	}
	want[2].Data = nil
	snapshots, uncovered := loaded(t, j)
	if diff := cmp.Diff([]journal.Snapshot{{Team: "lead", TeamSeq: 2, Data: []byte("state")}}, snapshots); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[2:], uncovered); diff != "" {
		t.Error(diff)
	}
	events, err := j.Events(t.Context(), 0, "", 0)
	if diff := cmp.Diff(want, events); diff != "" || err != nil {
		t.Error(diff, err)
	}
	d, err := j.Doc(t.Context(), "turn", "t1")
	if diff := cmp.Diff(fixtureBatches()[1].Docs[0], d); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func open(t testing.TB, path string, o sqlite.Options) *sqlite.Journal {
	t.Helper()
	j, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func loaded(t testing.TB, j *sqlite.Journal) (snapshots []journal.Snapshot, events []substrat.Event) {
	t.Helper()
	err := j.Load(t.Context(),
		func(s journal.Snapshot) error { snapshots = append(snapshots, s); return nil },
		func(e substrat.Event) error { events = append(events, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return snapshots, events
}
