package scripted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/scripted"
)

// pipe is a program that prints what it was made with.
type pipe struct {
	*agentcli.LineReader
	wrote []string
	deaf  bool
}

func (p *pipe) WriteFrame(_ context.Context, line []byte) error {
	if p.deaf {
		return substrat.Errorf(substrat.CodeConflict, "its stdin is closed")
	}
	p.wrote = append(p.wrote, string(line))
	return nil
}

func program(lines ...string) *pipe {
	return &pipe{LineReader: agentcli.NewLineReader(strings.NewReader(strings.Join(lines, "\n")), 1<<10)}
}

// tools answers every call with its own arguments.
type tools struct{ asked, answered int }

func (t *tools) Call(_ context.Context, c agentcli.Call) (agentcli.Call, error) {
	t.asked++
	if c.Tool == "gone" {
		return c, io.ErrUnexpectedEOF
	}
	if c.Tool == "bad" {
		c.Error = substrat.Errorf(substrat.CodeInvalid, "bad")
	} else {
		c.Result = json.RawMessage(fmt.Sprintf(`{"args":%s,"value":%q}`, c.Args, c.Value))
	}
	return c, nil
}

func (t *tools) Answered() { t.answered++ }

func converse(t *testing.T, p agentcli.Conn, req agentcli.Request) (agentcli.Result, []string, error) {
	t.Helper()
	events := []string{}
	r, err := scripted.New().Converse(t.Context(), p, req, func(e agentcli.Event) error {
		line := string(e.Type) + " " + e.Text
		if e.Tool != nil {
			line += e.Tool.ID + " " + e.Tool.Native + " " + string(e.Tool.Status) + " " + e.Tool.Output + e.Tool.Error
		}
		events = append(events, strings.TrimSpace(line))
		return nil
	})
	return r, events, err
}

func live(tools agentcli.Tools) *agentcli.LiveTurn {
	return &agentcli.LiveTurn{ID: "t1", Number: 3, Tools: tools}
}

func TestTurn(t *testing.T) {
	ts := &tools{}
	p := program(
		"a print statement", `{"type":"call","id":1,"tool":"x","args":{"a":1},"value":7}`, "", `[1]`,
		`{"type":"call","id":"2","tool":"bad"}`, `{"type":"call","tool":"x"}`, `{"type":"call","turn":"t0","id":"9","tool":"x"}`,
		`{"type":"text","text":"one "}`, `{"type":"log","message":"step"}`, `{"type":"odd"}`, strings.Repeat("x", 2000),
		`{"type":"done","turn":"t1","text":"two","state":{"n":1}}`, `{"type":"text","text":"late"}`,
	)
	r, events, err := converse(t, p, agentcli.Request{Prompt: "go", Live: live(ts)})
	if err != nil || !r.Terminal || r.Text != "one two" || r.Outcome != substrat.Completed || string(r.Checkpoint) != `{"n":1}` || r.ToolCalls != 3 {
		t.Errorf("result %+v, %v", r, err)
	}
	if diff := cmp.Diff([]string{
		"notice a print statement", "tool.started 1 x running", `tool.completed 1 x completed {"args":{"a":1},"value":"7"}`, "notice [1]",
		"tool.started 2 bad running", "tool.completed 2 bad failed bad",
		"tool.started  x running", "tool.completed  x failed a call needs an id, a string or number of at most 100 characters",
		"notice a line for another turn: call", "text one", "notice step", "notice a line of the unknown type odd",
		"notice a line was too long and was passed over", "text two", "result",
	}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		`{"type":"turn","id":"t1","number":3,"prompt":"go","messages":[],"calls":[]}`,
		`{"type":"result","id":"1","result":{"args":{"a":1},"value":"7"}}`,
		`{"type":"result","id":"2","error":{"code":"invalid","message":"bad"}}`,
		`{"type":"result","id":"","error":{"code":"invalid","message":"a call needs an id, a string or number of at most 100 characters"}}`,
		`{"type":"result","id":"9","error":{"code":"forbidden","message":"the turn this call belongs to is over"}}`,
	}, p.wrote); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if ts.asked != 2 || ts.answered != 3 {
		t.Errorf("%d asked, %d answered", ts.asked, ts.answered)
	}
}

// TestEnds: how a turn can end, and what a transcript of it tells.
func TestEnds(t *testing.T) {
	tests := map[string]struct {
		lines []string
		want  agentcli.Result
	}{
		"fail":      {[]string{`{"type":"fail","message":"no"}`}, agentcli.Result{Terminal: true, Outcome: substrat.FailedTurn, Class: substrat.ClassAgent, Detail: "no"}},
		"void":      {[]string{`{"type":"fail","message":"no","void":true}`}, agentcli.Result{Terminal: true, Void: true, Outcome: substrat.FailedTurn, Class: substrat.ClassAgent, Detail: "no"}},
		"silent":    {[]string{`{"type":"fail"}`}, agentcli.Result{Terminal: true, Outcome: substrat.FailedTurn, Class: substrat.ClassAgent, Detail: "the program gave the turn up and did not say why"}},
		"no end":    {[]string{`{"type":"text","text":"half"}`}, agentcli.Result{Text: "half"}},
		"restarted": {[]string{`{"type":"text","text":"half"}`, `{"type":"restart"}`, `{"type":"done","text":"whole"}`}, agentcli.Result{Terminal: true, Outcome: substrat.Completed, Text: "whole"}},
		"answered in the transcript": {[]string{`{"type":"call","id":"1","tool":"x"}`, `{"type":"result","id":"1","result":{}}`, `{"type":"result","id":"1","result":{}}`, `{"type":"done"}`},
			agentcli.Result{Terminal: true, Outcome: substrat.Completed, ToolCalls: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := program(tt.lines...)
			got, _, err := converse(t, p, agentcli.Request{})
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if len(p.wrote) > 0 {
				t.Errorf("a reader wrote %q", p.wrote)
			}
		})
	}
}

