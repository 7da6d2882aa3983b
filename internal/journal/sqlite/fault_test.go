package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sqlite3 "modernc.org/sqlite/lib"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
)

// faults fails the nth step of the write transactions, once.
type faults struct {
	left int
	err  error
	hit  string
}

func (f *faults) step(name string) error {
	if f.left--; f.left == 0 {
		f.hit = name
		return f.err
	}
	return nil
}

// work does one of every write, and gives the first error.
func work(t *testing.T, j *sqlite.Journal) error {
	b := batchOf("b", 0, 70)
	b.Docs = []journal.Doc{{Kind: "turn", ID: "t1", At: time.Unix(1, 0)}}
	if _, _, err := j.Append(t.Context(), []journal.Batch{batchOf("a", 1, 3), b}); err != nil {
		return err
	}
	if err := j.SaveSnapshots(t.Context(), []journal.Snapshot{{Team: "a", TeamSeq: 4}, {Team: "b", TeamSeq: 9}}); err != nil {
		return err
	}
	_, err := j.Lease(t.Context(), "one", time.Hour)
	return err
}

// eachFault runs work once for every step it has, with that step failing, until there is none left to fail.
func eachFault(t *testing.T, cause error, then func(t *testing.T, j *sqlite.Journal, path string, err error)) {
	t.Helper()
	steps := map[string]int{}
	for n := 1; ; n++ {
		f := &faults{err: cause}
		path := filepath.Join(t.TempDir(), "journal.db")
		j := open(t, path, sqlite.WithFault(sqlite.Options{}, f.step))
		if _, _, err := j.Append(t.Context(), []journal.Batch{batchOf("a", 0, 1)}); err != nil {
			t.Fatal(err)
		}
		f.left = n
		err := work(t, j)
		if f.hit == "" {
			if err != nil || n < 10 {
				t.Fatalf("work came to its end at step %d: %v", n, err)
			}
			break
		}
		steps[f.hit]++
		then(t, j, path, err)
	}
	for _, s := range []string{"begin", "insert", "commit"} {
		if steps[s] < 3 {
			t.Errorf("%s failed %d times in all of %v", s, steps[s], steps)
		}
	}
}

func TestFullDiskAtEveryStep(t *testing.T) {
	for _, code := range []sqlite.Coded{sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE} {
		eachFault(t, code, func(t *testing.T, j *sqlite.Journal, _ string, err error) {
			if substrat.CodeOf(err) != substrat.CodeStorage || !strings.Contains(err.Error(), "make room") || errors.Is(err, journal.ErrFatal) {
				t.Fatalf("no room: %v", err)
			}
			seq, err := j.LastSeq(t.Context())
			if err != nil || seq != 1 && seq != 74 {
				t.Fatalf("half an append: seq %d, %v", seq, err)
			}
			if err := again(t, j); err != nil {
				t.Fatalf("with room again: %v", err)
			}
			if err := j.Verify(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// again does what is left of work.
func again(t *testing.T, j *sqlite.Journal) error {
	if seq, err := j.LastSeq(t.Context()); err != nil || seq == 1 {
		return errors.Join(err, work(t, j))
	}
	err := j.SaveSnapshots(t.Context(), []journal.Snapshot{{Team: "a", TeamSeq: 4}})
	_, lerr := j.Lease(t.Context(), "one", time.Hour)
	return errors.Join(err, lerr)
}

func TestBrokenDiskAtEveryStep(t *testing.T) {
	eachFault(t, sqlite.Coded(sqlite3.SQLITE_IOERR_FSYNC), func(t *testing.T, j *sqlite.Journal, path string, err error) {
		for range 2 {
			if !errors.Is(err, journal.ErrFatal) || substrat.CodeOf(err) != substrat.CodeStorage {
				t.Fatalf("a failed fsync: %v", err)
			}
			_, _, err = j.Append(t.Context(), []journal.Batch{batchOf("z", 0, 1)})
		}
		if err := j.SaveSnapshots(t.Context(), []journal.Snapshot{{Team: "a", TeamSeq: 1}}); !errors.Is(err, journal.ErrFatal) {
			t.Fatalf("snapshots after it: %v", err)
		}
		if _, err := j.Lease(t.Context(), "two", time.Hour); !errors.Is(err, journal.ErrFatal) {
			t.Fatalf("lease after it: %v", err)
		}
		if _, err := j.Events(t.Context(), 0, "", 0); err != nil {
			t.Fatalf("reading after it: %v", err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		next := open(t, path, sqlite.Options{})
		if err := again(t, next); err != nil {
			t.Fatalf("after a restart: %v", err)
		}
	})
}

func TestErrorsAreClassed(t *testing.T) {
	for code, want := range map[sqlite.Coded]substrat.Code{
		sqlite3.SQLITE_BUSY: substrat.CodeUnavailable, sqlite3.SQLITE_TOOBIG: substrat.CodeTooLarge,
		sqlite3.SQLITE_READONLY: substrat.CodeStorage, sqlite3.SQLITE_CORRUPT: substrat.CodeStorage, 0: substrat.CodeInternal,
	} {
		f := &faults{err: code, left: 3}
		j := open(t, filepath.Join(t.TempDir(), "journal.db"), sqlite.WithFault(sqlite.Options{}, f.step))
		_, _, err := j.Append(t.Context(), []journal.Batch{batchOf("a", 0, 1)})
		if substrat.CodeOf(err) != want || errors.Is(err, journal.ErrFatal) != (code == sqlite3.SQLITE_CORRUPT) {
			t.Errorf("code %d: %v", code, err)
		}
	}
}

func TestBusyWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path, sqlite.Options{Busy: 20 * time.Millisecond})
	other, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_txlock=immediate", path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	b := batchOf("a", 0, 1)
	if _, _, err := j.Append(t.Context(), []journal.Batch{b}); substrat.CodeOf(err) != substrat.CodeUnavailable {
		t.Fatalf("while another program writes: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := j.Append(t.Context(), []journal.Batch{b}); err != nil {
		t.Fatal(err)
	}
	_, events := loaded(t, j)
	if diff := cmp.Diff(b.Events, events); diff != "" {
		t.Error(diff)
	}
}
