package acp_test

import (
	"bytes"
	"strings"
	"testing"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/acp"
)

// FuzzTranscript: a transcript of both sides may hold anything: it is read to its end, once, and the text is that of its events.
func FuzzTranscript(f *testing.F) {
	for _, lines := range []string{
		`{"jsonrpc":"2.0","id":"substrat:prompt:1","method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"edit","content":[{"type":"diff","path":"a","oldText":"1","newText":"2"}]}}}
{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"t"},"options":[{"optionId":"n","kind":"reject_once","name":"No"}]}}
{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"n"}}}
{"jsonrpc":"2.0","method":"cursor/update_todos","params":{"todos":[{"id":"1","content":"c","status":"pending"}],"merge":true}}
{"jsonrpc":"2.0","id":"substrat:prompt:1","result":{"stopReason":"end_turn"}}`,
		`{"jsonrpc":"2.0","id":"substrat:prompt:1","method":"session/prompt"}
{"id":1,"method":"cursor/create_plan","params":{"plan":"x","phases":[{"todos":[{}]}]}}
{"id":"substrat:prompt:1","error":{"code":429,"message":"no","data":{"details":"x"}}}`,
		"{}\n[]\nnull\nnoise\n{\"id\":null}\n\xff\xfe",
	} {
		f.Add([]byte(lines))
	}
	p := acp.New(acp.Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var text strings.Builder
		running, last := map[string]bool{}, int64(0)
		result, err := p.Converse(t.Context(), agentcli.NewReplay(bytes.NewReader(data)), agentcli.Request{Recorded: true}, func(e agentcli.Event) error {
			switch e.Type {
			case agentcli.EventText:
				text.WriteString(e.Text)
			case agentcli.EventToolStart:
				if running[e.Tool.ID] {
					t.Errorf("%q began twice", e.Tool.ID)
				}
				running[e.Tool.ID] = true
			case agentcli.EventToolEnd:
				if !running[e.Tool.ID] || e.Tool.Status == agentcli.ToolRunning {
					t.Errorf("%q ended as %s, and ran: %v", e.Tool.ID, e.Tool.Status, running[e.Tool.ID])
				}
			}
			if e.Offset < last {
				t.Errorf("the offset went back from %d to %d", last, e.Offset)
			}
			last = e.Offset
			return nil
		})
		if err != nil || result.Text != text.String() {
			t.Errorf("%v, %q, %q", err, result.Text, text.String())
		}
	})
}
