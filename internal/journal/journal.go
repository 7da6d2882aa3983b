// Package journal owns the durable, ordered log of everything that happened to the teams: the interface that a store
// implements, the rules about what may be written to it, and the forms (checksum, cursor) that all stores share.
//
// It never interprets an event, never folds one and never starts anything. What the events mean is internal/team's
// business; when a team is snapshotted is the engine's. The store for one machine is journal/sqlite; the promises every
// store makes are written as tests in journal/journaltest.
//
// The promises, in short. What Append acknowledged is durable and is never changed. Seq is the order of commits: a
// reader that has seen Seq n never later finds a new event at or below n. TeamSeq numbers a team's events from 1
// without gaps. A writer that has lost its lease, or that folded an older state than the journal holds, is refused.
// Damage is reported and named, never skipped.
package journal

import (
	"context"
	"encoding/json"
	"time"

	"substrat.dev/substrat"
)

// Batch is one decision about one team: its events and the final records that go with them. An Append makes all its
// batches durable in one transaction.
type Batch struct {
	// Team is the root agent's id.
	Team string
	// Epoch is the epoch of the writer's lease, 0 for a journal nobody ever leased.
	Epoch int64
	// Expect is the last TeamSeq the writer has folded, 0 for a new team. A batch for a team that stands elsewhere is
	// refused with CodeConflict. Several batches of one Append may be for the same team; each expects what the one
	// before it leaves.
	Expect int64
	// Events are numbered by the writer: TeamSeq runs from Expect+1. Seq is assigned by the journal and written back
	// here when the Append has succeeded; a failed Append leaves the events as they were.
	Events []substrat.Event
	Docs   []Doc
}

// Doc is a record that left the hot state in its final form, kept for people to list and read. Docs are a view: they can
// be made again from the log. A later Doc of the same Kind and ID replaces the earlier one.
type Doc struct {
	// Kind is "message", "turn", "agent" or "item".
	Kind string
	ID   string
	// Team is the root agent's id, the batch's if empty. Agent is an agent's id, Path its path at the time.
	Team, Agent, Path string
	// At orders listings.
	At    time.Time
	State string
	Body  json.RawMessage
}

// Snapshot is the folded state of a team after its event TeamSeq, in a form only the writer knows.
type Snapshot struct {
	Team    string
	TeamSeq int64
	Data    []byte
}

// Query selects docs. Empty fields select everything; the others must be equal. Order is by At, then Kind, then ID.
type Query struct {
	Kind, ID, Team, Agent, Path string
	// After is the cursor an earlier answer to the same query gave, empty for the beginning.
	After string
	// Limit is the most docs to give: DefaultDocs if 0, never more than MaxDocs.
	Limit int
	// Newest turns the order round.
	Newest bool
}

// Lease is the right to append until a moment in time. The epoch grows by one on each take-over, so that a writer that
// slept past its lease finds its appends refused.
type Lease struct {
	Epoch int64
	Until time.Time
}

// Limits of one answer. An answer also ends when it holds MaxAnswerBytes, but never empty for that reason: readers go on
// until they get nothing (Events) or no cursor (Docs), and never conclude the end from a short answer.
const (
	DefaultEvents  = 1000
	MaxEvents      = 100_000
	DefaultDocs    = 100
	MaxDocs        = 1000
	MaxAnswerBytes = 64 << 20
)

// Journal is a store of events. All methods may be called at the same time from many goroutines.
//
// Team ids, types, actors, keys, kinds, ids, paths and states are UTF-8 without NUL; the rest (Data, Answer, Body,
// snapshots) are opaque bytes, of which nil and empty are the same. Times are kept to the nanosecond, between the years
// 1678 and 2262, and are given back in UTC.
//
// Errors are *substrat.Error: CodeInvalid for a malformed argument, CodeConflict for a writer that is behind or has lost
// its lease, CodeStorage for what the disk did, CodeUnavailable for a journal that is closed or busy. One that is
// ErrFatal (errors.Is) means the journal can make no further promise until it is opened anew; see there.
type Journal interface {
	// Append makes all batches durable in one transaction, all or nothing, and gives the Seq of the first and the last
	// event (0, 0 if there was none). A context that ends before the commit begins leaves nothing written; after that,
	// the outcome is reported as it is.
	Append(ctx context.Context, batches []Batch) (first, last int64, err error)

	// Load is the recovery scan: it gives all snapshots, then, in order of Seq, every event that its team's snapshot
	// does not cover. It sees one state of the journal, and its cost follows the snapshots and what they do not cover,
	// not the history. An error of a callback ends it and is returned as it is. The callbacks must not keep the
	// journal waiting for long, but may read from it and append to it.
	Load(ctx context.Context, snapshot func(Snapshot) error, event func(substrat.Event) error) error

	// SaveSnapshots keeps the snapshots of some teams, all or nothing; what they cover is skipped by later Loads.
	// A snapshot older than the one kept is ignored. One that is ahead of its team's events is refused with
	// CodeConflict. No epoch is asked for: the fold of a covered event is the same whoever folded it.
	SaveSnapshots(ctx context.Context, snapshots []Snapshot) error

	// Events gives events with Seq > after in order of Seq, of one team or, if team is empty, of all. Limit is the most
	// to give: DefaultEvents if 0, never more than MaxEvents.
	Events(ctx context.Context, after int64, team string, limit int) ([]substrat.Event, error)

	// LastSeq gives the Seq of the newest event, 0 for an empty journal.
	LastSeq(ctx context.Context) (int64, error)

	// Docs gives the docs a query selects and the cursor of the next page, empty after the last.
	Docs(ctx context.Context, query Query) (docs []Doc, next string, err error)

	// Doc gives one doc, or CodeNotFound.
	Doc(ctx context.Context, kind, id string) (Doc, error)

	// Lease takes or renews the right to append for ttl from now. Holder names one run of one daemon. The holder keeps
	// its epoch, also after its lease has run out, until someone else takes over; while another's lease runs, the
	// answer is CodeConflict. A ttl of 0 gives the lease up: the next holder need not wait, and gets a new epoch.
	Lease(ctx context.Context, holder string, ttl time.Duration) (Lease, error)

	// Close lets go of everything. Calls after it give CodeUnavailable; a second Close does nothing.
	Close() error
}
