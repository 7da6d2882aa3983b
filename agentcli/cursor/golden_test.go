package cursor

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat/agentcli"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden decodes streams made by hand from the documented shapes: every variant with each of its outcomes, of builds
// 2025.10 to 2026.10, the queries, and whatever else stands on the wire.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			events, result := decode(t, data, true)
			var got bytes.Buffer
			for _, e := range events {
				checkTruth(t, e)
				e.Raw, e.Offset = nil, 0
				if e.Tool != nil {
					if len(e.Tool.Input) > 0 && !json.Valid(e.Tool.Input) {
						t.Errorf("the input of %s is no JSON: %s", e.Tool.Name, e.Tool.Input)
					}
					e.Tool.Input = nil // it is in the stream beside
				}
				enc := json.NewEncoder(&got)
				enc.SetEscapeHTML(false)
				if err := enc.Encode(e); err != nil {
					t.Fatal(err)
				}
			}
			if !result.Terminal {
				t.Error("the stream has no end")
			}
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			sameLines(t, got.String(), string(want))
		})
	}
}

// checkTruth holds what a call's end says against the member of its result: only "success" may be shown as one.
func checkTruth(t *testing.T, e agentcli.Event) {
	t.Helper()
	if e.Type != agentcli.EventToolEnd {
		return
	}
	if e.Tool.Status == agentcli.ToolOK && (e.Tool.Error != "" || !bytes.Contains(e.Raw, []byte(`"success":{`)) || bytes.Contains(e.Raw, []byte(`"isError":true`))) {
		t.Errorf("shown as a success: %s", e.Raw)
	}
	if e.Tool.Status != agentcli.ToolOK && e.Tool.Error == "" {
		t.Errorf("no word of why: %s", e.Raw)
	}
}

func sameLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("event %d is\n%s\nwant\n%s", i+1, a, b)
		}
	}
}
