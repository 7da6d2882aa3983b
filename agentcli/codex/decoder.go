package codex

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// Decoder turns the lines of one stream of `codex exec --json` into events. It is for one goroutine and one stream.
type Decoder struct {
	*headless.Stream
	// resumed says that the tokens told are those of the whole conversation.
	resumed bool
	// wrong is the last error that was told.
	wrong string
	// messages and thoughts are how much of a text was told, by the item's id, where it comes in steps.
	messages, thoughts map[string]string
}

// NewDecoder makes a decoder.
func NewDecoder() *Decoder {
	d := &Decoder{messages: map[string]string{}, thoughts: map[string]string{}}
	d.Stream = headless.NewStream(d.decode)
	return d
}

func (d *Decoder) decode(f headless.Object) error {
	switch typ := f.Word("type", "item.started", "item.updated", "item.completed", "thread.started", "turn.started", "turn.completed", "turn.failed", "error"); typ {
	case "thread.started":
		return d.Session(f.Str("thread_id"), d.Result.Model)
	case "turn.started":
		return nil
	case "item.started", "item.updated", "item.completed":
		return d.item(strings.TrimPrefix(typ, "item."), f.Object("item"))
	case "turn.completed":
		if !d.resumed {
			d.Result.Usage = usage(f.Object("usage"))
		}
		return d.Terminal(substrat.Completed)
	case "turn.failed":
		said := f.Object("error").Str("message")
		if said == "" {
			said = d.wrong
		}
		d.Result.Class, d.Result.Detail = failures.Classify(said, substrat.ClassAgent)
		return d.Terminal(substrat.FailedTurn)
	case "error":
		return d.problem(f.Str("message"))
	default:
		return d.Unknown(typ)
	}
}

// problem tells of an error that need not be the turn's end.
func (d *Decoder) problem(said string) error {
	if strings.HasPrefix(said, "Reconnecting") {
		return d.Send(agentcli.Event{Type: agentcli.EventRetry, Text: said})
	}
	d.wrong = said
	return d.Notice(said)
}

// usage reads the tokens of a turn. The CLI counts what it read from the cache as input, too.
func usage(u headless.Object) *substrat.Usage {
	if u == nil {
		return nil
	}
	cached := u.Int("cached_input_tokens")
	return &substrat.Usage{
		InputTokens: max(u.Int("input_tokens")-cached, 0), OutputTokens: u.Int("output_tokens"),
		CacheReadTokens: cached, CacheWriteTokens: u.Int("cache_write_input_tokens"),
	}
}

// item handles one thing the agent does. Step is started, updated or completed.
func (d *Decoder) item(step string, item headless.Object) error {
	id := item.Str("id")
	switch typ := item.Word("type", "agent_message", "reasoning", "command_execution", "file_change", "mcp_tool_call"); typ {
	case "agent_message":
		return d.told(d.messages, step, id, item.Str("text"), d.Text)
	case "reasoning":
		return d.told(d.thoughts, step, id, item.Str("text"), d.Think)
	case "todo_list":
		return d.Send(agentcli.Event{Type: agentcli.EventTodos, Todos: todos(item)})
	case "error":
		return d.Notice(item.Str("message"))
	case "command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call":
		return d.call(step, id, typ, item)
	default:
		return d.Unknown("item", typ, step)
	}
}

// told appends what is new of a text that may be told in steps, each holding it whole.
func (d *Decoder) told(all map[string]string, step, id, text string, add func(string) error) error {
	have := all[id]
	if !strings.HasPrefix(text, have) {
		have = text // it is told differently now; what was told stands
	}
	if step != "completed" {
		all[id] = text
		return add(text[len(have):])
	}
	delete(all, id)
	if err := add(text[len(have):]); err != nil {
		return err
	}
	return d.EndSegments()
}

// call handles the use of a tool. Some calls are told only when they are done.
func (d *Decoder) call(step, id, typ string, item headless.Object) error {
	c := describe(id, typ, item)
	if _, running := d.Running(id); !running {
		if err := d.Start(c); err != nil {
			return err
		}
	}
	switch step {
	case "completed":
		settle(&c, typ, item)
		return d.End(c)
	case "updated":
		c.Status, c.Output = agentcli.ToolRunning, item.Str("aggregated_output")
		return d.Update(c)
	}
	return nil
}

