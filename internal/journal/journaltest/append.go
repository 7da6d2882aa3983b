package journaltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

func closing(t *testing.T, j journal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func testEmpty(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	seq, err := j.LastSeq(t.Context())
	if seq != 0 || err != nil {
		t.Errorf("last seq %d, %v", seq, err)
	}
	equal(t, "events", allEvents(t, j, "", 0), []substrat.Event(nil))
	equal(t, "docs", allDocs(t, j, journal.Query{}), []journal.Doc(nil))
	equal(t, "load", load(t, j), loaded{})
	_, err = j.Doc(t.Context(), "turn", "x")
	refused(t, err, substrat.CodeNotFound)
	first, last, err := j.Append(t.Context(), nil)
	if first != 0 || last != 0 || err != nil {
		t.Errorf("an append of nothing: %d, %d, %v", first, last, err)
	}
}

func testOrder(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	want := mustAppend(t, j, batch("a", 0, 3), batch("b", 0, 2), batch("a", 3, 1))
	b := batch("b", 2, 2)
	b.Events[1].At, b.Events[1].Actor, b.Events[1].Key = time.Time{}, "", "turn-1:7"
	b.Events[1].Answer = json.RawMessage(`{"status":"sent"}`)
	want = append(want, mustAppend(t, j, b)...)
	for i, e := range want {
		if i > 0 && e.Seq <= want[i-1].Seq {
			t.Fatalf("seq %d after %d", e.Seq, want[i-1].Seq)
		}
	}
	equal(t, "all events", allEvents(t, j, "", 0), want)
	equal(t, "events of a", allEvents(t, j, "a", 0), []substrat.Event{want[0], want[1], want[2], want[5]})
	equal(t, "events of nobody", allEvents(t, j, "c", 0), []substrat.Event(nil))
	if seq, err := j.LastSeq(t.Context()); err != nil || seq != want[len(want)-1].Seq {
		t.Fatalf("last seq %d, %v", seq, err)
	}
}

func testExpect(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	want := mustAppend(t, j, batch("a", 0, 3))
	for _, expect := range []int64{0, 2, 4} {
		b := batch("a", expect, 1)
		_, _, err := j.Append(t.Context(), []journal.Batch{b})
		refused(t, err, substrat.CodeConflict)
		if b.Events[0].Seq != 0 {
			t.Errorf("a refused event was numbered %d", b.Events[0].Seq)
		}
		docs := journal.Batch{Team: "a", Expect: expect, Docs: []journal.Doc{doc("turn", "t1", "a", 1)}}
		_, _, err = j.Append(t.Context(), []journal.Batch{docs})
		refused(t, err, substrat.CodeConflict)
	}
	_, _, err := j.Append(t.Context(), []journal.Batch{batch("new", 1, 1)})
	refused(t, err, substrat.CodeConflict)
	want = append(want, mustAppend(t, j, batch("a", 3, 1))...)
	equal(t, "events", allEvents(t, j, "", 0), want)
	equal(t, "docs", allDocs(t, j, journal.Query{}), []journal.Doc(nil))
}

func testAllOrNothing(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	want := mustAppend(t, j, batch("a", 0, 1))
	good := batch("b", 0, 2)
	good.Docs = []journal.Doc{doc("turn", "t1", "b", 1)}
	_, _, err := j.Append(t.Context(), []journal.Batch{good, batch("a", 1, 2), batch("c", 5, 1)})
	refused(t, err, substrat.CodeConflict)
	if good.Events[0].Seq != 0 {
		t.Errorf("an event of a refused append was numbered %d", good.Events[0].Seq)
	}
	equal(t, "events", allEvents(t, j, "", 0), want)
	_, err = j.Doc(t.Context(), "turn", "t1")
	refused(t, err, substrat.CodeNotFound)
	want = append(want, mustAppend(t, j, good, batch("a", 1, 2))...)
	equal(t, "events after", load(t, j).Events, want)
}

func testMalformed(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	spoil := func(f func(*journal.Batch)) journal.Batch {
		b := batch("a", 0, 2)
		b.Docs = []journal.Doc{doc("turn", "t1", "a", 1)}
		f(&b)
		return b
	}
	for name, b := range map[string]journal.Batch{
		"no team":         spoil(func(b *journal.Batch) { b.Team = "" }),
		"other team":      spoil(func(b *journal.Batch) { b.Events[1].Team = "b" }),
		"gap":             spoil(func(b *journal.Batch) { b.Events[1].TeamSeq = 3 }),
		"no type":         spoil(func(b *journal.Batch) { b.Events[1].Type = "" }),
		"NUL in actor":    spoil(func(b *journal.Batch) { b.Events[1].Actor = "a\x00b" }),
		"not UTF-8 key":   spoil(func(b *journal.Batch) { b.Events[1].Key = "\xff" }),
		"year 1":          spoil(func(b *journal.Batch) { b.Events[1].At = time.Time{}.Add(1) }),
		"doc without id":  spoil(func(b *journal.Batch) { b.Docs[0].ID = "" }),
		"doc of other":    spoil(func(b *journal.Batch) { b.Docs[0].Team = "b" }),
		"doc no kind":     spoil(func(b *journal.Batch) { b.Docs[0].Kind = "" }),
		"negative expect": {Team: "a", Expect: -1},
	} {
		_, _, err := j.Append(t.Context(), []journal.Batch{batch("ok", 0, 1), b})
		if substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "events", allEvents(t, j, "", 0), []substrat.Event(nil))
}

// countdown is a context that ends after its error has been asked for n times, so that a cancellation can be put between
// any two steps of an append.
type countdown struct {
	context.Context
	left int
	done chan struct{}
}

func (c *countdown) Done() <-chan struct{} { return c.done }

func (c *countdown) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
	}
	if c.left--; c.left < 0 {
		close(c.done)
		return context.Canceled
	}
	return nil
}

