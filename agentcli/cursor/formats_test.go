package cursor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// TestAuto: a decoder that does not know how the CLI was called puts the same text together as one that does.
func TestAuto(t *testing.T) {
	check := func(name string, data []byte, partial bool) {
		t.Helper()
		_, known := decode(t, data, partial)
		_, auto := decode(t, data, true)
		if known.Text != auto.Text || known.Terminal != auto.Terminal {
			t.Errorf("%s: %q, want %q", name, auto.Text, known.Text)
		}
	}
	for _, file := range recordings(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(file, data, strings.Contains(file, "partial-"))
	}
	// One turn, as a CLI prints it with and without partial output: pieces in segments that end before a tool, before a
	// query, and at the end. Pieces repeat, and a segment may be the beginning of the next.
	for _, pieces := range [][]string{{"a"}, {"a", "a"}, {"a", "b"}, {"-", "-", "\n", "\n"}, {"a", "ab"}, {"ab", "a", "b"}} {
		for _, last := range []string{"a", "ab", "-", strings.Join(pieces, "")} {
			for _, boundary := range []string{"tool", "query"} {
				whole, partial, want := turnStreams(pieces, boundary, last)
				for i, stream := range []string{whole, partial} {
					_, r := decode(t, []byte(stream), true)
					if r.Text != want {
						t.Errorf("%q %s %q, partial %v: %q, want %q\n%s", pieces, boundary, last, i == 1, r.Text, want, stream)
					}
				}
				check(whole, []byte(whole), false)
			}
		}
	}
}

// turnStreams writes a turn of two segments in both ways.
func turnStreams(pieces []string, boundary, last string) (whole, partial, text string) {
	frame := func(s, more string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":%q}]}%s}`, s, more) + "\n"
	}
	first := strings.Join(pieces, "")
	form, then := `,"model_call_id":"m","timestamp_ms":2`, `{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"lsToolCall":{}}}`
	if boundary == "query" {
		form, then = `,"timestamp_ms":2`, `{"type":"interaction_query","subtype":"request","query_type":"webSearchRequestQuery","query":{"id":1}}`
	}
	flush := frame(first, form) + then + "\n"
	end := `{"type":"result","subtype":"success","result":"` + `"}`
	for _, p := range pieces {
		partial += frame(p, `,"timestamp_ms":1`)
	}
	return flush + frame(last, "") + end, partial + flush + frame(last, `,"timestamp_ms":3`) + frame(last, "") + end, first + last
}

// TestRetries: what the CLI says again after it lost its connection is told once, in whatever way the turn ends.
func TestRetries(t *testing.T) {
	d := func(s string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":%q}]},"timestamp_ms":1}`, s) + "\n"
	}
	f := func(s string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":%q}]}}`, s) + "\n"
	}
	end := func(s string) string { return fmt.Sprintf(`{"type":"result","subtype":"success","result":%q}`, s) }
	again := `{"type":"retry","subtype":"starting","attempt":1,"is_resume":true} {"type":"retry","subtype":"resuming","attempt":1}` + "\n"
	lost := `{"type":"connection","subtype":"reconnecting","attempt":1}` + "\n" + `{"type":"connection","subtype":"reconnected"}` + "\n"
	tool := `{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"lsToolCall":{}}}` + "\n"
	for name, c := range map[string]struct{ stream, want string }{
		"goes on":                     {d("one ") + d("two") + again + d(" three") + f("one two three") + end("one two three"), "one two three"},
		"goes on after a lost line":   {d("one ") + d("two") + lost + d(" three") + f("one two three") + end("one two three"), "one two three"},
		"says it again":               {d("one ") + d("two") + again + d("one ") + d("two three") + f("one two three") + end("one two three"), "one two three"},
		"says it again, in new words": {d("one ") + d("two") + again + d("uno") + d(" due") + f("uno due") + end("uno due"), "uno due"},
		"again, and no flush":         {d("one ") + d("two") + again + d("uno") + d(" due") + end("uno due"), "uno due"},
		"on, and no flush":            {d("one ") + d("two") + again + d(" three") + d("!") + end("one two three!"), "one two three!"},
		"second segment again":        {d("a") + d("b") + f("ab") + tool + d("one") + again + d("o") + d("ne") + f("one") + end("abone"), "abone"},
		"between segments":            {d("a") + d("b") + f("ab") + again + tool + d("c") + d("d") + f("cd") + end("abcd"), "abcd"},
		"only flushed after it":       {d("on") + again + f("one two") + end("one two"), "one two"},
	} {
		if _, r := decode(t, []byte(c.stream), true); r.Text != c.want {
			t.Errorf("%s: %q, want %q", name, r.Text, c.want)
		}
	}
}

