package gemini

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// Decoder turns the lines of one stream-json stream into events. It is for one goroutine and one stream.
type Decoder struct {
	*headless.Stream
	// servers are the MCP servers that are known by name, the longest first: a tool's name holds its server's, and both may
	// hold what joins them.
	servers []string
	// wrong is the last error that was told.
	wrong string
}

// NewDecoder makes a decoder that knows some MCP servers by name.
func NewDecoder(servers ...string) *Decoder {
	d := &Decoder{servers: slices.Clone(servers)}
	slices.SortFunc(d.servers, func(a, b string) int { return len(b) - len(a) })
	d.Stream = headless.NewStream(d.decode)
	return d
}

func (d *Decoder) decode(f headless.Object) error {
	if t := f.Str("timestamp"); t != "" {
		if at, err := time.Parse(time.RFC3339, t); err == nil {
			d.TimeMS = at.UnixMilli()
		}
	}
	switch typ := f.Word("type", "message", "tool_use", "tool_result", "init", "result", "error"); typ {
	case "init":
		return d.Session(f.Str("session_id"), f.Str("model"))
	case "message":
		return d.message(f)
	case "tool_use":
		return d.Start(d.describe(f))
	case "tool_result":
		return d.toolResult(f)
	case "error":
		return d.problem(f.Str("message"))
	case "result":
		return d.terminal(f)
	default:
		return d.Unknown(typ)
	}
}

func (d *Decoder) message(f headless.Object) error {
	text := f.Str("content")
	switch role := f.Word("role", "assistant", "user"); role {
	case "assistant":
		if err := d.Text(text); err != nil || f.Bool("delta") {
			return err
		}
		return d.EndSegments()
	case "user":
		return d.Send(agentcli.Event{Type: agentcli.EventUser, Text: text})
	default:
		return d.Notice(role + ": " + text)
	}
}

// problem tells of an error that need not be the turn's end.
func (d *Decoder) problem(said string) error {
	if strings.Contains(strings.ToLower(said), "retry") {
		return d.Send(agentcli.Event{Type: agentcli.EventRetry, Text: said})
	}
	d.wrong = said
	return d.Notice(said)
}

// terminal ends the turn. Its status success means that the agent came to an end.
func (d *Decoder) terminal(f headless.Object) error {
	stats := f.Object("stats")
	r := &d.Result
	r.DurationMS, r.Usage = stats.Int("duration_ms"), usage(stats)
	if status := f.Str("status"); status == "success" || status == "" && f.Get("error") == nil {
		return d.Terminal(substrat.Completed)
	}
	said := f.Object("error").Str("message")
	if said == "" {
		said = d.wrong
	}
	r.Class, r.Detail = failures.Classify(said, substrat.ClassAgent)
	if kind := f.Object("error").Str("type"); r.Class == substrat.ClassAgent && kind == "FatalAuthenticationError" {
		r.Class = substrat.ClassAuth
	}
	return d.Terminal(substrat.FailedTurn)
}

// usage reads the tokens of a turn: input is what was not read from the cache.
func usage(stats headless.Object) *substrat.Usage {
	if stats == nil {
		return nil
	}
	u := substrat.Usage{InputTokens: stats.Int("input_tokens"), OutputTokens: stats.Int("output_tokens"), CacheReadTokens: stats.Int("cached")}
	if stats.Get("input") != nil {
		u.InputTokens = stats.Int("input")
	}
	return &u
}

// naming is how a native tool is called by everybody.
type naming struct{ name, kind string }

// names are the CLI's own tools. One that is not here keeps its own name.
var names = map[string]naming{
	"read_file": {"Read", "read"}, "read_many_files": {"Read", "read"}, "list_directory": {"Ls", "read"},
	"write_file": {"Write", "edit"}, "replace": {"Edit", "edit"}, "edit": {"Edit", "edit"},
	"run_shell_command": {"Bash", "execute"},
	"glob":              {"Glob", "search"}, "grep_search": {"Grep", "search"}, "search_file_content": {"Grep", "search"},
	"google_web_search": {"WebSearch", "search"}, "web_fetch": {"Fetch", "fetch"},
	"write_todos": {"Todo", "think"}, "save_memory": {"save_memory", "think"},
	"ask_user": {"Ask", "other"}, "exit_plan_mode": {"Plan", "think"}, "enter_plan_mode": {"Plan", "think"},
	"codebase_investigator": {"Task", "think"}, "generalist": {"Task", "think"}, "delegate_to_agent": {"Task", "think"},
}

