package cursor

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"substrat.dev/substrat/agentcli"
)

// envelope is what stands around a tool call's variant.
type envelope struct {
	native             string
	args, result, desc jsontext.Value
	id                 string
}

// toolCall emits the start or the end of a tool call. A tool call is a boundary between segments of text.
func (d *Decoder) toolCall(f *frame) error {
	if err := d.endSegment(f); err != nil {
		return err
	}
	env := openEnvelope(f.toolCall)
	if id := str(f.callID); id != "" {
		env.id = id
	}
	call := describe(env)
	e := agentcli.Event{Type: agentcli.EventToolStart, Tool: call, TimeMS: integer(f.timestamp), Raw: f.raw}
	switch {
	case f.subtype == "completed":
		e.Type = agentcli.EventToolEnd
		settle(call, env)
		d.result.ToolCalls++
		d.touched(call)
	case f.subtype != "started":
		// What a new subtype means is not known; it is not a completion.
		return d.unknown(f)
	}
	if err := d.send(e); err != nil {
		return err
	}
	if e.Type == agentcli.EventToolEnd && call.Name == "Todo" && call.Status == agentcli.ToolOK {
		return d.todos(env, f)
	}
	return nil
}

// touchedMost bounds how many files of a turn are kept by name.
const touchedMost = 200

// touched notes the files a successful call changed.
func (d *Decoder) touched(c *agentcli.ToolCall) {
	if c.Status != agentcli.ToolOK || c.Kind != "edit" && c.Kind != "delete" {
		return
	}
	for _, p := range c.Paths {
		if len(d.files) < touchedMost {
			d.files[p] = struct{}{}
		}
	}
}

// openEnvelope finds the variant: the member whose name ends in ToolCall, wherever it stands among the others. The
// documented form {"function":{"name","arguments"}} is taken too.
func openEnvelope(v jsontext.Value) envelope {
	var env envelope
	members(v, func(name string, value jsontext.Value) bool {
		switch native, ok := strings.CutSuffix(name, "ToolCall"); {
		case ok && native != "" && env.native == "":
			env.native = native
			f := fieldsOf(value)
			env.args, env.result, env.desc = f["args"], f["result"], f["description"]
		case name == "toolCallId":
			env.id = str(value)
		case name == "function" && env.native == "":
			f := fieldsOf(value)
			env.native, env.args = f.str("name"), jsontext.Value(f.str("arguments"))
		}
		return true
	})
	return env
}

// describe says what a call is, from its arguments.
func describe(env envelope) *agentcli.ToolCall {
	n, ok := names[env.native]
	if !ok {
		n = naming{name: env.native, kind: "other"}
	}
	a := fieldsOf(env.args)
	c := &agentcli.ToolCall{ID: env.id, Name: n.name, Native: env.native, Kind: n.kind, Status: agentcli.ToolRunning}
	if env.args.IsValid(relaxed...) {
		c.Input = json.RawMessage(env.args)
	}
	if c.ID == "" {
		c.ID = a.str("toolCallId")
	}
	c.Title = a.str("command", "path", "filePath", "globPattern", "pattern", "url", "searchTerm", "query", "description", "title", "name")
	switch env.native {
	case "mcp":
		c.Server = a.str("providerIdentifier", "serverIdentifier")
		c.Title = a.str("toolName", "name")
	case "getMcpTools":
		c.Server = a.str("server")
		c.Title = a.str("toolName", "server")
	case "shell":
		if c.Title == "" {
			c.Title = str(env.desc)
		}
	case "updateTodos", "readTodos":
		c.Title = "todo list"
	}
	for _, p := range []string{a.str("path", "filePath", "targetDirectory")} {
		if p != "" {
			c.Paths = append(c.Paths, p)
		}
	}
	return c
}

// statuses are the members of a result that say how the call went. Success is not a field: the member's name is it.
var statuses = map[string]agentcli.ToolStatus{
	"success": agentcli.ToolOK, "failure": agentcli.ToolFailed, "error": agentcli.ToolFailed, "rejected": agentcli.ToolRejected,
	"permissionDenied": agentcli.ToolRejected, "readPermissionDenied": agentcli.ToolRejected, "writePermissionDenied": agentcli.ToolRejected,
	"timeout": agentcli.ToolTimeout,
}

// settle says how a call ended, from its result.
func settle(c *agentcli.ToolCall, env envelope) {
	c.Status, c.Error = agentcli.ToolFailed, "the result names no outcome"
	members(env.result, func(name string, value jsontext.Value) bool {
		if len(value) == 0 || value[0] != '{' {
			return true // isBackground and the like stand beside the outcome
		}
		status, known := statuses[name]
		if !known {
			status = agentcli.ToolFailed
		}
		c.Status, c.Error = status, ""
		outcome(c, name, fieldsOf(value))
		return false
	})
}

