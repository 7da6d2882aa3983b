// Package journaltest holds the promises of journal.Journal as tests: the conformance suite that every store must pass,
// and Memory, a store without a disk that passes it too and serves as the suite's model of what is right.
//
// It tests what callers can see. What belongs to one store (crashes, full disks, torn files, old versions, speed) is
// tested beside that store.
//
// # A new store
//
// Implement journal.Journal in a package of its own beside journal/sqlite. Start every method that writes with
// journal.CheckBatches, CheckSnapshots or CheckLease, so that all stores refuse the same things, keep journal.Checksum
// beside each event, and use journal.Position for cursors. Then write one test:
//
//	func TestConformance(t *testing.T) {
//		journaltest.Run(t, open, reopen)
//	}
//
// where open gives a new, empty journal (its files or schema removed by t.Cleanup; the suite closes the journal), and
// reopen closes a journal and opens what it left, as a restarted daemon would.
//
// Points that are easy to get wrong: Seq is the order of commits, so a number may not be handed out before the order is
// settled (a PostgreSQL sequence is not; number under a lock). The expected sequence and the epoch are compared in the
// transaction that writes. Leases go by the store's clock where several machines share it. Times are nanoseconds, which
// a timestamptz does not hold, and payloads are bytes, which a jsonb does not keep.
package journaltest

import (
	"testing"

	"substrat.dev/substrat/internal/journal"
)

// Open gives a new, empty journal.
type Open func(t *testing.T) journal.Journal

// Reopen closes a journal and opens what it left.
type Reopen func(t *testing.T, j journal.Journal) journal.Journal

// suite is what a case needs: a journal, and a way to restart it.
type suite struct {
	open   Open
	reopen Reopen
}

// Run tests that a store keeps the promises of journal.Journal.
func Run(t *testing.T, open Open, reopen Reopen) {
	s := suite{open, reopen}
	for _, c := range []struct {
		name string
		run  func(*testing.T, suite)
	}{
		{"an empty journal", testEmpty},
		{"events come back in order, as they were", testOrder},
		{"a writer that is behind is refused", testExpect},
		{"batches are all or nothing", testAllOrNothing},
		{"malformed batches are refused", testMalformed},
		{"a cancelled append leaves nothing", testCancelled},
		{"payloads are opaque and may be large", testPayloads},
		{"pages of events", testEventPages},
		{"an older epoch is refused", testFencing},
		{"a lease is taken over", testLease},
		{"a lease runs out", testLeaseRunsOut},
		{"docs are upserted with the batch", testDocUpsert},
		{"docs are listed by every field", testDocFilters},
		{"pages of docs", testDocPages},
		{"snapshots cover what they cover", testSnapshots},
		{"snapshots that make no sense", testSnapshotRules},
		{"a load sees one state and passes errors on", testLoadErrors},
		{"reopening keeps everything", testReopen},
		{"a closed journal says so", testClosed},
		{"readers beside a writer see whole appends", testConcurrentReaders},
		{"writers race for a team and one wins", testConcurrentWriters},
		{"any sequence of calls", testMachine},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}
