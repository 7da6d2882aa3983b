package agentcli_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

var update = flag.Bool("update", false, "write the published schemas")

// schemas are published beside the documentation: the line of an event, and the last line of a run.
var schemas = map[string]func(*jsonschema.ForOptions) (*jsonschema.Schema, error){
	"../docs/schema/event.json":  jsonschema.For[agentcli.Event],
	"../docs/schema/result.json": jsonschema.For[agentcli.ResultLine],
}

func schemaOptions() *jsonschema.ForOptions {
	words := func(list ...string) *jsonschema.Schema {
		enum := make([]any, len(list))
		for i, w := range list {
			enum[i] = w
		}
		return &jsonschema.Schema{Type: "string", Enum: enum}
	}
	return &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[agentcli.EventType](): words("session", "text", "text.end", "thinking", "thinking.end", "tool.started", "tool.updated", "tool.completed",
			"todos", "plan", "question", "permission", "answer", "usage", "retry", "notice", "user", "result"),
		reflect.TypeFor[agentcli.ToolStatus]():    words("running", "completed", "failed", "rejected", "timeout"),
		reflect.TypeFor[agentcli.AskKind]():       words("question", "permission", "plan"),
		reflect.TypeFor[agentcli.AnswerOutcome](): words("answered", "skipped", "cancelled"),
		reflect.TypeFor[substrat.Outcome]():       words("completed", "failed", "cancelled", "timed_out", "interrupted", ""),
	}}
}

// TestSchemas: what is published is what the types are.
func TestSchemas(t *testing.T) {
	for path, make := range schemas {
		s, err := make(schemaOptions())
		if err != nil {
			t.Fatal(err)
		}
		s.Schema = "https://json-schema.org/draft/2020-12/schema"
		// A program that reads events has to pass over what it does not know: members will be added.
		openUp(s)
		data, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, '\n')
		if *update {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if was, err := os.ReadFile(path); err != nil || string(was) != string(data) {
			t.Errorf("%s is not up to date: go test ./agentcli -run TestSchemas -update (%v)", path, err)
		}
	}
}

// openUp allows further members everywhere.
func openUp(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = nil
	for _, p := range s.Properties {
		openUp(p)
	}
	openUp(s.Items)
}

// TestLinesFitTheirSchemas: what the simulator makes is as published.
func TestLinesFitTheirSchemas(t *testing.T) {
	read := func(path string) *jsonschema.Resolved {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	event, result := read("../docs/schema/event.json"), read("../docs/schema/result.json")
	lines := 0
	for e, err := range agentcli.Run(t.Context(), shell{script: `echo "{one"; echo "{done all"`}, options(t)) {
		if err != nil {
			t.Fatal(err)
		}
		line, err := agentcli.Line(e, true)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		schema := event
		if e.Type == agentcli.EventResult {
			schema = result
			if !strings.Contains(string(line), `"outcome":"completed"`) || !strings.Contains(string(line), `"text":"all"`) {
				t.Errorf("%s", line)
			}
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		lines++
	}
	if lines != 3 {
		t.Errorf("%d lines", lines)
	}
}
