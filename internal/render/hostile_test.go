package render

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/cursor"
)

var ours = regexp.MustCompile("\x1b\\[([0-4]|3[0-9])m")

// narrow checks that no line is wider than a terminal, by either way terminals count.
func narrow(t rapid.TB, out string, width int) {
	t.Helper()
	for l := range strings.SplitSeq(ours.ReplaceAllString(out, ""), "\n") {
		if w := max(ansi.StringWidth(l), ansi.StringWidthWc(l)); w > width {
			t.Fatalf("%d columns wide, more than %d: %q", w, width, l)
		}
	}
}

// harmless checks that there is nothing in an output that a terminal obeys, but for line breaks and our own colours.
func harmless(t rapid.TB, out string) {
	t.Helper()
	for _, r := range ours.ReplaceAllString(out, "") {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Fatalf("%U gets through in %q", r, out)
		}
	}
}

// nasty are texts made of what breaks terminals and counts.
func nasty() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[2J", "\x1b]52;c;ZXZpbA==\x07", "\x9b31m", "\u009b2J", "\r", "\r\n", "\n", "\t",
			"\u202e", "\u2066", "\u2028", "\x00", "\x7f", "漢字かな", "👩‍👩‍👧‍👦", "🇩🇪", "❤️", "e\u0301", "\ufe0f", " ", "   ", strings.Repeat("word ", 30), strings.Repeat("w", 200), "\xff\xfe",
			"\x1b[0m", "+", "-", "@@", "\u200d", "\U000e0041"})), 0, 12).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func TestHostile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(what string) string { return nasty().Draw(t, what) }
		width := rapid.IntRange(1, 130).Draw(t, "width")
		var b strings.Builder
		tr := New(&b, Options{Width: at(width), Colour: rapid.Bool().Draw(t, "colour"), Full: rapid.Bool().Draw(t, "full"), Brief: rapid.Bool().Draw(t, "brief")})
		tr.Started(substrat.Turn{Number: 1}, []substrat.Message{{From: text("from"), Kind: substrat.KindUser, Text: text("text")}})
		for range rapid.IntRange(0, 10).Draw(t, "events") {
			x := agentcli.ToolCall{ID: text("id"), Name: text("name"), Title: text("title"), Server: text("server"), Input: []byte(text("input")), Output: text("output"),
				Diff: text("diff"), Error: text("error"), Status: agentcli.ToolStatus(rapid.SampledFrom([]string{"completed", "failed", "rejected"}).Draw(t, "status"))}
			kind := rapid.SampledFrom([]agentcli.EventType{agentcli.EventText, agentcli.EventTextEnd, agentcli.EventThinking, agentcli.EventThinkEnd, agentcli.EventToolStart,
				agentcli.EventToolEnd, agentcli.EventTodos, agentcli.EventPlan, agentcli.EventQuestion, agentcli.EventPermission, agentcli.EventRetry, agentcli.EventNotice}).Draw(t, "kind")
			e := agentcli.Event{Type: kind, Text: text("said"), Tool: &x, Todos: []agentcli.Todo{{Content: text("todo")}},
				Ask: &agentcli.Question{Prompts: []agentcli.QuestionPrompt{{Prompt: text("asks"), Options: []agentcli.Option{{Label: text("option")}}}}}}
			if rapid.IntRange(0, 9).Draw(t, "bare") == 0 {
				e = agentcli.Event{Type: kind}
			}
			tr.Event(e)
		}
		tr.Ended(substrat.Turn{Outcome: substrat.FailedTurn, Class: substrat.ClassAgent, Detail: text("detail")})
		harmless(t, b.String())
		narrow(t, b.String(), max(width, 20))
	})
}

// squeeze leaves the blanks out.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// Text that comes in pieces looks as if it had come at once.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringOfN(rapid.SampledFrom([]rune("ab \n字")), 0, 300, -1).Draw(t, "text")
		width := rapid.IntRange(1, 30).Draw(t, "width")
		var b strings.Builder
		f := flow{put: func(s string) { b.WriteString(s) }, width: width}
		for rest := []rune(words); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			f.add(string(rest[:n]))
			rest = rest[n:]
		}
		f.flush()
		if want := strings.Join(wrapped(words, width), "\n"); b.String() != want {
			t.Fatalf("%q, not %q", b.String(), want)
		}
		if squeeze(b.String()) != squeeze(words) {
			t.Fatalf("%q lost something of %q", b.String(), words)
		}
		narrow(t, b.String(), max(width, 2))
	})
}

// Terminals and libraries do not agree on how wide some characters are; cutting must come to an end whatever they are.
func TestCut(t *testing.T) {
	for s, want := range map[string]string{"": "", "abcde": "abcde", "abcdef": "abcd…", "字字字": "字字…", "abc字字": "abc…"} {
		if got := cutTo(s, 5); got != want {
			t.Errorf("%q is cut to %q, not %q", s, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, most := OneLine(nasty().Draw(t, "text"), 200), rapid.IntRange(1, 60).Draw(t, "most")
		got := cutTo(s, most)
		narrow(t, got, most)
		if columns(s) <= most && got != s || !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Fatalf("%q is cut to %q", s, got)
		}
	})
}

// TestRecordings shows streams of the real CLI, which are kept beside the project.
func TestRecordings(t *testing.T) {
	dir := os.Getenv("SUBSTRAT_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "recordings", "*.jsonl"))
	if len(files) == 0 {
		t.Skip("no recordings of the real CLI: set SUBSTRAT_SHARED to the directory that holds them")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var narrowed, whole strings.Builder
			n, w := New(&narrowed, Options{Width: at(80), Colour: true}), New(&whole, Options{Full: true})
			result, said, tools := show(t, data, strings.Contains(file, "partial-"), n, w)
			for _, tr := range []*Transcript{n, w} {
				tr.Ended(substrat.Turn{Outcome: result.Outcome, Usage: result.Usage})
			}
			narrow(t, narrowed.String(), 80)
			harmless(t, narrowed.String())
			if shown := strings.Count("\n"+whole.String(), "\n• "); shown < tools {
				t.Errorf("%d of %d tool calls are shown:\n%s", shown, tools, whole.String())
			}
			for _, x := range said {
				if !strings.Contains(squeeze(whole.String()), squeeze(x)) {
					t.Errorf("%q is not shown", x)
				}
			}
			if testing.Verbose() {
				t.Log("\n" + narrowed.String())
			}
		})
	}
}

// show decodes a stream into transcripts, and gives the segments of text and the number of tool calls that ended.
func show(t *testing.T, data []byte, partial bool, into ...*Transcript) (agentcli.Result, []string, int) {
	t.Helper()
	said, tools := []string{""}, 0
	d := cursor.NewDecoder(partial)
	lines := agentcli.NewLineReader(bytes.NewReader(data), 64<<20)
	for {
		f, err := lines.ReadFrame(context.Background())
		if err != nil {
			return d.Result(), said, tools
		}
		err = d.Decode(f.Data, f.End, func(e agentcli.Event) error {
			switch e.Type {
			case agentcli.EventToolEnd:
				tools++
			case agentcli.EventText:
				said[len(said)-1] += e.Text
			case agentcli.EventTextEnd:
				said = append(said, "")
			}
			for _, tr := range into {
				tr.Event(e)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
