package model_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"substrat.dev/substrat/internal/model"
)

const prompt = `do it <<SCRIPT [{"shell":"echo hi"},{"mcp":"list_children"},{"text":"a text that is longer than one piece of it"}] SCRIPT>>`

// ask gives what the model answers: a whole answer, or the data of its events.
func ask(t *testing.T, s *httptest.Server, path string, body any) (int, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL+path, "application/json", strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, "broken: " + err.Error()
	}
	return res.StatusCode, string(out)
}

type m = map[string]any

// dialect is how a conversation is asked about in one API, after so many calls were answered.
type dialect struct {
	path  string
	build func(results int, stream bool) m
	// joined puts the streamed text together.
	text string
}

var shellSchema = m{"type": "object", "properties": m{"command": m{"type": "string"}, "sure": m{"type": "boolean"}}, "required": []string{"command", "sure"}}

var dialects = map[string]dialect{
	"anthropic": {"/v1/messages", func(n int, stream bool) m {
		messages := []m{{"role": "user", "content": []m{{"type": "text", "text": prompt}}}}
		for range n {
			messages = append(messages, m{"role": "assistant", "content": []m{{"type": "tool_use", "id": "x", "name": "Bash", "input": m{}}}},
				m{"role": "user", "content": []m{{"type": "tool_result", "tool_use_id": "x", "content": "hi"}}})
		}
		return m{"model": "x", "stream": stream, "messages": messages, "tools": []m{{"name": "Bash", "input_schema": shellSchema}, {"name": "mcp__substrat__list_children", "input_schema": m{}}}}
	}, `"text":"`},
	"chat": {"/v1/chat/completions", func(n int, stream bool) m {
		messages := []m{{"role": "user", "content": prompt}}
		for range n {
			messages = append(messages, m{"role": "assistant", "tool_calls": []m{{"function": m{"name": "Bash"}}}}, m{"role": "tool", "content": "hi"})
		}
		return m{"model": "x", "stream": stream, "messages": messages, "tools": []m{{"function": m{"name": "Bash", "parameters": shellSchema}}, {"function": m{"name": "substrat_list_children"}}}}
	}, `"content":"`},
	"responses": {"/v1/responses", func(n int, stream bool) m {
		input := []m{{"type": "message", "role": "user", "content": []m{{"type": "input_text", "text": prompt}}}}
		for range n {
			input = append(input, m{"type": "function_call", "name": "shell", "arguments": "{}"}, m{"type": "function_call_output", "output": "hi"})
		}
		return m{"model": "x", "stream": stream, "input": input, "tools": []m{{"type": "function", "name": "shell", "parameters": shellSchema},
			{"type": "namespace", "name": "mcp__substrat", "tools": []m{{"type": "function", "name": "list_children"}}}}}
	}, `"delta":"`},
	"gemini": {"/v1beta/models/gemini-x:", func(n int, _ bool) m {
		contents := []m{{"role": "user", "parts": []m{{"text": prompt}}}}
		for range n {
			contents = append(contents, m{"role": "model", "parts": []m{{"functionCall": m{"name": "run_shell_command"}}}}, m{"role": "user", "parts": []m{{"functionResponse": m{}}}})
		}
		return m{"contents": contents, "tools": []m{{"functionDeclarations": []m{{"name": "run_shell_command", "parametersJsonSchema": shellSchema}, {"name": "list_children"}}}}}
	}, `"text":"`},
}

// TestScript: each API gets the script step by step.
func TestScript(t *testing.T) {
	s := httptest.NewServer(model.Handler(nil))
	defer s.Close()
	for name, d := range dialects {
		for _, stream := range []bool{false, true} {
			path := d.path
			if name == "gemini" {
				path += map[bool]string{false: "generateContent", true: "streamGenerateContent?alt=sse"}[stream]
			}
			for step, want := range []string{"echo hi", "list_children", "longer than one piece"} {
				status, got := ask(t, s, path, d.build(step, stream))
				if stream {
					got = joined(got, d.text)
				}
				if status != http.StatusOK || !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) {
					t.Errorf("%s, stream %v, step %d: %d %s", name, stream, step, status, got)
				}
				if step == 0 && !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), `"sure":false`) {
					t.Errorf("%s: what the tool requires is missing: %s", name, got)
				}
			}
		}
	}
}

// joined leaves out what stands between the pieces of a streamed text.
func joined(stream, mark string) string {
	var text strings.Builder
	for _, part := range strings.Split(stream, mark)[1:] {
		piece, _, _ := strings.Cut(part, `"`)
		text.WriteString(piece)
	}
	return stream + "\n" + text.String()
}

func TestOddRequests(t *testing.T) {
	s := httptest.NewServer(model.Handler(nil))
	defer s.Close()
	say := func(script string, tools ...m) m {
		return m{"model": "x", "stream": true, "messages": []m{{"role": "user", "content": "<<SCRIPT " + script + " SCRIPT>>"}}, "tools": tools}
	}
	bash := m{"name": "Bash", "input_schema": shellSchema}
	for name, c := range map[string]struct {
		path   string
		body   any
		status int
		want   string
	}{
		"failure":         {"/v1/messages", say(`[{"status":529}]`, bash), 529, "scripted failure"},
		"cut":             {"/v1/messages", say(`[{"text":"never whole","cut":true}]`, bash), 200, "broken"},
		"a title":         {"/v1/messages", say(`[{"shell":"x"}]`), 200, "A scripted conve"},
		"no script":       {"/v1/messages", m{"messages": []m{{"role": "user", "content": "hello"}}}, 200, "no script"},
		"no tool":         {"/v1/messages", say(`[{"mcp":"nothing"}]`, bash), 200, "No tool is offered"},
		"deferred tools":  {"/v1/messages", say(`[{"mcp":"list_children"}]`, bash, m{"name": "ToolSearch", "input_schema": m{"properties": m{"query": m{"type": "string"}}}}), 200, "select:mcp__substrat__list_children"},
		"count":           {"/v1/messages/count_tokens", m{}, 200, "10"},
		"models":          {"/v1/models", m{}, 200, "scripted-1"},
		"something else":  {"/telemetry", m{}, 200, "{}"},
		"not JSON at all": {"/v1/messages", "hello", 200, "no script"},
	} {
		if status, got := ask(t, s, c.path, c.body); status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	_, got := ask(t, s, "/v1beta/models/x:generateContent", m{"contents": []m{}, "generationConfig": m{"responseMimeType": "application/json"}})
	if !strings.Contains(got, "next_speaker") {
		t.Errorf("a question of the program's own: %s", got)
	}
}
