package journaltest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

// Memory is a journal without a disk: the suite's model, and a fast stand-in for tests of what uses a journal. Nothing
// outlives it.
type Memory struct {
	mu        sync.Mutex
	closed    bool
	events    []substrat.Event
	heads     map[string]int64
	docs      map[[2]string]journal.Doc // by kind and id
	snapshots map[string]journal.Snapshot
	lease     journal.Lease
	holder    string
}

var _ journal.Journal = (*Memory)(nil)

// NewMemory gives an empty journal.
func NewMemory() *Memory {
	return &Memory{
		heads: map[string]int64{}, docs: map[[2]string]journal.Doc{}, snapshots: map[string]journal.Snapshot{},
	}
}

// Reopen makes a closed Memory usable again, as a restart would.
func (m *Memory) Reopen() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = false
}

// enter locks; the caller unlocks if there is no error.
func (m *Memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return substrat.Errorf(substrat.CodeUnavailable, "cannot use the journal: it is closed")
	}
	return nil
}

// Append implements journal.Journal.
func (m *Memory) Append(ctx context.Context, batches []journal.Batch) (first, last int64, err error) {
	if err := journal.CheckBatches(batches); err != nil {
		return 0, 0, err
	}
	if err := m.enter(ctx); err != nil {
		return 0, 0, err
	}
	defer m.mu.Unlock()
	if err := m.allow(batches); err != nil {
		return 0, 0, err
	}
	for _, b := range batches {
		for i := range b.Events {
			last = int64(len(m.events)) + 1
			if first == 0 {
				first = last
			}
			b.Events[i].Seq = last
			m.events = append(m.events, keepEvent(b.Events[i]))
			m.heads[b.Team]++
		}
		for _, d := range b.Docs {
			d.At, d.Body = journal.Time(journal.Nanos(d.At)), bytes.Clone(d.Body)
			m.docs[[2]string{d.Kind, d.ID}] = d
		}
	}
	return first, last, nil
}

func keepEvent(e substrat.Event) substrat.Event {
	e.At, e.Data, e.Answer = journal.Time(journal.Nanos(e.At)), bytes.Clone(e.Data), bytes.Clone(e.Answer)
	return e
}

func (m *Memory) allow(batches []journal.Batch) error {
	moved := map[string]int64{}
	for _, b := range batches {
		if b.Epoch != m.lease.Epoch {
			return substrat.Errorf(substrat.CodeConflict, "cannot append: epoch %d, not %d", b.Epoch, m.lease.Epoch)
		}
		if head := m.heads[b.Team] + moved[b.Team]; b.Expect != head {
			return substrat.Errorf(substrat.CodeConflict, "cannot append: team %s is at %d, not %d", b.Team, head, b.Expect)
		}
		moved[b.Team] += int64(len(b.Events))
	}
	return nil
}

// Load implements journal.Journal.
func (m *Memory) Load(ctx context.Context, snapshot func(journal.Snapshot) error, event func(substrat.Event) error) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	events := m.events[:len(m.events):len(m.events)]
	snapshots := make(map[string]journal.Snapshot, len(m.snapshots))
	for team, s := range m.snapshots {
		snapshots[team] = s
	}
	m.mu.Unlock()
	for _, s := range snapshots {
		if err := snapshot(s); err != nil {
			return err
		}
	}
	for _, e := range events {
		if e.TeamSeq <= snapshots[e.Team].TeamSeq {
			continue
		}
		if err := event(e); err != nil {
			return err
		}
	}
	return nil
}

// SaveSnapshots implements journal.Journal.
func (m *Memory) SaveSnapshots(ctx context.Context, snapshots []journal.Snapshot) error {
	if err := journal.CheckSnapshots(snapshots); err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	for _, s := range snapshots {
		if s.TeamSeq > m.heads[s.Team] {
			return substrat.Errorf(substrat.CodeConflict, "cannot save a snapshot of team %s: it is ahead", s.Team)
		}
	}
	for _, s := range snapshots {
		if s.TeamSeq >= m.snapshots[s.Team].TeamSeq {
			s.Data = bytes.Clone(s.Data)
			m.snapshots[s.Team] = s
		}
	}
	return nil
}

