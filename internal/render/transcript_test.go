package render

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// golden compares with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func at(width int) func() int { return func() int { return width } }

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func ended(outcome substrat.Outcome) substrat.Turn {
	end := noon.Add(83 * time.Second)
	return substrat.Turn{Number: 3, StartedAt: noon, EndedAt: &end, Outcome: outcome, ToolCalls: 6, CostMicros: 1_230_000,
		Usage: &substrat.Usage{InputTokens: 8830, OutputTokens: 185}}
}

func start(id, name, title string, ms int64) agentcli.Event {
	return agentcli.Event{Type: agentcli.EventToolStart, TimeMS: ms, Tool: &agentcli.ToolCall{ID: id, Name: name, Title: title, Status: agentcli.ToolRunning}}
}

func done(x agentcli.ToolCall, ms int64) agentcli.Event {
	if x.Status == "" {
		x.Status = agentcli.ToolOK
	}
	return agentcli.Event{Type: agentcli.EventToolEnd, TimeMS: ms, Tool: &x}
}

func say(s string) agentcli.Event { return agentcli.Event{Type: agentcli.EventText, Text: s} }

// play shows a turn with everything in it.
func play(tr *Transcript) {
	tr.Started(substrat.Turn{Number: 3, StartedAt: noon}, []substrat.Message{
		{Kind: substrat.KindUser, From: "USER", Text: "Please make the tests of the parser pass, and tell lead what was wrong with them when you are done."},
		{Kind: substrat.KindReply, From: "lead/tester", Text: strings.Repeat("a line\n", 30)},
	})
	one := 1
	for _, e := range []agentcli.Event{
		{Type: agentcli.EventThinking, Text: "The parser is where it goes wrong."}, {Type: agentcli.EventThinkEnd},
		say("I will look at the "), say("parser first, then run its tests, which sh"), say("ould tell where it goes wrong.\n\n  - 構文解析器を見てから試験を実行しますので少々お待ちください。それから直します。\n"),
		{Type: agentcli.EventTextEnd},
		start("1", "Bash", "go test ./...", 1000), start("2", "Read", "parser.go", 1100),
		done(agentcli.ToolCall{ID: "2", Name: "Read", Title: "parser.go", Output: "package parser\n\nfunc Parse() {\n\treturn nil\n}\n"}, 1250),
		done(agentcli.ToolCall{ID: "1", Name: "Bash", Title: "go test ./... -run 'TestParser|TestLexer|TestPrinter' -count=1 -race", Status: agentcli.ToolFailed, ExitCode: &one,
			Output: "\x1b[31mFAIL\x1b[0m\r\n10%\r50%\r100%\n\x1b]0;owned\x07" + strings.Repeat("x", 90) + "\n4\n5\n6\n7\n8\n9\n"}, 13400),
		{Type: agentcli.EventRetry, Text: "reconnecting"},
		done(agentcli.ToolCall{ID: "3", Name: "Edit", Title: "parser.go", Diff: "--- a/parser.go\n+++ b/parser.go\n@@ -1,3 +1,3 @@\n func Parse() {\n-\treturn nil\n+\treturn parse()\n }" + strings.Repeat("\n+more", 60)}, 0),
		done(agentcli.ToolCall{ID: "4", Name: "MCP", Server: "substrat", Title: "send_message", Output: "sent",
			Input: json.RawMessage(`{"toolName":"send_message","args":{"recipient": "lead", "text": "it was the lexer, which dropped the last token of every line"}}`)}, 0),
		done(agentcli.ToolCall{ID: "5", Name: "Grep", Title: "src", Input: json.RawMessage(`{"pattern":"func Parse","path":"src"}`)}, 0),
		done(agentcli.ToolCall{ID: "6", Name: "Bash", Title: "rm -rf build", Status: agentcli.ToolRejected,
			Error: "policy 3 of the configuration does not let agents remove directories that other agents work in; ask a person"}, 0),
		{Type: agentcli.EventTodos, Todos: []agentcli.Todo{{Content: "read", Status: "completed"}, {Content: "fix", Status: "in_progress"}, {Content: "tell", Status: "pending"}}},
		{Type: agentcli.EventQuestion, Ask: &agentcli.Question{Prompts: []agentcli.QuestionPrompt{{Prompt: "Which way?", Options: []agentcli.Option{{ID: "l", Label: "left"}, {ID: "r", Label: "right"}}}}}},
		start("7", "Bash", "sleep 1000", 0),
		say("It is don"), say("e"),
	} {
		tr.Event(e)
	}
	tr.Ended(ended(substrat.Completed))
	tr.Started(substrat.Turn{Number: 4, StartedAt: noon}, nil)
	end := ended(substrat.FailedTurn)
	end.Class, end.Detail, end.Usage, end.CostMicros = substrat.ClassQuota, "You've hit your usage limit; it starts anew on the first of next month, or get more of it", nil, 0
	tr.Ended(end)
}

func TestTranscript(t *testing.T) {
	for name, o := range map[string]Options{
		"plain": {}, "plain-full": {Full: true}, "80": {Width: at(80)}, "40": {Width: at(40)}, "brief-80": {Width: at(80), Brief: true},
		"colour-80": {Width: at(80), Colour: true},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			play(New(&b, o))
			got := b.String()
			if !o.Colour && strings.Contains(got, "\x1b") {
				t.Error("an escape sequence without colour")
			}
			if o.Width != nil {
				narrow(t, got, o.Width())
			}
			golden(t, name, strings.ReplaceAll(got, "\x1b", "␛"))
		})
	}
}

// An open turn says what runs; the next turn does not say it again.
func TestPause(t *testing.T) {
	var b strings.Builder
	tr := New(&b, Options{})
	tr.Event(say("wait"))
	tr.Event(start("1", "Bash", "make", 0))
	tr.Pause("running")
	tr.Ended(ended(substrat.Completed))
	if got := b.String(); !strings.HasPrefix(got, "wait\n• Bash make [running]\n── completed") {
		t.Errorf("%q", got)
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{-1: "0s", 12 * time.Millisecond: "10ms", 1234 * time.Millisecond: "1.23s",
		12340 * time.Millisecond: "12.3s", 83400 * time.Millisecond: "1m23s"} {
		if got := took(d); got != want {
			t.Errorf("%v: %s, not %s", d, got, want)
		}
	}
}
