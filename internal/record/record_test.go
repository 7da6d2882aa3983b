package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/record"
)

func open(t testing.TB, path string) *record.Log {
	t.Helper()
	l, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func try(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func head(id string, number int) agentcli.PastTurn {
	return agentcli.PastTurn{ID: id, Number: number, Prompt: "do " + id, Messages: []agentcli.Mail{{ID: "m-" + id, From: "USER", Text: "do"}}}
}

func call(id string) agentcli.Call {
	return agentcli.Call{ID: id, Tool: "now", Args: json.RawMessage("{}"), Result: json.RawMessage(`{"t":1}`)}
}

func done(text string) record.End {
	return record.End{Outcome: substrat.Completed, Own: true, Result: agentcli.Result{Terminal: true, Outcome: substrat.Completed, Text: text}}
}

func past(t testing.TB, l *record.Log) []string {
	t.Helper()
	out := []string{}
	try(t, l.History(func(p agentcli.PastTurn) error {
		line := p.ID
		for _, c := range p.Calls {
			line += " " + c.ID
		}
		if p.Done != nil {
			line += " done " + *p.Done
		}
		if p.Failed != nil {
			line += " failed " + *p.Failed
		}
		out = append(out, line)
		return nil
	}))
	return out
}

// TestReopened: whatever was added is there in a log that is opened anew, at any point.
func TestReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent", "record.jsonl")
	l := open(t, path)
	if l.Turn("t1") != nil || l.End("t1") != nil || l.Mark() != nil {
		t.Error("an empty record knows something")
	}
	try(t, l.Begin(head("t1", 1)), l.Note(record.Mark{Process: "p1", Asked: true}), l.Add(call("1")), l.Add(call("2")))
	l = open(t, path)
	if turn := l.Turn("t1"); turn == nil || len(turn.Calls) != 2 || l.Call("2") == nil || l.Call("3") != nil || l.End("t1") != nil {
		t.Fatalf("the open turn is %+v", turn)
	}
	if m := l.Mark(); m == nil || m.Process != "p1" || !m.Asked {
		t.Errorf("the mark is %+v", m)
	}
	if err := l.Add(call("2")); err == nil {
		t.Error("a call was recorded twice")
	}
	try(t, l.Finish(done("one")))
	if err := l.Add(call("3")); err == nil {
		t.Error("a call was recorded after the end")
	}
	try(t, l.Begin(head("t2", 2)), l.Add(call("1")), l.Finish(record.End{Outcome: substrat.TimedOut}))
	try(t, l.Begin(head("t3", 3)), l.Finish(record.End{Outcome: substrat.FailedTurn, Own: true, Result: agentcli.Result{Outcome: substrat.FailedTurn, Detail: "no"}}))
	try(t, l.Begin(head("t4", 4)), l.Add(call("1")), l.Begin(head("t5", 5)))
	l = open(t, path)
	if diff := cmp.Diff([]string{"t1 1 2 done one", "t3 failed no"}, past(t, l)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if end := l.End("t5"); l.Turn("t5") == nil || end != nil || l.Turn("t3") != nil || l.Mark() != nil {
		t.Error("the last turn is not the open one")
	}
}

// TestCheckpoint: the state takes the place of everything, and how the turn ended stays known for the journal.
func TestCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.jsonl")
	l := open(t, path)
	try(t, l.Begin(head("t1", 1)), l.Add(call("1")), l.Finish(done("one")))
	end := done("two")
	end.Result.Checkpoint = json.RawMessage(`{"seen":2}`)
	try(t, l.Begin(head("t2", 2)), l.Finish(end))
	for _, l := range []*record.Log{l, open(t, path)} {
		if got := string(l.Checkpoint()); got != `{"seen":2}` {
			t.Errorf("the state is %s", got)
		}
		if e := l.End("t2"); e == nil || e.Result.Text != "two" {
			t.Errorf("the turn of the checkpoint ended with %+v", e)
		}
		if h := past(t, l); len(h) != 0 {
			t.Errorf("history %v", h)
		}
	}
	try(t, l.Begin(head("t3", 3)), l.Finish(done("three")))
	l = open(t, path)
	if diff := cmp.Diff([]string{"t3 done three"}, past(t, l)); diff != "" || l.Checkpoint() == nil {
		t.Errorf("after the checkpoint (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(path + ".new"); err == nil {
		t.Error("a file was left")
	}
}

// TestTorn: a record that lost its end at any byte holds what was whole, and takes more.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.jsonl")
	l := open(t, path)
	try(t, l.Begin(head("t1", 1)), l.Add(call("1")), l.Note(record.Mark{Process: "p"}), l.Finish(done("one")))
	whole, err := os.ReadFile(path)
	try(t, err)
	for n := range whole {
		torn := filepath.Join(t.TempDir(), "torn")
		try(t, os.WriteFile(torn, append(bytes.Clone(whole[:n]), 0, 0, 0), 0o600))
		l := open(t, torn)
		lines := bytes.Count(whole[:n], []byte("\n"))
		if (l.Turn("t1") != nil) != (lines > 0) || (l.Call("1") != nil) != (lines > 1) || l.End("t1") != nil {
			t.Fatalf("cut at %d, after %d lines: %+v %+v", n, lines, l.Turn("t1"), l.End("t1"))
		}
		try(t, l.Begin(head("t2", 2)), l.Finish(done("two")))
		if h := past(t, open(t, torn)); len(h) == 0 || h[len(h)-1] != "t2 done two" {
			t.Fatalf("cut at %d: history %v", n, h)
		}
		_ = l.Close()
	}
}

func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.jsonl")
	l := open(t, path)
	try(t, l.Begin(head("t1", 1)), l.Add(call("1")), l.Finish(done("one")))
	data, err := os.ReadFile(path)
	try(t, err)
	try(t, os.WriteFile(path, bytes.Replace(data, []byte(`{"call"`), []byte(`{"ca}l"`), 1), 0o600))
	_, err = record.Open(path)
	if substrat.CodeOf(err) != substrat.CodeStorage || !strings.Contains(err.Error(), "damaged at byte") {
		t.Errorf("a damaged record: %v", err)
	}
}

// FuzzOpen: whatever is in the file, a record opens or is refused, and what opens takes a turn and keeps it.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"turn":{"id":"t","number":1}}` + "\n" + `{"call":{"id":"1"}}` + "\n" + `{"end":{"own":true}}` + "\n"))
	f.Add([]byte(`{"state":null,"settled":"t","last":null}` + "\n{"))
	f.Add([]byte(`{"end":{}}` + "\n" + `{"mark":{}}` + "\nnull\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "record.jsonl")
		try(t, os.WriteFile(path, data, 0o600))
		l, err := record.Open(path)
		if err != nil {
			return
		}
		defer l.Close()
		before := past(t, l)
		try(t, l.Begin(head("fuzz", 1)), l.Add(call("1")), l.Finish(done("end")))
		again := open(t, path)
		if diff := cmp.Diff(append(before, "fuzz 1 done end"), past(t, again)); diff != "" || again.End("fuzz") == nil {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
