// Package toolrouter does what agents ask of their host by name: only tools that are registered, with arguments that fit
// their schema, within a time and a size. It comes with tools to run commands, fetch pages and search the web.
//
// It decides before it does, and gives each decision a reason that programs can read. It knows no CLI and no team.
package toolrouter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
)

// Tool is one thing that agents can ask for.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON schema of its arguments, draft 7 or 2020-12; empty takes any object.
	Schema json.RawMessage
	// Timeout bounds one call, by default a minute. OutputMost bounds its answer, by default 256 KiB.
	Timeout    time.Duration
	OutputMost int
	// Run does a call with arguments that fit the schema, and ends when ctx does. What it returns is encoded as JSON. An
	// error is the answer to the agent; a *substrat.Error keeps its code.
	Run func(ctx context.Context, args json.RawMessage) (any, error)
}

// Reason says what became of a call.
type Reason string

// The reasons.
const (
	Allowed       Reason = "ALLOWED"
	ToolUnknown   Reason = "TOOL_UNKNOWN"
	SchemaInvalid Reason = "TOOL_SCHEMA_INVALID"
	PolicyBlocked Reason = "TOOL_POLICY_BLOCKED"
)

// Decision is what was decided about a call before anything was done.
type Decision struct {
	Tool   string `json:"tool"`
	CallID string `json:"call_id"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Options are for New.
type Options struct {
	// Policy may refuse a call whose arguments are valid, by an error that says why. Nil refuses none.
	Policy func(ctx context.Context, tool string, args json.RawMessage) error
	// Decided is told of each decision, by the goroutine of the call. Details have no secrets.
	Decided func(Decision)
	// Redact takes secrets out of answers; nil leaves them as they are.
	Redact *redact.Redactor
}

// Router holds the tools. It is safe for concurrent use; what is called at the same time runs at the same time.
type Router struct {
	o     Options
	tools map[string]*entry
	specs []agentcli.ToolSpec
}

type entry struct {
	Tool
	schema *jsonschema.Resolved
}

// Defaults of a Tool.
const (
	defaultTimeout = time.Minute
	defaultOutput  = 256 << 10
	argsMost       = 1 << 20
)

// New makes a router. A tool without a name or function, a name that is taken and a schema that is none are errors.
func New(o Options, tools ...Tool) (*Router, error) {
	r := &Router{o: o, tools: map[string]*entry{}}
	for _, t := range tools {
		if t.Name == "" || len(t.Name) > 100 || t.Run == nil {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot register the tool %q: it needs a name and a function", t.Name)
		}
		if r.tools[t.Name] != nil {
			return nil, substrat.Errorf(substrat.CodeNameTaken, "cannot register the tool %q: there is one of this name", t.Name)
		}
		if t.Timeout <= 0 {
			t.Timeout = defaultTimeout
		}
		if t.OutputMost <= 0 {
			t.OutputMost = defaultOutput
		}
		if len(t.Schema) == 0 {
			t.Schema = json.RawMessage(`{"type":"object"}`)
		}
		var schema jsonschema.Schema
		err := json.Unmarshal(t.Schema, &schema)
		var resolved *jsonschema.Resolved
		if err == nil {
			resolved, err = schema.Resolve(nil)
		}
		if err != nil {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot register the tool %q: its schema: %v", t.Name, err)
		}
		r.tools[t.Name] = &entry{t, resolved}
		r.specs = append(r.specs, agentcli.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return r, nil
}

// Specs implements agentcli.ToolSet.
func (r *Router) Specs() []agentcli.ToolSpec { return slices.Clone(r.specs) }

// Call implements agentcli.ToolSet.
func (r *Router) Call(ctx context.Context, c agentcli.Call) (agentcli.Call, error) {
	t, refusal := r.decide(ctx, c)
	if refusal != nil {
		c.Error = refusal
		return c, nil
	}
	limited, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	out, err := run(limited, t, c.Args)
	switch {
	case ctx.Err() != nil:
		return c, ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded) && err != nil:
		c.Error = substrat.Errorf(substrat.CodeTimeout, "%s took longer than %v and was ended", t.Name, t.Timeout)
	case err != nil:
		var known *substrat.Error
		if !errors.As(err, &known) {
			known = substrat.Errorf(substrat.CodeConflict, "%s failed: %v", t.Name, err)
		}
		clipped := *known
		clipped.Message = r.clean(clip(known.Message, t.OutputMost))
		c.Error = &clipped
	default:
		c.Result, err = r.encode(out, t.OutputMost)
		if err != nil {
			c.Error = substrat.Errorf(substrat.CodeInternal, "%s gave an answer that cannot be told: %v", t.Name, err)
		}
	}
	return c, nil
}

// decide checks a call. Nothing has been done when it refuses.
func (r *Router) decide(ctx context.Context, c agentcli.Call) (*entry, *substrat.Error) {
	t := r.tools[c.Tool]
	if t == nil {
		return nil, r.refuse(c, ToolUnknown, substrat.Errorf(substrat.CodeNotFound, "there is no tool %q", clip(c.Tool, 100)).
			WithHint("the tools are: %s", r.names()))
	}
	if err := t.check(c.Args); err != nil {
		return nil, r.refuse(c, SchemaInvalid, substrat.Errorf(substrat.CodeInvalid, "the arguments of %s do not fit its schema: %v", t.Name, err))
	}
	if r.o.Policy != nil {
		if err := r.o.Policy(ctx, t.Name, c.Args); err != nil {
			var known *substrat.Error
			if !errors.As(err, &known) {
				known = substrat.Errorf(substrat.CodeForbidden, "%s is not allowed: %v", t.Name, err)
			}
			return nil, r.refuse(c, PolicyBlocked, known)
		}
	}
	r.tell(Decision{Tool: c.Tool, CallID: c.ID, Reason: Allowed})
	return t, nil
}

// Check tells whether a call would be made, without making it.
func (r *Router) Check(ctx context.Context, tool string, args json.RawMessage) error {
	if _, err := r.decide(ctx, agentcli.Call{Tool: tool, Args: args}); err != nil {
		return err
	}
	return nil
}

func (t *entry) check(args json.RawMessage) error {
	if len(args) > argsMost {
		return fmt.Errorf("they have %d bytes, more than %d", len(args), argsMost)
	}
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	var v map[string]any
	if err := json.Unmarshal(args, &v); err != nil || v == nil {
		return errors.New("they are no JSON object")
	}
	return t.schema.Validate(v)
}

// run keeps a fault of a tool from ending the program.
func run(ctx context.Context, t *entry, args json.RawMessage) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = substrat.Errorf(substrat.CodeInternal, "%s failed by a fault of its own: %v", t.Name, p)
		}
	}()
	return t.Run(ctx, args)
}

func (r *Router) refuse(c agentcli.Call, why Reason, err *substrat.Error) *substrat.Error {
	r.tell(Decision{Tool: clip(c.Tool, 100), CallID: c.ID, Reason: why, Detail: redact.String(clip(err.Error(), 1000))})
	return err
}

func (r *Router) tell(d Decision) {
	if r.o.Decided != nil {
		r.o.Decided(d)
	}
}

// encode makes an answer of at most so many bytes, or a little more: what is longer is cut, and says so.
func (r *Router) encode(out any, most int) (json.RawMessage, error) {
	if s, ok := out.(string); ok {
		return marshal(r.clean(clip(s, most)))
	}
	data, err := marshal(out)
	if err == nil && len(data) > most {
		return marshal(r.clean(clip(string(data), most)))
	}
	if clean := r.clean(string(data)); err == nil && clean != string(data) && json.Valid([]byte(clean)) {
		data = []byte(clean)
	}
	return data, err
}

// marshal encodes text as it is: an answer is read by models, not browsers.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func (r *Router) clean(s string) string {
	if r.o.Redact == nil {
		return s
	}
	return r.o.Redact.String(s)
}

func (r *Router) names() string {
	names := make([]string, len(r.specs))
	for i, s := range r.specs {
		names[i] = s.Name
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// clip bounds text and says that it did.
func clip(s string, most int) string {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… [%d bytes more]", len(s)-most)
}
