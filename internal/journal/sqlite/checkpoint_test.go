package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
)

// until waits for something another goroutine does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

func TestFoldsWhenQuiet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path, sqlite.Options{CheckpointIdle: 5 * time.Millisecond})
	if _, _, err := j.Append(t.Context(), twin("team0", 0)); err != nil {
		t.Fatal(err)
	}
	until(t, "the WAL is folded back", func() bool { return j.Unfolded() == 0 })
	copied := filepath.Join(t.TempDir(), "copy.db")
	write(t, copied, read(t, path)) // without the WAL
	if untold := survived(t, copied, map[string]int64{"team0": 1}); untold != 0 {
		t.Fatal(untold)
	}
}

func TestFoldsUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path, sqlite.Options{CheckpointIdle: time.Millisecond, CheckpointBytes: 200_000})
	for head := range int64(1500) {
		if _, _, err := j.Append(t.Context(), twin("team0", head)); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the WAL has %d bytes after 1500 appends", info.Size())
	if info.Size() > 8<<20 {
		t.Errorf("the WAL grew to %d bytes", info.Size())
	}
}

// Close waits for the append under way; what was acknowledged before it is there, and later appends are refused.
func TestCloseBesideAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path, sqlite.Options{})
	var wg sync.WaitGroup
	heads := make([]int64, 4)
	started := make(chan struct{}, len(heads))
	for i := range heads {
		wg.Go(func() {
			for {
				_, _, err := j.Append(t.Context(), twin(fmt.Sprint("team", i), heads[i]))
				if err != nil {
					if substrat.CodeOf(err) != substrat.CodeUnavailable {
						t.Errorf("append beside close: %v", err)
					}
					return
				}
				if heads[i]++; heads[i] == 5 {
					started <- struct{}{}
				}
			}
		})
	}
	for range heads {
		<-started
	}
	closed(t, j)
	wg.Wait()
	acked := map[string]int64{}
	for i, head := range heads {
		acked[fmt.Sprint("team", i)] = head
	}
	if untold := survived(t, path, acked); untold != 0 {
		t.Errorf("%d appends nobody was told of", untold)
	}
}

func TestLeaseByTheClock(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	j := open(t, filepath.Join(t.TempDir(), "journal.db"), sqlite.WithClock(sqlite.Options{}, func() time.Time { return now }))
	one, err := j.Lease(t.Context(), "one", time.Minute)
	if err != nil || !one.Until.Equal(now.Add(time.Minute)) {
		t.Fatal(one, err)
	}
	now = one.Until.Add(-1)
	if _, err := j.Lease(t.Context(), "two", time.Minute); substrat.CodeOf(err) != substrat.CodeConflict {
		t.Fatalf("a nanosecond early: %v", err)
	}
	now = one.Until
	b := batchOf("a", 0, 1)
	b.Epoch = one.Epoch
	if _, _, err := j.Append(t.Context(), []journal.Batch{b}); err != nil {
		t.Fatalf("the lease has run out, but nobody took over: %v", err)
	}
	two, err := j.Lease(t.Context(), "two", time.Minute)
	if err != nil || two.Epoch != one.Epoch+1 {
		t.Fatal(two, err)
	}
	b = batchOf("a", 1, 1)
	b.Epoch = one.Epoch
	if _, _, err := j.Append(t.Context(), []journal.Batch{b}); substrat.CodeOf(err) != substrat.CodeConflict || errors.Is(err, journal.ErrFatal) {
		t.Fatalf("the old epoch: %v", err)
	}
}