// describe says what a call is.
func (d *Decoder) describe(f headless.Object) agentcli.ToolCall {
	native := f.Str("tool_name")
	c := agentcli.ToolCall{ID: f.Str("tool_id"), Native: native, Name: native, Kind: "other", Input: headless.Raw(f.Get("parameters"))}
	in := f.Object("parameters")
	if n, ok := names[native]; ok {
		c.Name, c.Kind = n.name, n.kind
	} else if server, tool, ok := d.mcp(native); ok {
		c.Name, c.Server, c.Title = "MCP", server, tool
		return c
	}
	if path := in.Str("file_path", "absolute_path", "dir_path", "path"); path != "" {
		c.Paths = []string{path}
	}
	c.Line = int(in.Int("start_line"))
	c.Title = in.Str("command", "file_path", "absolute_path", "pattern", "dir_path", "path", "query", "url", "prompt", "objective", "description")
	if c.Name == "Todo" {
		c.Title = "todo list"
	}
	return c
}

// mcp takes the name of an MCP tool apart: mcp_SERVER_TOOL, or SERVER__TOOL in earlier versions.
func (d *Decoder) mcp(native string) (server, tool string, ok bool) {
	rest, prefixed := strings.CutPrefix(native, "mcp_")
	for _, s := range d.servers {
		if tool, ok := strings.CutPrefix(rest, s+"_"); ok && s != "" {
			return s, strings.TrimPrefix(tool, "_"), true
		}
	}
	if server, tool, ok = strings.Cut(rest, "__"); ok {
		return server, tool, true
	}
	if !prefixed {
		return "", "", false
	}
	if server, tool, ok = strings.Cut(rest, "_"); !ok {
		return "", rest, true
	}
	return server, tool, true
}

// toolResult emits the end of a call. The CLI tells a command's exit code only where the command printed nothing: one that
// printed something and failed is a success here.
func (d *Decoder) toolResult(f headless.Object) error {
	c, _ := d.Running(f.Str("tool_id"))
	c.Output = headless.ContentText(f.Get("output"))
	why := f.Object("error")
	switch {
	case f.Str("status") == "success" && why == nil:
		c.Status = agentcli.ToolOK
	case f.Str("status") == "cancelled" || why.Str("type") == "policy_violation":
		c.Status = agentcli.ToolRejected
	default:
		c.Status = agentcli.ToolFailed
	}
	if c.Status != agentcli.ToolOK {
		c.Error = why.Str("message")
		if c.Error == "" || c.Error == c.Output {
			c.Error, c.Output = c.Output, ""
		}
	}
	if code, ok := strings.CutPrefix(c.Output, "Command exited with code: "); ok && c.Name == "Bash" {
		if n, err := strconv.Atoi(code); err == nil && n != 0 {
			c.Status, c.ExitCode, c.Output, c.Error = agentcli.ToolFailed, &n, "", "exit code "+code
		}
	}
	if err := d.End(c); err != nil || c.Status != agentcli.ToolOK {
		return err
	}
	if c.Native == "write_todos" {
		return d.Send(agentcli.Event{Type: agentcli.EventTodos, Todos: todos(c)})
	}
	return nil
}

// todos reads the list as a call wrote it: it is always the whole list.
func todos(c agentcli.ToolCall) []agentcli.Todo {
	var out []agentcli.Todo
	for i, v := range headless.Elements(headless.ObjectOf([]byte(c.Input)).Get("todos")) {
		t := headless.ObjectOf(v)
		out = append(out, agentcli.Todo{ID: strconv.Itoa(i + 1), Content: t.Str("description", "content"), Status: t.Str("status")})
	}
	return out
}
