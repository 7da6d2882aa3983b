package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/cursor"
)

// decode measures the decoder of the CLI's streams, beside what encoding/json takes to read the same lines into a struct
// of the members that all frames share. Both get the best of some runs: neighbours on the machine only ever take time away.
func (b *bench) decode() error {
	stream := longTurn(b.n(400))
	best := func(run func() error) (float64, error) {
		least := time.Duration(1 << 62)
		for range 5 {
			began := time.Now()
			if err := run(); err != nil {
				return 0, err
			}
			least = min(least, time.Since(began))
		}
		return float64(len(stream)) / 1e6 / least.Seconds(), nil
	}
	floor, err := best(func() error { return unmarshalAll(stream) })
	if err != nil {
		return err
	}
	got, err := best(func() error { return decodeAll(stream) })
	if err != nil {
		return err
	}
	b.row("h decoding cursor's stream, MB/s, encoding/json", fmt.Sprintf("%.0f", floor), fmt.Sprintf("%.0f", got), got/floor, "≥ 300 MB/s", got >= 300)
	return nil
}

// longTurn is a stream in the proportions of recorded ones: mostly deltas by number, mostly tool results by size.
func longTurn(rounds int) []byte {
	var out bytes.Buffer
	const session = `"session_id":"17e650d2-1c02-439a-bfc7-989b3de62988","timestamp_ms":1790994267360}` + "\n"
	content, _ := json.Marshal(strings.Repeat("func add(a, b int) int {\n\treturn a + b // \"plus\"\n}\n\n", 60))
	for i := range rounds {
		for range 20 {
			out.WriteString(`{"type":"thinking","subtype":"delta","text":" to capture the exact",` + session)
		}
		segment := ""
		for range 20 {
			segment += " report"
			out.WriteString(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":" report"}]},` + session)
		}
		fmt.Fprintf(&out, `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%q}]},"model_call_id":"m-0",`, segment)
		out.WriteString(session)
		for call, result := range map[string]string{
			`"shellToolCall":{"args":{"command":"go test ./...","workingDirectory":"","timeout":30000,"simpleCommands":["go"],"isBackground":false}`: `{"success":{"command":"go test ./...","exitCode":0,"signal":"","stdout":"ok\tm\t0.1s\n","stderr":"","interleavedOutput":"ok\tm\t0.1s\n"}}`,
			`"readToolCall":{"args":{"path":"/w/add.go"}`: `{"success":{"content":` + string(content) + `,"isEmpty":false,"totalLines":240,"path":"/w/add.go","readRange":{"startLine":1,"endLine":240}}}`,
			`"editToolCall":{"args":{"path":"/w/add.go","streamContent":"x"}`: `{"success":{"path":"/w/add.go","linesAdded":1,"linesRemoved":1,"diffString":"--- a//w/add.go\n+++ b//w/add.go\n@@ -1 +1 @@\n-a\n+b\n","afterFullFileContent":` +
				string(content) + `,"message":"done"}}`,
		} {
			for _, end := range []string{"", `,"result":` + result} {
				subtype := map[bool]string{true: "started", false: "completed"}[end == ""]
				fmt.Fprintf(&out, `{"type":"tool_call","subtype":"%s","call_id":"call-%d-%.4s","tool_call":{%s%s},"hookAdditionalContexts":[]},`, subtype, i, call[1:], call, end)
				out.WriteString(session)
			}
		}
	}
	return out.Bytes()
}

func decodeAll(stream []byte) error {
	d := cursor.NewDecoder(true)
	lines := agentcli.NewLineReader(bytes.NewReader(stream), 64<<20)
	notices := 0
	emit := func(e agentcli.Event) error {
		if e.Type == agentcli.EventNotice {
			notices++
		}
		return nil
	}
	for {
		f, err := lines.ReadFrame(context.Background())
		if errors.Is(err, agentcli.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := d.Decode(f.Data, f.End, emit); err != nil {
			return err
		}
	}
	if notices > 0 {
		return fmt.Errorf("the stream that is measured is not understood: %d notices", notices)
	}
	return nil
}

func unmarshalAll(stream []byte) error {
	for line := range bytes.Lines(stream) {
		var f struct {
			Type, Subtype, Text string
			Message             struct{ Content []struct{ Type, Text string } }
			ToolCall            map[string]any `json:"tool_call"`
			TimestampMS         int64          `json:"timestamp_ms"`
		}
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
	}
	return nil
}