func testCancelled(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	var want []substrat.Event
	for n := range 12 {
		b := batch("a", int64(len(want)), 2)
		_, _, err := j.Append(&countdown{Context: t.Context(), left: n, done: make(chan struct{})}, []journal.Batch{b})
		switch {
		case err == nil:
			want = append(want, b.Events...)
		case !errors.Is(err, context.Canceled):
			t.Fatalf("cancelled at step %d: %v", n, err)
		case b.Events[0].Seq != 0:
			t.Fatalf("cancelled at step %d, but numbered %d", n, b.Events[0].Seq)
		}
		equal(t, fmt.Sprintf("events after a cancellation at step %d", n), allEvents(t, j, "", 0), want)
	}
	if len(want) == 0 {
		t.Fatal("no append got through")
	}
}

func testPayloads(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	var every []byte
	for i := range 256 {
		every = append(every, byte(i))
	}
	b := batch("team ★ \u202e\U000E0041", 0, 6)
	b.Events[0].Data = every
	b.Events[1].Data = json.RawMessage(`"\u0000` + "\x00" + `é日本🎉"`)
	b.Events[2].Data = bytes.Repeat([]byte(`{"x":"0123456789abcdef"}`), 5<<20/24)
	b.Events[3].Data, b.Events[3].Answer = nil, json.RawMessage{}
	b.Events[4].Type, b.Events[4].Actor = "тип", "линия\nдва"
	b.Events[5].At = time.Unix(0, 1<<63-1).UTC()
	b.Docs = []journal.Doc{{Kind: "message", ID: "ünï", Path: "a'b\"c", At: time.Unix(0, -1<<63).UTC(), Body: every}}
	want := mustAppend(t, j, b)
	j = s.reopen(t, j)
	defer closing(t, j)
	equal(t, "events", allEvents(t, j, b.Team, 0), want)
	got, err := j.Doc(t.Context(), "message", "ünï")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "doc", got, b.Docs[0])
}

func testEventPages(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	var want []substrat.Event
	for i := range 10 {
		want = append(want, mustAppend(t, j, batch("a", int64(i*3), 3), batch("b", int64(i), 1))...)
	}
	for _, page := range []int{1, 3, 7, 40, 1000} {
		equal(t, "all", allEvents(t, j, "", page), want)
		if got := allEvents(t, j, "b", page); len(got) != 10 {
			t.Fatalf("%d events of b by pages of %d", len(got), page)
		}
	}
	got, err := j.Events(t.Context(), want[4].Seq, "", 5)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "a page", got, want[5:10])
}