func TestDetect(t *testing.T) {
	result := `{"type":"result","subtype":"success","is_error":false,"result":"6","session_id":"s"}`
	for in, want := range map[string]Format{
		`{"type":"system","subtype":"init"}` + "\n":                        FormatStream,
		"Update available\n" + `{"type":"system","subtype":"init"}` + "\n": FormatStream,
		`{"type":"system","subtype":"init","cwd":"/w`:                      FormatStream,
		result:                   FormatJSON,
		"\ufeff" + result + "\n": FormatJSON,
		`{"type":"result","result":"` + strings.Repeat("x", 100): FormatJSON,
		"{\n  \"type\": \"result\",\n  \"result\": \"6\"\n}":     FormatJSON,
		"2 + 2 = 4": FormatText,
		"":          FormatText,
		"{}":        FormatText,
		`{"a":1}`:   FormatText,
	} {
		if got := Detect([]byte(in)); got != want {
			t.Errorf("%.40q is %s, want %s", in, got, want)
		}
	}
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for _, n := range []int{64, 512, 4096} {
			if got := Detect(data[:min(n, len(data))]); got != FormatStream {
				t.Errorf("%s by %d bytes is %s", file, n, got)
			}
		}
	}
}

func TestDecodeJSON(t *testing.T) {
	for in, want := range map[string]agentcli.Result{
		`{"type":"result","subtype":"success","is_error":false,"duration_ms":5109,"result":"6","session_id":"s","usage":{"inputTokens":3}}` + "\n": {
			Terminal: true, Text: "6", Session: "s", Outcome: substrat.Completed, DurationMS: 5109, Usage: &substrat.Usage{InputTokens: 3}},
		"noise {\n{\n \"type\": \"result\",\n \"subtype\": \"success\", \"result\": \"six\"}":     {Terminal: true, Text: "six", Outcome: substrat.Completed},
		`{"type":"result","subtype":"error","is_error":true,"result":"Error: Session not found"}`: {Terminal: true, Outcome: substrat.FailedTurn, Class: substrat.ClassSession},
		"Error: Authentication required":    {Outcome: substrat.FailedTurn, Class: substrat.ClassAuth},
		"":                                  {Outcome: substrat.FailedTurn, Class: substrat.ClassProtocol},
		`{"type":"result","result":"cut of`: {Outcome: substrat.FailedTurn, Class: substrat.ClassProtocol},
	} {
		got := DecodeJSON([]byte(in))
		if got.Terminal != want.Terminal || got.Text != want.Text || got.Session != want.Session || got.Outcome != want.Outcome ||
			got.Class != want.Class || got.DurationMS != want.DurationMS || (got.Usage == nil) != (want.Usage == nil) {
			t.Errorf("%q is %+v, want %+v", in, got, want)
		}
	}
}

func TestDecodeText(t *testing.T) {
	cases := []struct {
		out  string
		exit agentcli.Exit
		want agentcli.Result
	}{
		{"2 + 2 = 4\n", agentcli.Exit{}, agentcli.Result{Text: "2 + 2 = 4", Outcome: substrat.Completed}},
		{"Connection lost, reconnecting to https://api2.cursor.sh (attempt 1)...\nRetry attempt 1...\nThe\n\nanswer \n", agentcli.Exit{}, agentcli.Result{Text: "The\n\nanswer ", Outcome: substrat.Completed}},
		{"", agentcli.Exit{}, agentcli.Result{Outcome: substrat.FailedTurn, Class: substrat.ClassProtocol}},
		{"", agentcli.Exit{Code: 1, Stderr: []byte("Cannot use this model: x")}, agentcli.Result{Outcome: substrat.FailedTurn, Class: substrat.ClassModel}},
		{"RetriableError: [invalid_argument] Error\n", agentcli.Exit{Code: 1}, agentcli.Result{Outcome: substrat.FailedTurn, Class: substrat.ClassNetwork}},
		{"half an ans", agentcli.Exit{Code: -1, Signal: "SIGTERM"}, agentcli.Result{Outcome: substrat.FailedTurn, Class: substrat.ClassCrashed}},
	}
	for _, c := range cases {
		got := DecodeText([]byte(c.out), c.exit)
		if !got.Terminal || got.Text != c.want.Text || got.Outcome != c.want.Outcome || got.Class != c.want.Class {
			t.Errorf("%q, %+v is %+v, want %+v", c.out, c.exit, got, c.want)
		}
	}
}

func FuzzFormats(f *testing.F) {
	f.Add([]byte(`x {"type":"result","result":"a"} {`))
	f.Add(bytes.Repeat([]byte("{"), 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		Detect(data)
		if r := DecodeJSON(data); r.Outcome == "" {
			t.Error("no outcome")
		}
		DecodeText(data, agentcli.Exit{})
	})
}
