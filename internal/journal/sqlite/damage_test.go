package sqlite_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
)

// small makes a closed journal with two teams of 30 events, one snapshot and a few docs.
func small(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path, sqlite.Options{})
	for i := range int64(10) {
		if _, _, err := j.Append(t.Context(), []journal.Batch{batchOf("a", 3*i, 3), batchOf("b", 3*i, 3)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.SaveSnapshots(t.Context(), []journal.Snapshot{{Team: "a", TeamSeq: 25, Data: bytes.Repeat([]byte("s"), 300)}}); err != nil {
		t.Fatal(err)
	}
	closed(t, j)
	return path
}

func loadError(ctx context.Context, j *sqlite.Journal) error {
	return j.Load(ctx, func(journal.Snapshot) error { return nil }, func(substrat.Event) error { return nil })
}

func TestChangedRecordsAreNamed(t *testing.T) {
	for _, c := range []struct{ change, names string }{
		{"UPDATE events SET data = CAST(replace(data, 'x', 'y') AS BLOB) WHERE seq = 60", "event 60 "},
		{"UPDATE events SET type = 'other' WHERE seq = 60", "event 60 "},
		{"UPDATE events SET at = at + 1 WHERE seq = 60", "event 60 "},
		{"UPDATE events SET actor = 'USER' WHERE seq = 60", "event 60 "},
		{"UPDATE events SET key = 'k' WHERE seq = 60", "event 60 "},
		{"UPDATE events SET answer = x'00' WHERE seq = 60", "event 60 "},
		{"UPDATE events SET sum = sum + 1 WHERE seq = 60", "event 60 "},
		{"UPDATE events SET team = (SELECT id FROM teams WHERE name = 'a') WHERE seq = 60", "30"},
		{"UPDATE events SET seq = 61 WHERE seq = 60", "30"},
		{"DELETE FROM events WHERE seq = 59", "event 29 "},
		{"DELETE FROM events WHERE seq = 60", "event 30 "},
		{"UPDATE teams SET name = 'c' WHERE name = 'b'", `team "c"`},
		{"UPDATE teams SET head = 31 WHERE name = 'b'", "event 31 "},
		{"UPDATE teams SET first = 60 WHERE name = 'b'", "team b"},
		{"UPDATE teams SET first = 0 WHERE name = 'a'; DELETE FROM events WHERE seq = 56", "team a"},
		{"UPDATE snapshots SET data = x'00'", "snapshot of team a"},
		{"UPDATE snapshots SET team_seq = 26", "snapshot of team a"},
	} {
		path := small(t)
		alter(t, path, c.change)
		j := open(t, path, sqlite.Options{})
		for what, err := range map[string]error{"load": loadError(t.Context(), j), "verify": j.Verify(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s: %s says %v, want %q", c.change, what, err, c.names)
			}
			if err != nil && substrat.CodeOf(err) != substrat.CodeStorage {
				t.Errorf("%s: %s has code %s", c.change, what, substrat.CodeOf(err))
			}
		}
	}
}

// contents is everything a journal answers, or the first error.
func contents(ctx context.Context, path string) (all []any, err error) {
	j, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = j.Close() }()
	err = j.Load(ctx, func(s journal.Snapshot) error { all = append(all, s); return nil },
		func(e substrat.Event) error { all = append(all, e); return nil })
	if err != nil {
		return nil, err
	}
	for _, team := range []string{"", "a", "b"} {
		events, err := j.Events(ctx, 0, team, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, len(events), events)
	}
	return all, j.Verify(ctx)
}

// Whatever bit of the file is flipped, the journal either refuses or gives what was written.
func TestFlippedBits(t *testing.T) {
	original := small(t)
	want, err := contents(t.Context(), original)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "journal.db")
	const flips = 400
	refused := 0
	for range flips {
		bit := rng.IntN(len(data) * 8)
		flipped := bytes.Clone(data)
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := contents(t.Context(), path)
		if err != nil {
			refused++
			switch code := substrat.CodeOf(err); code {
			case substrat.CodeStorage, substrat.CodeInvalid, substrat.CodeVersion:
			default:
				t.Errorf("seed %d, bit %d: code %s: %v", seed, bit, code, err)
			}
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: bit %d is flipped, and other content is given without a word", seed, bit)
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + suffix)
		}
	}
	t.Logf("%d of %d flipped bits were refused, the others are in room that holds nothing", refused, flips)
	if refused < flips/5 {
		t.Errorf("only %d of %d flipped bits were noticed", refused, flips)
	}
}
