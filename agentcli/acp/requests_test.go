package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/acp"
)

// TestToldByRequest: what only tells may come as a request: it is told like a notification and answered, so that the agent goes on.
func TestToldByRequest(t *testing.T) {
	for name, c := range map[string]struct{ request, answer, event string }{
		"todos": {
			`cursor/update_todos {"toolCallId":"c","todos":[{"id":"1","content":"a","status":"pending"}],"merge":false}`,
			`{"outcome":{"outcome":"accepted","todos":[{"id":"1","content":"a","status":"pending"}]}}`, "todos [{1 a pending}]",
		},
		"no todos": {`cursor/update_todos {"toolCallId":"c","todos":[]}`, `{"outcome":{"outcome":"accepted","todos":[]}}`, "todos"},
		"a task": {
			`cursor/task {"toolCallId":"k","description":"look around","prompt":"p"}`,
			`{"outcome":{"outcome":"completed"}}`, "tool.completed Task completed look around",
		},
		"an image": {
			`cursor/generate_image {"toolCallId":"g","description":"a cat","filePath":"/w/cat.png"}`,
			`{"outcome":{"outcome":"generated","filePath":"/w/cat.png"}}`, "tool.completed Image completed /w/cat.png",
		},
		"a form": {
			`elicitation/create {"sessionId":"s1","mode":"form","message":"Which colour?","requestedSchema":{}}`,
			`{"action":"decline"}`, "Which colour?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := fake(t, "plain", nil)
			got, r := told(t, open(t, p, o), t.Context(), "ask "+c.request)
			if r.Outcome != substrat.Completed || r.Text != c.answer || !strings.Contains(got, c.event) {
				t.Errorf("%+v\n%s", r, got)
			}
		})
	}
}

// TestReadOnlyModes: in a mode that changes nothing, writing and commands are refused also to an agent that tries them unasked.
func TestReadOnlyModes(t *testing.T) {
	for _, mode := range []agentcli.Mode{agentcli.ModePlan, agentcli.ModeAsk} {
		p, o := fake(t, "plain", func(o *acp.Options) { o.FS, o.Terminals = true, true })
		o.Mode = mode
		path := filepath.Join(o.Dir, "a.txt")
		for _, request := range []string{
			`fs/write_text_file {"path":"` + path + `","content":"x"}`,
			`terminal/create {"sessionId":"s1","command":"touch","args":["` + path + `"]}`,
		} {
			_, r := told(t, open(t, p, o), t.Context(), "ask "+request)
			if _, err := os.Stat(path); err == nil || !strings.Contains(r.Text, "-32601") {
				t.Errorf("%s: %s: %s", mode, request, r.Text)
			}
		}
	}
}
