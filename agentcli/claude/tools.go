package claude

import (
	"fmt"
	"strconv"
	"strings"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// naming is how a native tool is called by everybody.
type naming struct{ name, kind string }

// names are the CLI's own tools. One that is not here keeps its own name.
var names = map[string]naming{
	"Read": {"Read", "read"}, "NotebookRead": {"Read", "read"}, "LS": {"Ls", "read"},
	"Write": {"Write", "edit"}, "Edit": {"Edit", "edit"}, "MultiEdit": {"Edit", "edit"}, "NotebookEdit": {"Edit", "edit"},
	"Bash": {"Bash", "execute"}, "BashOutput": {"Bash", "execute"}, "KillShell": {"Bash", "execute"}, "KillBash": {"Bash", "execute"},
	"Glob": {"Glob", "search"}, "Grep": {"Grep", "search"}, "ToolSearch": {"Search", "search"},
	"WebFetch": {"Fetch", "fetch"}, "WebSearch": {"WebSearch", "search"}, "web_search": {"WebSearch", "search"}, "web_fetch": {"Fetch", "fetch"},
	"TodoWrite": {"Todo", "think"}, "TodoRead": {"Todo", "think"},
	"TaskCreate": {"Todo", "think"}, "TaskUpdate": {"Todo", "think"}, "TaskList": {"Todo", "think"}, "TaskGet": {"Todo", "think"},
	"Task": {"Task", "think"}, "Agent": {"Task", "think"}, "TaskOutput": {"Task", "think"}, "TaskStop": {"Task", "think"},
	"AskUserQuestion": {"Ask", "other"}, "ExitPlanMode": {"Plan", "think"}, "EnterPlanMode": {"Plan", "think"},
	"ListMcpResourcesTool": {"MCP", "read"}, "ReadMcpResourceTool": {"MCP", "read"},
}

// describe says what a call is, from its part of a message.
func describe(p headless.Object) agentcli.ToolCall {
	native := p.Str("name")
	c := agentcli.ToolCall{ID: p.Str("id"), Native: native, Name: native, Kind: "other", Input: headless.Raw(p.Get("input"))}
	in := p.Object("input")
	if rest, ok := strings.CutPrefix(native, "mcp__"); ok {
		c.Name = "MCP"
		c.Server, c.Title, ok = strings.Cut(rest, "__")
		if !ok {
			c.Server, c.Title = "", rest
		}
		return c
	}
	if n, ok := names[native]; ok {
		c.Name, c.Kind = n.name, n.kind
	}
	if path := in.Str("file_path", "notebook_path", "path"); path != "" {
		c.Paths = []string{path}
	}
	c.Line = int(in.Int("offset"))
	c.Title = in.Str("command", "file_path", "notebook_path", "pattern", "url", "query", "description", "path", "skill", "subject")
	if c.Name == "Todo" {
		c.Title = "todo list"
	}
	return c
}

// toolResult emits the end of a call.
func (d *Decoder) toolResult(p, frame headless.Object) error {
	c, _ := d.Running(p.Str("tool_use_id"))
	details := frame.Object("tool_use_result")
	c.Status, c.Output = agentcli.ToolOK, headless.ContentText(p.Get("content"))
	if p.Bool("is_error") {
		d.failed(&c, frame)
	} else {
		settle(&c, details)
	}
	if err := d.End(c); err != nil || c.Status != agentcli.ToolOK {
		return err
	}
	switch c.Native {
	case "TodoWrite":
		return d.Send(agentcli.Event{Type: agentcli.EventTodos, Todos: todos(c)})
	case "ExitPlanMode":
		return d.Send(agentcli.Event{Type: agentcli.EventPlan, Text: headless.ObjectOf([]byte(c.Input)).Str("plan")})
	}
	return nil
}

// failed says why a call did not succeed.
func (d *Decoder) failed(c *agentcli.ToolCall, frame headless.Object) {
	c.Status = agentcli.ToolFailed
	c.Error = strings.TrimSuffix(strings.TrimPrefix(c.Output, "<tool_use_error>"), "</tool_use_error>")
	c.Output = ""
	if why, ok := d.rejected[c.ID]; ok || refused(c.ID, c.Error, frame) {
		delete(d.rejected, c.ID)
		c.Status = agentcli.ToolRejected
		if why != "" {
			c.Error = why
		}
		return
	}
	if c.Name != "Bash" {
		return
	}
	if strings.Contains(c.Error, "Command timed out") {
		c.Status = agentcli.ToolTimeout
	}
	// "Exit code 3" and then what the command printed.
	first, rest, _ := strings.Cut(c.Error, "\n")
	if code, ok := strings.CutPrefix(first, "Exit code "); ok {
		if n, err := strconv.Atoi(code); err == nil {
			c.ExitCode, c.Output, c.Error = &n, rest, "exit code "+code
		}
	}
}

// refused reports a call that was not allowed rather than one that failed.
func refused(id, why string, frame headless.Object) bool {
	for _, m := range headless.Elements(frame.Get("tool_result_meta")) {
		meta := headless.ObjectOf(m)
		if meta.Str("id") == id && meta.Object("permission_decision").Str("decision") == "reject" {
			return true
		}
	}
	return strings.Contains(why, "denied by your permission settings") || strings.Contains(why, "The user doesn't want to proceed with this tool use")
}

// settle fills in what the details of a success say.
func settle(c *agentcli.ToolCall, details headless.Object) {
	if c.Native == "Bash" && details != nil {
		if details.Bool("interrupted") {
			c.Status, c.Error = agentcli.ToolFailed, "interrupted"
			return
		}
		if details.Str("backgroundTaskId") == "" {
			c.ExitCode = new(int)
		}
	}
	if c.Kind != "edit" {
		return
	}
	c.Diff = diff(details)
	if path := details.Str("filePath"); path != "" && len(c.Paths) == 0 {
		c.Paths = []string{path}
	}
}

// diff writes the change of a file as hunks. A new file has none: it is its content.
func diff(details headless.Object) string {
	var b strings.Builder
	for _, h := range headless.Elements(details.Get("structuredPatch")) {
		hunk := headless.ObjectOf(h)
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", hunk.Int("oldStart"), hunk.Int("oldLines"), hunk.Int("newStart"), hunk.Int("newLines"))
		for _, line := range headless.Elements(hunk.Get("lines")) {
			b.WriteString(headless.Str(line) + "\n")
		}
	}
	if b.Len() > 0 || details.Str("type") != "create" {
		return b.String()
	}
	content := details.Str("content")
	if content == "" {
		return ""
	}
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	} else {
		lines[len(lines)-1] += "\n\\ No newline at end of file\n"
	}
	fmt.Fprintf(&b, "@@ -0,0 +1,%d @@\n", len(lines))
	for _, line := range lines {
		b.WriteString("+" + line)
	}
	return b.String()
}

// todos reads the list as a call wrote it: it is always the whole list.
func todos(c agentcli.ToolCall) []agentcli.Todo {
	var out []agentcli.Todo
	for i, v := range headless.Elements(headless.ObjectOf([]byte(c.Input)).Get("todos")) {
		t := headless.ObjectOf(v)
		id := t.Str("id")
		if id == "" {
			id = strconv.Itoa(i + 1)
		}
		out = append(out, agentcli.Todo{ID: id, Content: t.Str("content"), Status: t.Str("status")})
	}
	return out
}
