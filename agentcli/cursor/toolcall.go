package cursor

import (
	"bytes"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// envelope is what stands around a tool call's variant.
type envelope struct {
	native             string
	args, result, desc value
	id                 value
	// outcome is the member of the result that says how the call went, with what is in it.
	outcome, body value
	said          fields
	space         *room
}

// begun is what is kept of a call after its start: a completion that was rejected comes without its arguments.
type begun struct {
	title, server string
	paths         []string
	ended         bool
}

// begunMost bounds how many calls are remembered; past it all are forgotten, and completions say what they say themselves.
const begunMost = 1024

// toolCall emits the start or the end of a tool call. A tool call is a boundary between segments of text.
func (d *Decoder) toolCall(f *frame) error {
	if err := d.endSegment(f); err != nil {
		return err
	}
	if f.subtype != "started" && f.subtype != "completed" {
		// What a new subtype means is not known; it is not a completion.
		return d.unknown(f)
	}
	env := envelope{space: &d.space}
	env.read(f.toolCall)
	if len(f.callID) > 2 {
		env.id = f.callID
	}
	a := argsOf(env.args)
	call := describe(&env, &a)
	if f.subtype == "started" {
		return d.toolStart(&env, &a, call, f)
	}
	return d.toolEnd(&env, &a, call, f)
}

// toolStart emits the start of a call; one that is told again, perhaps with more, is an update.
func (d *Decoder) toolStart(env *envelope, a *args, c *call, f *frame) error {
	e := agentcli.Event{Type: agentcli.EventToolStart, Tool: &c.ToolCall, TimeMS: integer(f.timestamp), Raw: f.raw}
	if _, again := d.calls[c.ID]; again {
		e.Type = agentcli.EventToolUpdate
	}
	d.remember(c, false)
	if err := d.send(e); err != nil || env.native != "createPlan" {
		return err
	}
	return d.plan(env.args, a, f)
}

// toolEnd emits the end of a call, once, and the list that it left behind.
func (d *Decoder) toolEnd(env *envelope, a *args, c *call, f *frame) error {
	before, known := d.calls[c.ID]
	if before.ended {
		return d.send(agentcli.Event{Type: agentcli.EventNotice, Text: "the end of a tool call was told again", TimeMS: integer(f.timestamp), Raw: f.raw})
	}
	if known {
		c.recall(before)
	}
	c.settle(env)
	d.remember(c, true)
	d.result.ToolCalls++
	d.touched(&c.ToolCall)
	if err := d.send(agentcli.Event{Type: agentcli.EventToolEnd, Tool: &c.ToolCall, TimeMS: integer(f.timestamp), Raw: f.raw}); err != nil {
		return err
	}
	switch {
	case c.Name == "Todo" && c.Status == agentcli.ToolOK:
		return d.todos(env, a, f)
	case env.native == "createPlan":
		return d.plan(env.args, a, f)
	}
	return nil
}

// remember keeps what a completion may leave out.
func (d *Decoder) remember(c *call, ended bool) {
	if c.ID == "" {
		return
	}
	if d.calls == nil || len(d.calls) >= begunMost {
		d.calls = map[string]begun{}
	}
	d.calls[c.ID] = begun{title: c.Title, server: c.Server, paths: c.Paths, ended: ended}
}

// recall fills in what was said when the call started.
func (c *call) recall(b begun) {
	if c.Title == "" {
		c.Title = b.title
	}
	if c.Server == "" {
		c.Server = b.server
	}
	if len(c.Paths) == 0 {
		c.Paths = append(c.Paths, b.paths...)
	}
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

// read finds the variant: the member whose name ends in ToolCall, wherever it stands among the others. The
// documented form {"function":{"name","arguments"}} is taken too, and {"name","arguments"|"args"|"input"} of other programs
// that speak this format.
func (env *envelope) read(v value) {
	var plain struct{ name, args value }
	for w := members(v); ; {
		name, ok := w.name()
		if !ok {
			break
		}
		native, isVariant := bytes.CutSuffix(name, []byte("ToolCall"))
		switch {
		case isVariant && len(native) > 0 && env.native == "":
			env.native = nativeName(native)
			env.open(&w)
		case string(name) == "toolCallId", string(name) == "id" && env.id == nil:
			env.id = w.take()
		case string(name) == "function" && env.native == "":
			var space room
			f := fieldsOf(w.take(), &space)
			env.native, env.args = f.str("name"), asObject(f.get("arguments"))
		case string(name) == "name":
			plain.name = w.take()
		case string(name) == "arguments", string(name) == "args", string(name) == "input":
			plain.args = w.take()
		case string(name) == "result" && env.result == nil:
			env.openResult(&w)
		default:
			w.take()
		}
	}
	if env.native == "" {
		env.native, env.args = str(plain.name), asObject(plain.args)
	}
}

// open notes what is in a variant.
func (env *envelope) open(w *walker) {
	if w.first() != '{' {
		w.take()
		return
	}
	inner := w.enter()
	for {
		name, ok := inner.name()
		if !ok {
			w.leave(&inner)
			return
		}
		switch string(name) {
		case "args":
			env.args = inner.take()
		case "result":
			env.openResult(&inner)
		case "description":
			env.desc = inner.take()
		default:
			inner.take()
		}
	}
}

// openResult finds the outcome in a result. Of several outcomes the one that is no success counts; a name that is not known
// is no success either. What is beside them, as isBackground, says nothing about it.
func (env *envelope) openResult(w *walker) {
	env.outcome, env.body, env.said = nil, nil, nil
	if w.first() != '{' {
		env.result = w.take()
		return
	}
	inner := w.enter()
	for {
		name, ok := inner.name()
		if !ok {
			env.result = w.leave(&inner)
			return
		}
		s, first := status(name), inner.first()
		said := first != 'n' && first != 'f' && (s != "" || first == '{' && env.outcome == nil)
		better := env.outcome == nil || status(env.outcome) == "" || status(env.outcome) == agentcli.ToolOK && s != ""
		switch {
		case !said || !better:
			inner.take()
		case first == '{':
			body := inner.enter()
			env.said = body.fields(env.space)
			env.outcome, env.body = name, inner.leave(&body)
		default:
			env.outcome, env.body, env.said = name, inner.take(), nil
		}
	}
}

// nativeName gives the name of a variant without an allocation for those that are known.
func nativeName(b []byte) string {
	if n, ok := names[string(b)]; ok {
		return n.native
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// asObject gives arguments that are an object, or the text of one, which must then be checked.
func asObject(v value) value {
	if len(v) == 0 || v[0] != '"' {
		return v
	}
	text := []byte(strings.TrimSpace(str(v)))
	if checkValue(text, 0, 0) != len(text) {
		return nil
	}
	return text
}

// args are the arguments that say what a call is about, whatever its variant.
type args struct {
	title value
	// rank orders the candidates for the title; the lowest is it.
	rank                                                        int
	path, offset, id, server, server2, tool, name, todos, paths value
}

// titles ranks the arguments that can stand for a call in one line.
func titles(name []byte) int {
	switch string(name) {
	case "command":
		return 1
	case "globPattern", "pattern", "searchTerm", "query":
		return 2
	case "url":
		return 3
	case "path", "filePath":
		return 4
	case "title":
		return 5
	case "description":
		return 6
	case "name":
		return 7
	case "targetDirectory", "overview", "uri":
		return 8
	}
	return 0
}

// argsOf reads arguments in one pass.
func argsOf(v value) args {
	a := args{rank: 99}
	for w := members(v); ; {
		name, v, ok := w.member()
		if !ok {
			return a
		}
		if r := titles(name); r > 0 && r < a.rank && len(v) > 2 && v[0] == '"' {
			a.title, a.rank = v, r
		}
		switch string(name) {
		case "path", "filePath", "targetDirectory":
			if a.path == nil {
				a.path = v
			}
		case "offset", "line":
			a.offset = v
		case "toolCallId":
			a.id = v
		case "providerIdentifier":
			a.server = v
		case "serverIdentifier", "server":
			a.server2 = v
		case "toolName":
			a.tool = v
		case "name":
			a.name = v
		case "todos":
			a.todos = v
		case "paths", "targetDirectories":
			a.paths = v
		}
	}
}

// call is a tool call with room for what most of them have, in one allocation.
type call struct {
	agentcli.ToolCall

	path [1]string
	exit int
}

// describe says what a call is, from its arguments.
func describe(env *envelope, a *args) *call {
	n, ok := names[env.native]
	if !ok {
		n = naming{name: env.native, kind: "other"}
	}
	c := &call{}
	c.Name, c.Native, c.Kind, c.Status = n.name, env.native, n.kind, agentcli.ToolRunning
	if len(env.args) > 0 {
		c.Input = bytes.Clone(env.args)
	}
	if c.ID = str(env.id); c.ID == "" {
		c.ID = str(a.id)
	}
	c.Title = str(a.title)
	if len(a.path) > 2 {
		c.Paths = c.path[:1]
		if c.Paths[0] = c.Title; !bytes.Equal(a.title, a.path) {
			c.Paths[0] = str(a.path)
		}
	}
	for w := elements(a.paths); len(c.Paths) < touchedMost; {
		p, ok := w.element()
		if !ok {
			break
		}
		c.Paths = append(c.Paths, str(p))
	}
	switch env.native {
	case "mcp", "getMcpTools", "listMcpResources", "readMcpResource", "mcpAuth":
		c.describeMCP(a)
	case "read":
		c.Line = int(integer(a.offset))
	case "updateTodos", "readTodos":
		c.Title = "todo list"
	}
	if c.Title == "" && len(c.Paths) > 0 {
		c.Title = c.Paths[0]
	}
	if c.Title == "" {
		c.Title = str(env.desc)
	}
	return c
}

// describeMCP names the server and the tool of an MCP call. Without them, its name is both with a dash in between.
func (c *call) describeMCP(a *args) {
	if c.Server = str(a.server); c.Server == "" {
		c.Server = str(a.server2)
	}
	name := str(a.name)
	if c.Server == "" && len(a.tool) > 2 {
		c.Server = strings.TrimSuffix(strings.TrimSuffix(name, str(a.tool)), "-")
	}
	if tool := str(a.tool); tool != "" {
		c.Title = tool
	} else if name != "" {
		c.Title = strings.TrimPrefix(name, c.Server+"-")
	} else if c.Title == "" {
		c.Title = c.Server
	}
}
