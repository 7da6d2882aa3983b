// Package headlesstest checks decoders of headless agent CLIs against recordings: what holds for every stream, and the
// events that each recording is known to give. It is for tests only, and knows no CLI.
package headlesstest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"substrat.dev/substrat/agentcli"
)

var update = flag.Bool("update", false, "write the golden events anew")

// Converser is the part of a provider that decodes.
type Converser interface {
	Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error)
}

// Decode decodes a stream and checks what holds for every stream: its text events add up to the result's text, segments
// are closed, the result comes last and once, and no call ends that has no identity.
func Decode(t testing.TB, p Converser, req agentcli.Request, r io.Reader) ([]agentcli.Event, agentcli.Result) {
	t.Helper()
	var events []agentcli.Event
	var text strings.Builder
	open, ended := false, false
	result, err := p.Converse(t.Context(), agentcli.NewReplay(r), req, func(e agentcli.Event) error {
		if ended {
			t.Errorf("an event after the result: %+v", e)
		}
		if len(e.Raw) > 0 && !json.Valid(bytes.ToValidUTF8(e.Raw, []byte("?"))) {
			t.Errorf("a raw frame is no JSON: %s", e.Raw)
		}
		switch e.Type {
		case agentcli.EventText:
			open = true
			text.WriteString(e.Text)
		case agentcli.EventTextEnd:
			if !open {
				t.Error("a segment ends that was not open")
			}
			open = false
		case agentcli.EventRetry:
			if e.Reset {
				open = false
				text.Reset()
			}
		case agentcli.EventResult:
			ended = true
		case agentcli.EventToolStart, agentcli.EventToolEnd:
			if e.Tool.Name == "" {
				t.Errorf("a call without a name: %+v", e.Tool)
			}
		}
		e.Raw = nil
		events = append(events, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if open {
		t.Error("the last segment was not closed")
	}
	if text.String() != result.Text {
		t.Errorf("the text events add up to %q, the result's text is %q", text.String(), result.Text)
	}
	if ended != result.Terminal {
		t.Errorf("a result event: %v, terminal: %v", ended, result.Terminal)
	}
	return events, result
}

// Golden decodes every recording in testdata and compares its events and result with those beside it.
func Golden(t *testing.T, p Converser, req agentcli.Request) {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.ndjson")
	if len(files) < 5 {
		t.Fatalf("%d recordings", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".ndjson"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			events, result := Decode(t, p, req, bytes.NewReader(data))
			got := encode(t, events, result)
			golden := strings.TrimSuffix(file, ".ndjson") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, want)
			// However the bytes arrive, the events are the same.
			again, _ := Decode(t, p, req, iotest.OneByteReader(bytes.NewReader(data)))
			if !reflect.DeepEqual(events, again) {
				t.Error("the events differ when the stream arrives byte by byte")
			}
		})
	}
}

func encode(t *testing.T, events []agentcli.Event, result agentcli.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, ev := range events {
		if err := e.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Encode(result); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compare(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("line %d:\n got %s\nwant %s", i+1, a, b)
		}
	}
}

// Noise checks what a decoder does with what is no frame of its CLI's: it is kept as notices, and the turn goes on.
func Noise(t *testing.T, p Converser, turn []byte) {
	t.Helper()
	_, want := Decode(t, p, agentcli.Request{}, bytes.NewReader(turn))
	var noisy bytes.Buffer
	noisy.WriteString("\ufeffwarning: something\n{\"type\":\"brand_new\",\"x\":[1,{\"y\":null}]}\n{\"type\":7}\n[1]\n{}\n{\"half\":\n\xff\xfe\n")
	for line := range bytes.Lines(turn) {
		noisy.Write(line)
		noisy.WriteString("\r\n{\"type\":\"brand_new\",\"text\":\"\xff\"}\n")
	}
	events, got := Decode(t, p, agentcli.Request{}, &noisy)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("with noise the result is\n%+v, without\n%+v", got, want)
	}
	notices := 0
	for _, e := range events {
		if e.Type == agentcli.EventNotice && strings.Contains(e.Text, "brand_new") {
			notices++
		}
	}
	if notices < 2 {
		t.Errorf("%d notices of an unknown frame", notices)
	}
}

// Fuzz checks that nothing in a stream makes a decoder fail or break what holds for every stream.
func Fuzz(f *testing.F, p Converser) {
	f.Helper()
	files, _ := filepath.Glob("testdata/*.ndjson")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		for line := range bytes.Lines(data) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events, result := Decode(t, p, agentcli.Request{}, bytes.NewReader(data))
		if _, err := json.Marshal(result); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if _, err := json.Marshal(e); err != nil {
				t.Fatal(err)
			}
		}
	})
}
