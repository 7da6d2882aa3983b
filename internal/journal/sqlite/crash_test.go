package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
)

// kill -9 while four goroutines append, again and again on the same journal.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "journal.db")
	acked := map[string]int64{}
	rounds := 15
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		cmd, told := child(t, "crowd", path)
		for range 1 + rand.IntN(150) {
			if !told.Scan() {
				t.Fatal("the child ended by itself")
			}
			acknowledge(t, acked, told.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for told.Scan() { // what it told before it died counts, too
			acknowledge(t, acked, told.Text())
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child was not killed")
		}
		survived(t, path, acked)
	}
	t.Logf("acknowledged and found again: %v", acked)
}

// limited lets the disk refuse a write as a broken one does (EFBIG, which SQLite reports as an I/O error), and checks that
// the journal then stays refused although the disk works again.
func limited(j *sqlite.Journal) error {
	signal.Ignore(syscall.SIGXFSZ)
	info, err := os.Stat(sqlite.Path(j) + "-wal")
	if err != nil {
		return err
	}
	var old, low unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	low = unix.Rlimit{Cur: uint64(info.Size()) + 100_000, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &low); err != nil {
		return err
	}
	var head int64
	for err == nil {
		if err = appendTwin(j, "team0", head); err == nil {
			head++
		}
	}
	if !errors.Is(err, journal.ErrFatal) || substrat.CodeOf(err) != substrat.CodeStorage {
		return fmt.Errorf("a failed write gave %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := appendTwin(j, "team0", head); !errors.Is(err, journal.ErrFatal) {
		return fmt.Errorf("after a failed write, an append gave %v", err)
	}
	if _, err := j.LastSeq(context.Background()); err != nil {
		return fmt.Errorf("after a failed write, a read gave %w", err)
	}
	return nil
}

func TestFailedWriteIsFatal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	cmd, told := child(t, "limited", path)
	acked := map[string]int64{}
	for told.Scan() {
		acknowledge(t, acked, told.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if acked["team0"] == 0 {
		t.Fatal("nothing was acknowledged before the write that failed")
	}
	survived(t, path, acked)
}

// A disk that fills up refuses appends, keeps what it acknowledged, and takes new ones when there is room, all without a
// restart.
func TestFullDisk(t *testing.T) {
	dir := tmpfs(t, "600k")
	path := filepath.Join(dir, "journal.db")
	j := open(t, path, sqlite.Options{CheckpointIdle: 5 * time.Millisecond, CheckpointBytes: 100_000})
	acked := map[string]int64{}
	for round := range 5 {
		filler := filepath.Join(dir, "filler")
		if err := os.WriteFile(filler, make([]byte, 100_000), 0o600); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for i := 0; refused < 3; i++ {
			if i > 5000 {
				t.Fatal("the disk never filled up")
			}
			_, _, err := j.Append(t.Context(), twin("team0", acked["team0"]))
			if err == nil {
				acked["team0"]++
				continue
			}
			refused++
			if substrat.CodeOf(err) != substrat.CodeStorage || errors.Is(err, journal.ErrFatal) {
				t.Fatalf("round %d: a full disk gave %v", round, err)
			}
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if _, _, err := j.Append(t.Context(), twin("team0", acked["team0"])); err != nil {
			t.Fatalf("round %d: with room again: %v", round, err)
		}
		acked["team0"]++
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT, fmt.Sprintf("size=%dk", 600+300*(round+1))); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if untold := survived(t, path, acked); untold != 0 {
		t.Errorf("%d appends are there that were refused", untold)
	}
	t.Logf("%d appends acknowledged on a disk that filled up five times", acked["team0"])
}

// What a power cut leaves of the WAL: all that was synced, and any part or distortion of what came after.
func TestTornTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path, sqlite.Options{CheckpointIdle: time.Hour, CheckpointBytes: 1 << 40})
	var synced []int64 // the size of the WAL after each append
	for head := range int64(5) {
		if _, _, err := j.Append(t.Context(), twin("team0", head)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		synced = append(synced, info.Size())
	}
	db, wal := read(t, path), read(t, path+"-wal")
	rng := rand.New(rand.NewPCG(1, 2))
	cut := filepath.Join(t.TempDir(), "cut.db")
	for size := int64(len(wal)); size >= 0; size -= 1 + rng.Int64N(1500) {
		whole := int64(0)
		for whole < int64(len(synced)) && synced[whole] <= size {
			whole++
		}
		gone := len(wal) - int(size)
		tails := map[string][]byte{"cut": nil}
		if rng.IntN(4) == 0 {
			tails["zeroed"], tails["garbage"] = make([]byte, gone), bytes.Repeat([]byte{0xa5}, gone)
		}
		for name, tail := range tails {
			write(t, cut, db)
			write(t, cut+"-wal", append(bytes.Clone(wal[:size]), tail...))
			_ = os.Remove(cut + "-shm")
			untold := survived(t, cut, map[string]int64{"team0": whole})
			// A tail that differs from the original in nothing that matters may complete one more append.
			if untold > 1 {
				t.Fatalf("%s at byte %d: %d appends more than were whole", name, size, untold)
			}
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
