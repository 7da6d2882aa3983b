package tool

import (
	"context"
	"embed"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed *.md
var prose embed.FS

// Tool is one declaration: schema, description and effect come from it.
type Tool struct {
	Name string
	// ReadOnly says that a call changes nothing, so that a client need not ask anybody before it.
	ReadOnly bool
	compiled func() *compiled
}

// compiled is what is worked out of a declaration when it is first used. The relay is a process of the same program and
// must not pay for it.
type compiled struct {
	prose  string
	notes  string
	schema *jsonschema.Schema
	call   func(ctx context.Context, c *call, args json.RawMessage) (any, error)
}

// All are the tools, in the order in which agents read of them.
var All = []Tool{
	declare("send_message", sendMessage),
	declare("broadcast", broadcast),
	declare("check_inbox", checkInbox),
	reading(declare("message_status", messageStatus)),
	declare("spawn_agent", spawnAgent),
	reading(declare("list_children", listChildren)),
	reading(declare("inspect_agent", inspectAgent)),
	declare("complete", complete),
	declare("terminate_agent", terminateAgent),
	declare("poke", poke),
	declare("gate", gate),
	declare("ungate", ungate),
	declare("permit_turn", permitTurn),
	declare("subscribe", subscribe),
	declare("unsubscribe", unsubscribe),
	declare("remind_me", remindMe),
	declare("cancel_reminder", cancelReminder),
	declare("set_agent_metadata", setAgentMetadata),
	declare("ask_user", askUser),
	reading(declare("list_workspaces", listWorkspaces)),
	declare("create_workspace", createWorkspace),
	declare("delete_workspace", deleteWorkspace),
	declare("link_dir", linkDir),
	declare("link_from", linkFrom),
	declare("unlink_dir", unlinkDir),
}

// Prose tells an agent what the tool does and when to use it.
func (t *Tool) Prose() string { return t.compiled().prose }

// Notes tell people what it answers and what it refuses. They are not sent to agents.
func (t *Tool) Notes() string { return t.compiled().notes }

// Schema is the JSON schema of the arguments: an object that takes nothing it does not name.
func (t *Tool) Schema() *jsonschema.Schema { return t.compiled().schema }

// shaped are arguments that say more about their schema than Go's types can.
type shaped interface{ shape(*jsonschema.Schema) }

// declare makes a tool of a function with typed arguments. A mistake in the declaration panics at its first use, which
// every test of the package makes.
func declare[In any](name string, f func(ctx context.Context, c *call, in In) (any, error)) Tool {
	return Tool{Name: name, compiled: sync.OnceValue(func() *compiled {
		page, err := prose.ReadFile(name + ".md")
		if err != nil {
			panic(err)
		}
		schema, err := jsonschema.ForType(reflect.TypeFor[In](), nil)
		if err != nil {
			panic(err)
		}
		if x, ok := any(*new(In)).(shaped); ok {
			x.shape(schema)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			panic(err)
		}
		text, notes, _ := strings.Cut(string(page), "\n---\n")
		return &compiled{strings.TrimSpace(text), strings.TrimSpace(notes), schema, func(ctx context.Context, c *call, args json.RawMessage) (any, error) {
			in, err := parse[In](resolved, args)
			if err != nil {
				return nil, err
			}
			return f(ctx, c, in)
		}}
	})}
}

func reading(t Tool) Tool {
	t.ReadOnly = true
	return t
}

// destroys are the tools after which something is gone.
var destroys = map[string]bool{"terminate_agent": true, "delete_workspace": true}

// listed is a tool as clients see it. All of it stays within the team, but for questions to its user.
func (t *Tool) listed() *mcp.Tool {
	no, destroys := false, destroys[t.Name]
	return &mcp.Tool{Name: t.Name, Description: t.Prose(), InputSchema: t.Schema(),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, DestructiveHint: &destroys, OpenWorldHint: &no}}
}

// Names lists the tools in words.
func Names() string {
	var out []string
	for i := range All {
		out = append(out, All[i].Name)
	}
	return strings.Join(out, ", ")
}