// TestResumed: what an earlier daemon dealt with is not done again.
func TestResumed(t *testing.T) {
	ts := &tools{}
	p := program(`{"type":"call","id":"2","tool":"x","args":{}}`, `{"type":"done"}`)
	l := live(ts)
	l.Resumed = true
	l.Past = program(`{"type":"turn","id":"t1"}`, `{"type":"text","text":"said"}`, `{"type":"call","id":"1","tool":"x"}`, `{"type":"result","id":"1","result":{}}`)
	r, _, err := converse(t, p, agentcli.Request{Live: l})
	if err != nil || r.Text != "said" || r.ToolCalls != 2 || ts.asked != 1 || len(p.wrote) != 1 {
		t.Errorf("%+v %v, %d asked, wrote %q", r, err, ts.asked, p.wrote)
	}
}

// TestDeaf: a program that no longer reads may still have said its last word; a call without an answer ends the conversation.
func TestDeaf(t *testing.T) {
	p := program(`{"type":"call","id":"1","tool":"x","args":{}}`, `{"type":"done"}`)
	p.deaf = true
	if r, _, err := converse(t, p, agentcli.Request{Live: live(&tools{})}); err != nil || r.Outcome != substrat.Completed {
		t.Errorf("%+v %v", r, err)
	}
	p = program(`{"type":"call","id":"1","tool":"gone"}`, `{"type":"done"}`)
	if r, _, err := converse(t, p, agentcli.Request{Live: live(&tools{})}); err == nil || r.Terminal || len(p.wrote) != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestGreet(t *testing.T) {
	text := "ok"
	l := live(nil)
	l.Checkpoint = json.RawMessage(`[1]`)
	l.History = func(yield func(agentcli.PastTurn) error) error {
		return yield(agentcli.PastTurn{ID: "t0", Number: 2, Prompt: "p", Messages: []agentcli.Mail{}, Done: &text})
	}
	p := program()
	req := agentcli.Request{Live: l, Agent: &substrat.Agent{ID: "a", Name: "pipe", Path: "pipe", Role: substrat.Worker}}
	if _, err := scripted.New().Greet(t.Context(), p, req); err != nil {
		t.Fatal(err)
	}
	if err := scripted.New().Interrupt(t.Context(), p, req); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		`{"type":"hello","protocol":1,"agent":{"id":"a","name":"pipe","path":"pipe","role":"worker"},"state":[1]}`,
		`{"type":"history","id":"t0","number":2,"prompt":"p","messages":[],"calls":[],"done":"ok"}`,
		`{"id":"t1","type":"cancel"}`,
	}, p.wrote); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if got := string(scripted.New().Stray([]byte(`{"type":"call","id":4}`))); got != `{"type":"result","id":"4","error":{"code":"forbidden","message":"no turn is open"}}` {
		t.Errorf("a stray call: %s", got)
	}
	if got := scripted.New().Stray([]byte(`{"type":"text"}`)); got != nil {
		t.Errorf("a stray text: %s", got)
	}
}

func TestCommand(t *testing.T) {
	cmd, err := scripted.New().Command(agentcli.Request{Program: []string{"python3", "/home/u/bin/pipe.py", "/etc/x"}, Dir: "/srv/project"})
	want := []agentcli.Expose{{Host: "/home/u/bin/pipe.py", Optional: true}, {Host: "/home/u/bin/substrat_agent.py", Optional: true}}
	if diff := cmp.Diff(want, cmd.Exposes); diff != "" || err != nil || !cmd.KeepStdin || cmd.Network {
		t.Errorf("%v %+v (-want +got):\n%s", err, cmd, diff)
	}
	for _, argv := range [][]string{{"/srv/project/run"}, {"/usr/bin/env", "x"}, {"sh", "-c", "/home/u/x"}} {
		if cmd, _ := scripted.New().Command(agentcli.Request{Program: argv, Dir: "/srv/project"}); len(cmd.Exposes) > 0 {
			t.Errorf("%v exposes %v", argv, cmd.Exposes)
		}
	}
	if _, err := scripted.New().Command(agentcli.Request{}); err == nil {
		t.Error("no program, and no error")
	}
}

// FuzzConverse: whatever a program prints, the conversation ends with it and every answer is a line of JSON.
func FuzzConverse(f *testing.F) {
	f.Add([]byte(`{"type":"call","id":1,"tool":"x"}` + "\n" + `{"type":"done"}`))
	f.Add([]byte("{\"type\":\"result\",\"id\":\"1\",\"error\":{}}\n\x00\n{}\n{\"type\":\"fail\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &pipe{LineReader: agentcli.NewLineReader(strings.NewReader(string(data)), 1<<10)}
		r, err := scripted.New().Converse(t.Context(), p, agentcli.Request{Live: live(&tools{})}, func(agentcli.Event) error { return nil })
		if err == nil && r.Terminal != (r.Outcome != "") {
			t.Errorf("result %+v", r)
		}
		for _, line := range p.wrote {
			if !json.Valid([]byte(line)) || strings.Contains(line, "\n") {
				t.Errorf("wrote %q", line)
			}
		}
	})
}
