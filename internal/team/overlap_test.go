package team

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// Each file of a pair is told once, to the parent, or to the user of a root; and a snapshot remembers it.
func TestOverlapIsToldOnce(t *testing.T) {
	s := New("lead")
	n := 0
	do := func(c Command) (sent []substrat.Message) {
		t.Helper()
		n++
		entries, _, err := Decide(s, Meta{At: time.Unix(1_800_000_000+int64(n), 0), Limits: DefaultLimits()}, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if m, ok := e.Fact.(*MessageSent); ok {
				sent = append(sent, m.Message.Message)
			}
			if _, err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		return sent
	}
	do(Create{ID: "lead", Name: "lead", Provider: "sim", Dir: "/w", Sandbox: substrat.Bubblewrap})
	do(Create{ID: "coder", Name: "coder", Parent: "lead"})
	warn := func(agent, other string, files ...string) []substrat.Message {
		t.Helper()
		return do(WarnOverlap{ID: fmt.Sprint("w", n), Agent: agent, Other: other, OtherPath: "far/" + other, Repo: "/r", Files: files})
	}
	if m := warn("coder", "x", "b", "a"); len(m) != 1 || m[0].To != "lead" || m[0].From != substrat.System ||
		m[0].Text != "lead/coder and far/x both changed, in the repository /r: a, b" {
		t.Fatalf("told: %+v", m)
	}
	if m := warn("lead", "x", "a"); len(m) != 1 || m[0].To != substrat.User {
		t.Errorf("of a root: %+v", m)
	}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Decode(data); err != nil {
		t.Fatal(err)
	}
	if m := warn("coder", "x", "a", "b"); len(m) != 0 {
		t.Errorf("told again: %+v", m)
	}
	if m := warn("coder", "x", "a", "c"); len(m) != 1 || !strings.HasSuffix(m[0].Text, ": c") {
		t.Errorf("a new file: %+v", m)
	}
	if m := warn("coder", "y", "a"); len(m) != 1 {
		t.Errorf("another agent: %+v", m)
	}
	var many []string
	for i := range 2 * overlapsMost {
		many = append(many, fmt.Sprintf("f%04d", i))
	}
	if m := warn("coder", "z", many...); len(m) != 1 || !strings.Contains(m[0].Text, "more") || len(m[0].Text) > 1000 {
		t.Errorf("many: %+v", m)
	}
	held := 0
	for _, o := range s.Agents["coder"].Overlaps {
		held += len(o.Files)
	}
	if held != overlapsMost {
		t.Errorf("%d files are held", held)
	}
	if m := warn("coder", "q", "a"); len(m) != 0 || slices.ContainsFunc(s.Agents["coder"].Overlaps, func(o Overlap) bool { return o.Other == "q" }) {
		t.Errorf("past the bound: %+v", m)
	}
}
