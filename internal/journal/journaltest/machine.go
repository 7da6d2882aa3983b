package journaltest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// machine drives a store and the model with the same calls. They must give the same answers.
type machine struct {
	t      *testing.T
	suite  suite
	real   journal.Journal
	model  *Memory
	leased int   // names the next holder
	last   int64 // the highest Seq of the store
}

func testMachine(t *testing.T, s suite) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{t: t, suite: s, real: s.open(t), model: NewMemory()}
		defer func() { closing(t, m.real) }()
		rt.Repeat(map[string]func(*rapid.T){
			"append":   m.append,
			"snapshot": m.snapshot,
			"take":     m.take,
			"reopen":   m.reopen,
			"read":     m.read,
			"list":     m.list,
			"":         m.check,
		})
	})
}

// same fails unless both answered alike.
func (m *machine) same(rt *rapid.T, what string, realErr, modelErr error) {
	if (realErr == nil) != (modelErr == nil) || realErr != nil && substrat.CodeOf(realErr) != substrat.CodeOf(modelErr) {
		rt.Fatalf("%s: the store says %v, the model %v", what, realErr, modelErr)
	}
}

func (m *machine) equal(rt *rapid.T, what string, got, want any) {
	if diff := difference(renumber(want), renumber(got)); diff != "" {
		rt.Fatalf("%s (-model +store):\n%s", what, diff)
	}
}

// renumber takes the Seq out of events: a store may leave gaps in it, the model does not. Their order is the slice's.
func renumber(v any) any {
	clear := func(events []substrat.Event) []substrat.Event {
		events = slices.Clone(events)
		for i := range events {
			events[i].Seq = 0
		}
		return events
	}
	switch v := v.(type) {
	case []substrat.Event:
		return clear(v)
	case loaded:
		v.Events = clear(v.Events)
		return v
	}
	return v
}

var teams = rapid.SampledFrom([]string{"a", "b", "c", "d"})

// batches draws mostly right appends: now and then an expected sequence or an epoch is off by one.
func (m *machine) batches(rt *rapid.T) (batches []journal.Batch) {
	moved := map[string]int64{}
	slip := func(name string) int64 {
		if rapid.IntRange(0, 19).Draw(rt, name) == 0 {
			return 1
		}
		return 0
	}
	for range rapid.IntRange(1, 4).Draw(rt, "batches") {
		team := teams.Draw(rt, "team")
		n := rapid.SampledFrom([]int{0, 1, 1, 2, 3, 5, 17, 70}).Draw(rt, "events")
		b := batch(team, m.model.heads[team]+moved[team]+slip("expect is off"), n)
		b.Epoch = m.model.lease.Epoch + slip("epoch is off")
		for i := range b.Events {
			b.Events[i].Data = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "data")
		}
		for range rapid.IntRange(0, 2).Draw(rt, "docs") {
			kind := rapid.SampledFrom([]string{"turn", "message"}).Draw(rt, "kind")
			id := fmt.Sprint("id", rapid.IntRange(0, 9).Draw(rt, "id"))
			b.Docs = append(b.Docs, doc(kind, id, team, rapid.Int64Range(-3, 3).Draw(rt, "at")))
		}
		moved[team] += int64(n)
		batches = append(batches, b)
	}
	return batches
}

func (m *machine) append(rt *rapid.T) {
	mine := m.batches(rt)
	theirs := make([]journal.Batch, len(mine))
	for i, b := range mine {
		b.Events = slices.Clone(b.Events)
		theirs[i] = b
	}
	_, _, modelErr := m.model.Append(m.t.Context(), theirs)
	first, last, err := m.real.Append(m.t.Context(), mine)
	m.same(rt, "append", err, modelErr)
	if err == nil && (first > last || last > 0 && first <= m.last) {
		rt.Fatalf("appended %d to %d after %d", first, last, m.last)
	}
	m.last = max(m.last, last)
}

func (m *machine) snapshot(rt *rapid.T) {
	var snapshots []journal.Snapshot
	for range rapid.IntRange(1, 3).Draw(rt, "snapshots") {
		team := teams.Draw(rt, "team")
		at := rapid.Int64Range(1, max(1, m.model.heads[team])).Draw(rt, "at")
		snapshots = append(snapshots, snap(team, at, rapid.StringN(0, 5, -1).Draw(rt, "state")))
	}
	m.same(rt, "snapshot", m.real.SaveSnapshots(m.t.Context(), snapshots), m.model.SaveSnapshots(m.t.Context(), snapshots))
}

func (m *machine) take(rt *rapid.T) {
	m.leased += rapid.IntRange(0, 1).Draw(rt, "another holder")
	holder := fmt.Sprint("holder ", m.leased)
	ttl := rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(rt, "ttl")
	want, modelErr := m.model.Lease(m.t.Context(), holder, ttl)
	got, err := m.real.Lease(m.t.Context(), holder, ttl)
	m.same(rt, "lease", err, modelErr)
	if got.Epoch != want.Epoch {
		rt.Fatalf("the store's epoch is %d, the model's %d", got.Epoch, want.Epoch)
	}
}

func (m *machine) reopen(*rapid.T) { m.real = m.suite.reopen(m.t, m.real) }

func (m *machine) read(rt *rapid.T) {
	team := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(rt, "team")
	page := rapid.IntRange(1, 50).Draw(rt, "page")
	m.equal(rt, "events", allEvents(m.t, m.real, team, page), allEvents(m.t, m.model, team, 1000))
}

func (m *machine) list(rt *rapid.T) {
	q := journal.Query{
		Kind: rapid.SampledFrom([]string{"", "turn", "message"}).Draw(rt, "kind"),
		Team: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "team"), Newest: rapid.Bool().Draw(rt, "newest"),
		Limit: rapid.IntRange(1, 5).Draw(rt, "limit"),
	}
	m.equal(rt, fmt.Sprintf("docs %+v", q), allDocs(m.t, m.real, q), allDocs(m.t, m.model, q))
}

// check compares what a restart would see.
func (m *machine) check(rt *rapid.T) {
	m.equal(rt, "load", load(m.t, m.real), load(m.t, m.model))
}
