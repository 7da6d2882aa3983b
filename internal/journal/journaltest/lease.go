package journaltest

import (
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
)

func mustLease(t *testing.T, j journal.Journal, holder string, ttl time.Duration) journal.Lease {
	t.Helper()
	l, err := j.Lease(t.Context(), holder, ttl)
	if err != nil {
		t.Fatalf("lease for %s: %v", holder, err)
	}
	return l
}

func testFencing(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	mustAppend(t, j, batch("a", 0, 1))
	old := mustLease(t, j, "one", time.Hour)
	stamped := func(team string, expect, epoch int64) journal.Batch {
		b := batch(team, expect, 1)
		b.Epoch = epoch
		return b
	}
	_, _, err := j.Append(t.Context(), []journal.Batch{batch("a", 1, 1)})
	refused(t, err, substrat.CodeConflict)
	mustAppend(t, j, stamped("a", 1, old.Epoch))
	mustLease(t, j, "one", 0)
	now := mustLease(t, j, "two", time.Hour)
	for _, epoch := range []int64{0, old.Epoch, now.Epoch + 1} {
		_, _, err = j.Append(t.Context(), []journal.Batch{stamped("b", 0, now.Epoch), stamped("a", 2, epoch)})
		refused(t, err, substrat.CodeConflict)
	}
	j = s.reopen(t, j)
	defer closing(t, j)
	_, _, err = j.Append(t.Context(), []journal.Batch{stamped("a", 2, old.Epoch)})
	refused(t, err, substrat.CodeConflict)
	mustAppend(t, j, stamped("a", 2, now.Epoch))
	if n := len(allEvents(t, j, "", 0)); n != 3 {
		t.Fatalf("%d events", n)
	}
}

func testLease(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	one := mustLease(t, j, "one", time.Hour)
	if one.Epoch != 1 || time.Until(one.Until) < 55*time.Minute {
		t.Fatalf("the first lease is %+v", one)
	}
	if again := mustLease(t, j, "one", 2*time.Hour); again.Epoch != 1 || !again.Until.After(one.Until) {
		t.Fatalf("renewed to %+v", again)
	}
	_, err := j.Lease(t.Context(), "two", time.Hour)
	refused(t, err, substrat.CodeConflict)
	_, err = j.Lease(t.Context(), "two", 0)
	refused(t, err, substrat.CodeConflict)
	j = s.reopen(t, j)
	defer closing(t, j)
	_, err = j.Lease(t.Context(), "two", time.Hour)
	refused(t, err, substrat.CodeConflict)
	mustLease(t, j, "one", 0)
	if two := mustLease(t, j, "two", time.Hour); two.Epoch != 2 {
		t.Fatalf("taken over as %+v", two)
	}
	mustLease(t, j, "two", 0)
	if two := mustLease(t, j, "two", time.Hour); two.Epoch != 3 {
		t.Fatalf("given up and taken by the same holder: %+v", two)
	}
	_, err = j.Lease(t.Context(), "", time.Hour)
	refused(t, err, substrat.CodeInvalid)
	_, err = j.Lease(t.Context(), "two", -1)
	refused(t, err, substrat.CodeInvalid)
}

func testLeaseRunsOut(t *testing.T, s suite) {
	j := s.open(t)
	defer closing(t, j)
	one := mustLease(t, j, "one", time.Millisecond)
	if late := mustLease(t, j, "one", time.Millisecond); late.Epoch != one.Epoch {
		t.Fatalf("nobody took over, but the epoch is %d", late.Epoch)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		two, err := j.Lease(t.Context(), "two", time.Hour)
		if err == nil {
			if two.Epoch != one.Epoch+1 {
				t.Fatalf("taken over as %+v", two)
			}
			break
		}
		refused(t, err, substrat.CodeConflict)
		if time.Now().After(deadline) {
			t.Fatal("a lease of a millisecond did not end")
		}
	}
	_, err := j.Lease(t.Context(), "one", time.Hour)
	refused(t, err, substrat.CodeConflict)
}
