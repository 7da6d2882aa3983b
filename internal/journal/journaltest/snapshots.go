package journaltest

import (
	"errors"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

func snap(team string, seq int64, data string) journal.Snapshot {
	return journal.Snapshot{Team: team, TeamSeq: seq, Data: []byte(data)}
}

func mustSave(t testing.TB, j journal.Journal, snapshots ...journal.Snapshot) {
	t.Helper()
	if err := j.SaveSnapshots(t.Context(), snapshots); err != nil {
		t.Fatalf("save snapshots: %v", err)
	}
}

func testSnapshots(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	all := mustAppend(t, j, batch("a", 0, 3), batch("b", 0, 2), batch("c", 0, 2))
	equal(t, "nothing covered", load(t, j), loaded{Events: all})
	a2, b2 := snap("a", 2, "a at 2"), snap("b", 2, "b at \x00 2")
	mustSave(t, j, a2)
	equal(t, "a in part", load(t, j), loaded{map[string]journal.Snapshot{"a": a2}, all[2:]})
	mustSave(t, j, b2)
	want := loaded{map[string]journal.Snapshot{"a": a2, "b": b2}, append(all[2:3:3], all[5:]...)}
	equal(t, "a in part, b whole", load(t, j), want)
	j = s.reopen(t, j)
	defer closing(t, j)
	equal(t, "reopened", load(t, j), want)
	more := mustAppend(t, j, batch("b", 2, 1), batch("a", 3, 1), batch("d", 0, 1))
	a4, c2 := snap("a", 4, "a at 4"), snap("c", 2, "")
	mustSave(t, j, a4, c2)
	equal(t, "a and c whole, b and d new", load(t, j), loaded{
		map[string]journal.Snapshot{"a": a4, "b": b2, "c": c2}, []substrat.Event{more[0], more[2]},
	})
	mustSave(t, j, snap("b", 3, "b"), snap("d", 1, "d"))
	if got := load(t, j); len(got.Events) != 0 || len(got.Snapshots) != 4 {
		t.Fatalf("all covered, but %d events and %d snapshots", len(got.Events), len(got.Snapshots))
	}
	equal(t, "the log keeps everything", allEvents(t, j, "", 0), append(all, more...))
}

func testSnapshotRules(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	all := mustAppend(t, j, batch("a", 0, 5), batch("b", 0, 1))
	mustSave(t, j)
	refused(t, j.SaveSnapshots(t.Context(), []journal.Snapshot{snap("a", 3, "x"), snap("b", 2, "ahead")}), substrat.CodeConflict)
	refused(t, j.SaveSnapshots(t.Context(), []journal.Snapshot{snap("a", 3, "x"), snap("new", 1, "unknown")}), substrat.CodeConflict)
	refused(t, j.SaveSnapshots(t.Context(), []journal.Snapshot{snap("a", 0, "x")}), substrat.CodeInvalid)
	refused(t, j.SaveSnapshots(t.Context(), []journal.Snapshot{snap("", 1, "x")}), substrat.CodeInvalid)
	equal(t, "nothing saved", load(t, j), loaded{Events: all})
	mustSave(t, j, snap("a", 4, "four"))
	mustSave(t, j, snap("a", 3, "three, late"))
	want := loaded{map[string]journal.Snapshot{"a": snap("a", 4, "four")}, all[4:]}
	equal(t, "the newer stays", load(t, j), want)
	mustSave(t, j, snap("a", 4, "four again"))
	want.Snapshots["a"] = snap("a", 4, "four again")
	equal(t, "the same seq is replaced", load(t, j), want)
}

func testLoadErrors(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	all := mustAppend(t, j, batch("a", 0, 3))
	mustSave(t, j, snap("a", 1, "a"))
	stop := errors.New("stop")
	err := j.Load(t.Context(), func(journal.Snapshot) error { return stop }, nil)
	if !errors.Is(err, stop) {
		t.Errorf("a snapshot callback's error came back as %v", err)
	}
	var got []substrat.Event
	next := batch("a", 3, 1)
	err = j.Load(t.Context(), func(journal.Snapshot) error { return nil }, func(e substrat.Event) error {
		if got = append(got, e); len(got) == 1 {
			mustAppend(t, j, next)
		}
		if n := len(allEvents(t, j, "", 0)); n != 4 {
			t.Errorf("%d events beside the load", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the state the load began with", got, all[1:])
	err = j.Load(t.Context(), func(journal.Snapshot) error { return nil }, func(substrat.Event) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("an event callback's error came back as %v", err)
	}
}