// outcome fills in what a result says, in the shapes of all variants.
func outcome(c *agentcli.ToolCall, name string, r fields) {
	if c.Title == "" {
		c.Title = r.str("command", "path", "url")
	}
	if p := r.str("path", "filePath"); p != "" && !slices.Contains(c.Paths, p) {
		c.Paths = append(c.Paths, p)
	}
	c.Diff = r.str("diffString")
	c.Output = output(r)
	if v, ok := r["exitCode"]; ok {
		code := int(integer(v))
		c.ExitCode = &code
		if code != 0 && c.Status == agentcli.ToolOK {
			c.Status = agentcli.ToolFailed
		}
	}
	if boolean(r["isError"]) && c.Status == agentcli.ToolOK {
		c.Status, c.Error = agentcli.ToolFailed, c.Output
	}
	if c.Status != agentcli.ToolOK && c.Error == "" {
		c.Error = r.str("errorMessage", "error", "reason", "message")
		switch {
		case c.Error != "":
		case c.ExitCode != nil:
			c.Error = "exit code " + itoa(int64(*c.ExitCode))
		default:
			c.Error = name
		}
	}
}

// output is what a call gave back, as text for people.
func output(r fields) string {
	if s := r.str("interleavedOutput"); s != "" {
		return s
	}
	if s := str(r["stdout"]) + str(r["stderr"]); s != "" {
		return s
	}
	if v, ok := r["content"]; ok {
		return contentText(v)
	}
	if s := r.str("markdown", "resultForModel", "message", "prevContent", "results"); s != "" {
		return s
	}
	var lines []string
	elements(r["files"], func(v jsontext.Value) { lines = append(lines, str(v)) })
	elements(r["references"], func(v jsontext.Value) { lines = append(lines, fieldsOf(v).str("chunk", "title", "url")) })
	elements(r["conversationSteps"], func(v jsontext.Value) {
		lines = append(lines, fieldsOf(fieldsOf(v)["assistantMessage"]).str("text"))
	})
	members(r["workspaceResults"], func(_ string, v jsontext.Value) bool {
		lines = append(lines, grepLines(v)...)
		return true
	})
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// grepLines writes the matches of one workspace the way grep does.
func grepLines(v jsontext.Value) []string {
	var out []string
	elements(fieldsOf(fieldsOf(v)["content"])["matches"], func(file jsontext.Value) {
		f := fieldsOf(file)
		elements(f["matches"], func(m jsontext.Value) {
			line := fieldsOf(m)
			out = append(out, f.str("file")+":"+itoa(integer(line["lineNumber"]))+":"+line.str("content"))
		})
	})
	elements(fieldsOf(fieldsOf(v)["files"])["files"], func(file jsontext.Value) { out = append(out, str(file)) })
	return out
}

// todos emits the list as it stands after a call: results carry the merged list, arguments only what was asked for.
func (d *Decoder) todos(env envelope, f *frame) error {
	list := fieldsOf(fieldsOf(env.result)["success"])["todos"]
	if list == nil {
		list = fieldsOf(env.args)["todos"]
	}
	var todos []agentcli.Todo
	elements(list, func(v jsontext.Value) {
		t := fieldsOf(v)
		todos = append(todos, agentcli.Todo{
			ID: t.str("id"), Content: t.str("content"),
			Status: strings.ToLower(strings.TrimPrefix(t.str("status"), "TODO_STATUS_")),
		})
	})
	return d.send(agentcli.Event{Type: agentcli.EventTodos, Todos: todos, TimeMS: integer(f.timestamp), Raw: f.raw})
}

// query handles what the CLI asks and, in print mode, answers itself in the same moment.
func (d *Decoder) query(f *frame) error {
	if err := d.endSegment(f); err != nil {
		return err
	}
	kind := str(f.queryType)
	inner := fieldsOf(fieldsOf(f.query)[kind])
	e := agentcli.Event{Type: agentcli.EventNotice, Text: kind + " " + f.subtype, TimeMS: integer(f.timestamp), Raw: f.raw}
	if f.subtype != "request" {
		return d.send(e)
	}
	switch kind {
	case "askQuestionInteractionQuery":
		e.Type, e.Text, e.Ask = agentcli.EventQuestion, "", question(inner)
	case "createPlanRequestQuery":
		e.Type, e.Text = agentcli.EventPlan, fieldsOf(inner["args"]).str("plan", "overview", "name")
	default:
		e.Type = agentcli.EventPermission
	}
	return d.send(e)
}

func question(v fields) *agentcli.Question {
	args := fieldsOf(v["args"])
	q := &agentcli.Question{ID: v.str("toolCallId"), Kind: agentcli.AskQuestion, Title: args.str("title")}
	elements(args["questions"], func(p jsontext.Value) {
		f := fieldsOf(p)
		prompt := agentcli.QuestionPrompt{ID: f.str("id"), Prompt: f.str("prompt"), Multiple: boolean(f["allowMultiple"])}
		elements(f["options"], func(o jsontext.Value) {
			option := fieldsOf(o)
			prompt.Options = append(prompt.Options, agentcli.Option{ID: option.str("id"), Label: option.str("label", "id")})
		})
		q.Prompts = append(q.Prompts, prompt)
	})
	return q
}
