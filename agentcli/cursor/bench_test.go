package cursor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat/agentcli"
)

// typicalStream is a long turn: what was recorded, each file once per round, and a file of some size that is read.
func typicalStream(b testing.TB) []byte {
	var round []byte
	for _, file := range recordings(b) {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if !bytes.Contains(line[:min(len(line), 30)], []byte(`"result"`)) {
				round = append(append(round, bytes.TrimSpace(line)...), '\n')
			}
		}
	}
	source, err := os.ReadFile("decoder.go")
	if err != nil {
		b.Fatal(err)
	}
	content, _ := json.Marshal(string(source))
	read := `{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"readToolCall":{"args":{"path":"/w/decoder.go"},"result":{"success":{"content":` +
		string(content) + `,"isEmpty":false,"totalLines":300,"path":"/w/decoder.go","readRange":{"startLine":1,"endLine":300}}}},"toolCallId":"c"},"session_id":"s","timestamp_ms":1790559981569}` + "\n"
	round = append(round, read...)
	var stream []byte
	for i := range 100 {
		// Each call has an id of its own: the end of one is told once.
		id := []byte(fmt.Sprintf(`"call_id":"%03d`, i))
		stream = append(stream, bytes.ReplaceAll(bytes.ReplaceAll(round, []byte(`"call_id": "`), []byte(`"call_id":"`)), []byte(`"call_id":"`), id)...)
	}
	return stream
}

// TestAllocations: a small event costs one allocation, its text. What the turn's text grows by is spread over many.
func TestAllocations(t *testing.T) {
	stream := bytes.Split(bytes.TrimSpace(deltaStream(2000)), []byte("\n"))
	emit := func(agentcli.Event) error { return nil }
	d := NewAutoDecoder()
	perRun := testing.AllocsPerRun(1, func() {
		for _, line := range stream {
			if err := d.Decode(line, 0, emit); err != nil {
				t.Fatal(err)
			}
		}
	})
	if each := perRun / float64(len(stream)); each > 1.05 {
		t.Errorf("%.2f allocations for a small event", each)
	}
}

// TestHostileCost: streams that are made to be costly cost what their length does.
func TestHostileCost(t *testing.T) {
	for name, stream := range map[string]string{
		"noise":   strings.Repeat("x\n", 300_000),
		"nesting": strings.Repeat(strings.Repeat("[", 9000)+"\n", 200),
		"objects": strings.Repeat("{} ", 300_000),
		"retries": strings.Repeat(`{"type":"assistant","message":"abc","timestamp_ms":1} {"type":"retry","is_resume":true} {"type":"assistant","message":"xyz","timestamp_ms":1} {"type":"assistant","message":"xyz"}`+"\n", 20_000),
		"members": `{"type":"tool_call","subtype":"completed","tool_call":{"xToolCall":{"result":{"success":{` + strings.Repeat(`"a":{},`, 300_000) + `"b":1}}}}}`,
		"deep":    `{"type":"tool_call","subtype":"completed","tool_call":{"lsToolCall":{"result":{"success":{"directoryTreeRoot":` + strings.Repeat(`{"childrenDirs":[`, 4000) + strings.Repeat("]}", 4000) + `}}}}}`,
	} {
		began := time.Now()
		decode(t, []byte(stream), true)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, stream := range map[string][]byte{"typical": typicalStream(b), "deltas": deltaStream(20000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			events := 0
			emit := func(agentcli.Event) error { events++; return nil }
			for b.Loop() {
				events = 0
				d := NewDecoder(true)
				lines := agentcli.NewLineReader(bytes.NewReader(stream), 64<<20)
				for {
					f, err := lines.ReadFrame(context.Background())
					if err != nil {
						break
					}
					_ = d.Decode(f.Data, f.End, emit)
				}
			}
			b.ReportMetric(float64(events), "events/op")
		})
	}
}

// BenchmarkUnmarshal is what encoding/json takes to read the same stream into a struct of the common members.
func BenchmarkUnmarshal(b *testing.B) {
	stream := typicalStream(b)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		for line := range bytes.Lines(stream) {
			var f struct {
				Type, Subtype, Text string
				SessionID           string `json:"session_id"`
				Message             struct{ Content []struct{ Type, Text string } }
				ToolCall            map[string]any `json:"tool_call"`
				TimestampMS         int64          `json:"timestamp_ms"`
			}
			_ = json.Unmarshal(line, &f)
		}
	}
}

func deltaStream(n int) []byte {
	line := `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":" report"}]},"session_id":"17e650d2-1c02-439a-bfc7-989b3de62988","timestamp_ms":1790994267360}` + "\n" +
		`{"type":"thinking","subtype":"delta","text":" output.","session_id":"17e650d2-1c02-439a-bfc7-989b3de62988","timestamp_ms":1790994267358}` + "\n"
	return bytes.Repeat([]byte(line), n)
}
