package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func fill(t *testing.T, path string) *Index {
	t.Helper()
	x, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	entries := []Entry{
		{Kind: "message", ID: "m1", From: "USER", To: "lead", At: now.Add(-3 * time.Hour), Text: "Mend the parser, please."},
		{Kind: "message", ID: "m2", From: "lead", To: "lead/coder", At: now.Add(-2 * time.Hour), Text: "The parser is broken: see parser.go"},
		{Kind: "turn", ID: "t1", Agent: "lead/coder", At: now.Add(-time.Hour), Text: "I ran go test; a red error in the parser."},
		{Kind: "turn", ID: "t2", Agent: "leader", At: now, Text: "nothing of note, Überraschung"},
	}
	if err := x.Add(context.Background(), entries, 7); err != nil {
		t.Fatal(err)
	}
	return x
}

func find(t *testing.T, x *Index, text string) string {
	t.Helper()
	q, err := Parse(text, now)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	q.Newest = true
	hits, err := x.Find(context.Background(), q)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " ")
}

func TestFind(t *testing.T) {
	x := fill(t, filepath.Join(t.TempDir(), "search.db"))
	for _, c := range []struct{ query, want string }{
		{"parser", "t1 m2 m1"},
		{"PARSER broken", "m2"},
		{`"red error"`, "t1"},
		{`"error red"`, ""},
		{"parser -broken", "t1 m1"},
		{"pars*", "t1 m2 m1"},
		{"parser from:lead", "m2"},
		{"parser to:lead", "m1"},
		{"parser agent:lead", "m2 m1"},
		{"parser agent:lead/**", "t1 m2 m1"},
		{"note agent:lead/**", ""},
		{"parser kind:turn", "t1"},
		{"parser since:150m", "t1 m2"},
		{"überraschung", "t2"},
		{"parser.go", "m2"},
		{`par"ser`, ""},
		{"AND OR", ""},
		{"parser NEAR(", ""},
		{"parser*)", "t1 m2 m1"},
	} {
		if got := find(t, x, c.query); got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
	if seq, err := x.Position(context.Background()); seq != 7 || err != nil {
		t.Errorf("position %d, %v", seq, err)
	}
	q, _ := Parse("broken", now)
	hits, err := x.Find(context.Background(), q)
	if err != nil || len(hits) != 1 || !strings.Contains(hits[0].Snippet, "is \x02broken\x03") {
		t.Errorf("%+v, %v", hits, err)
	}
	for _, empty := range []string{"", "  ", "-word", `""`, "from:lead", "!!!"} {
		if _, err := Parse(empty, now); substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// TestDamaged: a file that cannot be used is begun anew.
func TestDamaged(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"garbage": func(path string) error {
			return os.WriteFile(path, []byte("no database at all, not at all, not at all"), 0o600)
		},
		"torn": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			copy(data[len(data)/2:], make([]byte, 4096))
			return os.WriteFile(path, data, 0o600)
		},
	} {
		path := filepath.Join(t.TempDir(), "search.db")
		x := fill(t, path)
		_ = x.Close()
		if err := harm(path); err != nil {
			t.Fatal(err)
		}
		x, err := Open(context.Background(), path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if seq, err := x.Position(context.Background()); err != nil || seq != 0 && name == "garbage" {
			t.Errorf("%s: position %d, %v", name, seq, err)
		}
		q, _ := Parse("parser", now)
		if hits, err := x.Find(context.Background(), q); err != nil && !Damaged(err) || err == nil && name == "torn" && len(hits) > 0 {
			t.Errorf("%s: %v, %v", name, hits, err)
		}
		_ = x.Close()
	}
}

func FuzzQuery(f *testing.F) {
	x, err := Open(context.Background(), filepath.Join(f.TempDir(), "search.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = x.Close() })
	if err := x.Add(context.Background(), []Entry{{Kind: "message", ID: "m", Text: "some words to find", At: now}}, 1); err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{`some words`, `"a b" -c from:x/** since:1h kind:turn`, `NEAR( AND OR "`, "*", "a* ^b {c} : d", "\x00", fmt.Sprint(now)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text, now)
		if err != nil {
			return
		}
		if _, err := x.Find(context.Background(), q); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