// Events implements journal.Journal.
func (m *Memory) Events(ctx context.Context, after int64, team string, limit int) (events []substrat.Event, err error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	limit = journal.Clamp(limit, journal.DefaultEvents, journal.MaxEvents)
	for _, e := range m.events[min(max(after, 0), int64(len(m.events))):] {
		if len(events) == limit {
			break
		}
		if team == "" || e.Team == team {
			events = append(events, e)
		}
	}
	return events, nil
}

// LastSeq implements journal.Journal.
func (m *Memory) LastSeq(ctx context.Context) (int64, error) {
	if err := m.enter(ctx); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	return int64(len(m.events)), nil
}

// Doc implements journal.Journal.
func (m *Memory) Doc(ctx context.Context, kind, id string) (journal.Doc, error) {
	if err := m.enter(ctx); err != nil {
		return journal.Doc{}, err
	}
	defer m.mu.Unlock()
	d, ok := m.docs[[2]string{kind, id}]
	if !ok {
		return d, substrat.Errorf(substrat.CodeNotFound, "cannot find %s %q", kind, id)
	}
	return d, nil
}

// Docs implements journal.Journal.
func (m *Memory) Docs(ctx context.Context, q journal.Query) (docs []journal.Doc, next string, err error) {
	if err := m.enter(ctx); err != nil {
		return nil, "", err
	}
	defer m.mu.Unlock()
	sign := 1
	if q.Newest {
		sign = -1
	}
	var after place
	if q.After != "" {
		p, err := journal.ParseCursor(q.After)
		if err != nil {
			return nil, "", err
		}
		after = place(p)
	}
	for _, d := range m.docs {
		if selects(q, d) && (q.After == "" || sign*position(d).compare(after) > 0) {
			docs = append(docs, d)
		}
	}
	slices.SortFunc(docs, func(x, y journal.Doc) int { return sign * position(x).compare(position(y)) })
	if limit := journal.Clamp(q.Limit, journal.DefaultDocs, journal.MaxDocs); len(docs) > limit {
		docs = docs[:limit]
		next = journal.Position(position(docs[limit-1])).Cursor()
	}
	return docs, next, nil
}

// Lease implements journal.Journal.
func (m *Memory) Lease(ctx context.Context, holder string, ttl time.Duration) (journal.Lease, error) {
	if err := journal.CheckLease(holder, ttl); err != nil {
		return journal.Lease{}, err
	}
	if err := m.enter(ctx); err != nil {
		return journal.Lease{}, err
	}
	defer m.mu.Unlock()
	if m.holder != holder && (ttl == 0 || time.Now().Before(m.lease.Until)) {
		return journal.Lease{}, substrat.Errorf(substrat.CodeConflict, "cannot lease the journal: %q holds it", m.holder)
	}
	if m.holder != holder {
		m.lease.Epoch++
	}
	m.holder, m.lease.Until = holder, time.Now().Add(ttl)
	if ttl == 0 {
		m.holder = ""
	}
	return m.lease, nil
}

// Close implements journal.Journal.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// place orders docs.
type place journal.Position

func position(d journal.Doc) place {
	return place{At: journal.Nanos(d.At), Kind: d.Kind, ID: d.ID}
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.At, q.At), cmp.Compare(p.Kind, q.Kind), cmp.Compare(p.ID, q.ID))
}

func selects(q journal.Query, d journal.Doc) bool {
	for _, f := range [...][2]string{{q.Kind, d.Kind}, {q.ID, d.ID}, {q.Team, d.Team}, {q.Agent, d.Agent}, {q.Path, d.Path}} {
		if f[0] != "" && f[0] != f[1] {
			return false
		}
	}
	return true
}
