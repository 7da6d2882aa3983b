package cursor

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"substrat.dev/substrat/agentcli"
)

// recordings finds streams of the real CLI, which are kept beside the project.
func recordings(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("SUBSTRAT_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "recordings", "*.jsonl"))
	if len(files) == 0 {
		t.Skip("no recordings of the real CLI: set SUBSTRAT_SHARED to the directory that holds them")
	}
	return files
}

// decode decodes a whole stream and checks what holds for every stream.
func decode(t testing.TB, data []byte, partial bool) ([]agentcli.Event, agentcli.Result) {
	t.Helper()
	var events []agentcli.Event
	var text strings.Builder
	emit := func(e agentcli.Event) error {
		e.Raw = bytes.Clone(e.Raw)
		events = append(events, e)
		if e.Type == agentcli.EventText {
			text.WriteString(e.Text)
		}
		if e.Reset {
			text.Reset()
		}
		return nil
	}
	d := NewDecoder(partial)
	lines := agentcli.NewLineReader(bytes.NewReader(data), 64<<20)
	for {
		f, err := lines.ReadFrame(context.Background())
		if err != nil {
			break
		}
		if err := d.Decode(f.Data, f.End, emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.finish(emit); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); got != d.Result().Text {
		t.Errorf("the text events add up to %q, the result's text is %q", got, d.Result().Text)
	}
	return events, d.Result()
}

func TestRecordings(t *testing.T) {
	for _, file := range recordings(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			events, result := decode(t, data, strings.Contains(file, "partial-"))
			frames := 0
			for line := range bytes.Lines(data) {
				var f struct{ Type, Subtype, Result string }
				if json.Unmarshal(line, &f) != nil {
					continue
				}
				frames++
				if f.Type == "result" && (f.Result != result.Text || !result.Terminal) {
					t.Errorf("text %q, want %q", result.Text, f.Result)
				}
			}
			for _, e := range events {
				if e.Type == agentcli.EventNotice {
					t.Errorf("a frame was not understood: %s %s", e.Text, e.Raw)
				}
				if e.Tool != nil && (e.Tool.ID == "" || e.Tool.Name == "" || e.Tool.Native == "") {
					t.Errorf("a tool call without identity: %+v", e.Tool)
				}
				if e.Type == agentcli.EventToolEnd && e.Tool.Status == agentcli.ToolOK && e.Tool.Output == "" && e.Tool.Diff == "" && e.Tool.Native != "updateTodos" && !strings.HasPrefix(e.Tool.Title, "sleep") {
					t.Errorf("a successful call without output: %+v", e.Tool)
				}
			}
			if frames == 0 {
				t.Error("no frames")
			}
		})
	}
}

// TestAnySplit: F20. However the bytes arrive, the events are the same.
func TestAnySplit(t *testing.T) {
	for _, file := range recordings(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data = data[:min(len(data), 3000)]
		want := frames(t, bytes.NewReader(data))
		for i := range data {
			got := frames(t, &splitReader{parts: [][]byte{data[:i], data[i:]}})
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s split at %d: %d frames, want %d", file, i, len(got), len(want))
			}
		}
	}
}

type splitReader struct{ parts [][]byte }

func (s *splitReader) Read(p []byte) (int, error) {
	for len(s.parts) > 0 && len(s.parts[0]) == 0 {
		s.parts = s.parts[1:]
	}
	if len(s.parts) == 0 {
		return 0, agentcli.EOF
	}
	n := copy(p, s.parts[0])
	s.parts[0] = s.parts[0][n:]
	return n, nil
}

func frames(t *testing.T, r interface{ Read([]byte) (int, error) }) []string {
	t.Helper()
	lines := agentcli.NewLineReader(r, 1<<20)
	var out []string
	for {
		f, err := lines.ReadFrame(context.Background())
		if err != nil {
			return out
		}
		out = append(out, string(f.Data))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"a"}]},"timestamp_ms":1}`+"\n"+`{"type":"result","subtype":"success","result":"a"}`), true)
	f.Add([]byte("\ufeff{\"type\":\"tool_call\",\"subtype\":\"completed\",\"tool_call\":{\"shellToolCall\":{\"result\":{\"failure\":{\"exitCode\":\"1\"}}}}}"), false)
	f.Add([]byte(`{"type":"thinking","text":"\ud800"} {"type":1} junk {`), true)
	f.Fuzz(func(t *testing.T, data []byte, partial bool) {
		_, result := decode(t, data, partial)
		if result.Terminal && result.Outcome == "" {
			t.Error("a terminal result without an outcome")
		}
	})
}
