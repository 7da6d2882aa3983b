package tool

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat"
)

//go:embed *.md
var prose embed.FS

// Tool is one declaration: schema, description and effect come from it.
type Tool struct {
	Name string
	// Prose tells an agent what the tool does and when to use it.
	Prose  string
	Schema *jsonschema.Schema
	call   func(ctx context.Context, c *call, args json.RawMessage) (any, error)
}

// All are the tools, in the order in which agents read of them.
var All = []Tool{
	declare("send_message", sendMessage),
	declare("broadcast", broadcast),
	declare("check_inbox", checkInbox),
	declare("message_status", messageStatus),
	declare("spawn_agent", spawnAgent),
	declare("list_children", listChildren),
	declare("inspect_agent", inspectAgent),
	declare("complete", complete),
}

// declare makes a tool of a function with typed arguments. It panics on a mistake in the declaration, which every test
// and every start of the program would show.
func declare[In any](name string, f func(ctx context.Context, c *call, in In) (any, error)) Tool {
	text, err := prose.ReadFile(name + ".md")
	if err != nil {
		panic(err)
	}
	schema, err := jsonschema.ForType(reflect.TypeFor[In](), nil)
	if err != nil {
		panic(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return Tool{Name: name, Prose: string(text), Schema: schema, call: func(ctx context.Context, c *call, args json.RawMessage) (any, error) {
		in, err := parse[In](resolved, args)
		if err != nil {
			return nil, err
		}
		return f(ctx, c, in)
	}}
}

// parse checks arguments against the schema and reads them.
func parse[In any](schema *jsonschema.Resolved, args json.RawMessage) (in In, err error) {
	if len(bytes.TrimSpace(args)) == 0 || string(bytes.TrimSpace(args)) == "null" {
		args = json.RawMessage("{}")
	}
	var loose any
	if err = json.Unmarshal(args, &loose); err == nil {
		err = schema.Validate(loose)
	}
	if err == nil {
		err = json.Unmarshal(args, &in)
	}
	if err != nil {
		return in, substrat.Errorf(substrat.CodeInvalid, "the arguments do not fit: %v", err).WithHint("the tool's schema says what it takes")
	}
	return in, nil
}