// describe says what a call is.
func describe(id, typ string, item headless.Object) agentcli.ToolCall {
	c := agentcli.ToolCall{ID: id, Name: typ, Native: typ, Kind: "other"}
	switch typ {
	case "command_execution":
		c.Name, c.Kind, c.Title = "Bash", "execute", unwrap(item.Str("command"))
		c.Input = input("command", c.Title)
	case "file_change":
		changes(&c, item)
	case "mcp_tool_call":
		c.Name, c.Server, c.Title = "MCP", item.Str("server"), item.Str("tool")
		c.Input = headless.Raw(item.Get("arguments"))
	case "web_search":
		c.Name, c.Kind, c.Title = "WebSearch", "search", item.Str("query")
		c.Input = input("query", c.Title)
	case "collab_tool_call":
		c.Name, c.Kind, c.Title, c.Native = "Task", "think", item.Str("prompt", "tool"), item.Str("tool")
		c.Input = input("prompt", item.Str("prompt"))
	}
	return c
}

func input(name, value string) json.RawMessage {
	data, _ := json.Marshal(map[string]string{name: value})
	return data
}

// unwrap gives a command without the shell that it is run by.
func unwrap(command string) string {
	shell, rest, ok := strings.Cut(command, " -lc ")
	if !ok {
		shell, rest, ok = strings.Cut(command, " -c ")
	}
	if base := path.Base(shell); !ok || base != "bash" && base != "sh" && base != "zsh" {
		return command
	}
	if n := len(rest); n >= 2 && rest[0] == '\'' && rest[n-1] == '\'' {
		return strings.NewReplacer(`'\''`, `'`, `'"'"'`, `'`).Replace(rest[1 : n-1])
	}
	if n := len(rest); n >= 2 && rest[0] == '"' && rest[n-1] == '"' {
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\`", "`").Replace(rest[1 : n-1])
	}
	return rest
}

// changes describes a change of files: by what is done where that is one thing.
func changes(c *agentcli.ToolCall, item headless.Object) {
	kinds := map[string]bool{}
	for _, v := range headless.Elements(item.Get("changes")) {
		change := headless.ObjectOf(v)
		c.Paths = append(c.Paths, change.Str("path"))
		kinds[change.Str("kind")] = true
	}
	c.Name, c.Kind, c.Title = "Edit", "edit", strings.Join(c.Paths, ", ")
	switch {
	case len(kinds) == 1 && kinds["add"]:
		c.Name = "Write"
	case len(kinds) == 1 && kinds["delete"]:
		c.Name, c.Kind = "Delete", "delete"
	}
	if v := item.Get("changes"); v != nil {
		c.Input = json.RawMessage(`{"changes":` + string(headless.Raw(v)) + `}`)
	}
}

// settle says how a call ended.
func settle(c *agentcli.ToolCall, typ string, item headless.Object) {
	switch item.Str("status") {
	case "failed":
		c.Status = agentcli.ToolFailed
	case "declined":
		c.Status, c.Error = agentcli.ToolRejected, "it was not allowed"
	default:
		c.Status = agentcli.ToolOK
	}
	switch typ {
	case "command_execution":
		c.Output = item.Str("aggregated_output")
		if v := item.Get("exit_code"); v != nil {
			code := int(headless.Int(v))
			c.ExitCode = &code
			if code != 0 && c.Status == agentcli.ToolOK {
				c.Status = agentcli.ToolFailed
			}
			if c.Status == agentcli.ToolFailed {
				c.Error = "exit code " + strconv.Itoa(code)
			}
		}
	case "mcp_tool_call":
		c.Output = headless.ContentText(item.Object("result").Get("content"))
		c.Error = item.Object("error").Str("message")
		if c.Status == agentcli.ToolOK && c.Error != "" {
			c.Status = agentcli.ToolFailed
		}
		if c.Status == agentcli.ToolFailed && c.Error == "" {
			c.Error, c.Output = c.Output, ""
		}
		if strings.Contains(c.Error, "cancelled MCP tool call") || strings.Contains(c.Error, "requires approval") {
			c.Status = agentcli.ToolRejected
		}
	}
	if c.Status == agentcli.ToolFailed && c.Error == "" {
		c.Error = "it failed"
	}
}

// todos reads the agent's list, which is always told whole. Its entries have no ids.
func todos(item headless.Object) []agentcli.Todo {
	var out []agentcli.Todo
	for i, v := range headless.Elements(item.Get("items")) {
		t := headless.ObjectOf(v)
		status := t.Str("status")
		if status == "" {
			status = "pending"
		}
		if t.Bool("completed") {
			status = "completed"
		}
		out = append(out, agentcli.Todo{ID: strconv.Itoa(i + 1), Content: t.Str("text", "step"), Status: status})
	}
	return out
}
