package turnjson

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// canon gives the common name and kind of the tools that the contract names, and of the official CLI's own.
var canon = map[string][2]string{
	"exec": {"Bash", "execute"}, "web_fetch": {"Fetch", "fetch"}, "mcp_web_fetch": {"Fetch", "fetch"},
	"web_search": {"WebSearch", "search"}, "mcp_web_search": {"WebSearch", "search"},
	"shellToolCall": {"Bash", "execute"}, "readToolCall": {"Read", "read"}, "writeToolCall": {"Write", "edit"}, "editToolCall": {"Edit", "edit"},
	"deleteToolCall": {"Delete", "delete"}, "lsToolCall": {"Ls", "read"}, "globToolCall": {"Glob", "search"}, "grepToolCall": {"Grep", "search"},
	"semSearchToolCall": {"Search", "search"}, "updateTodosToolCall": {"Todo", "think"}, "webFetchToolCall": {"Fetch", "fetch"},
	"webSearchToolCall": {"WebSearch", "search"}, "taskToolCall": {"Task", "other"}, "mcpToolCall": {"MCP", "other"},
}

// describe is a call of the host's tools.
func describe(c call) *agentcli.ToolCall {
	t := named(c.name)
	t.ID, t.Input, t.Title = c.id, c.args, title(c.args, c.name)
	return t
}

func named(native string) *agentcli.ToolCall {
	t := &agentcli.ToolCall{Name: native, Native: native, Kind: "other", Status: agentcli.ToolRunning}
	if known, ok := canon[native]; ok {
		t.Name, t.Kind = known[0], known[1]
	}
	return t
}

// title is what a call is about, in one line.
func title(args json.RawMessage, otherwise string) string {
	m := object(args)
	for _, key := range []string{"command", "url", "query", "path", "pattern", "globPattern", "description", "toolName"} {
		if s := str(m[key]); s != "" {
			line, _, _ := strings.Cut(s, "\n")
			return clip(line, 200)
		}
	}
	return otherwise
}

// foreignTool takes a call that the CLI does itself: it is told of and not done.
func (c *conversation) foreignTool(f frame) error {
	native, variant := "", map[string]json.RawMessage(nil)
	inner := object(f.ToolCall)
	for key, raw := range inner {
		if m := object(raw); m != nil && strings.HasSuffix(key, "ToolCall") && (native == "" || key < native) {
			native, variant = key, m
		}
	}
	subtype := str(f.Subtype)
	if native == "" || subtype != "started" && subtype != "completed" {
		return c.note(f, "a tool call of the agent's own")
	}
	if err := c.endText(f.end); err != nil {
		return err
	}
	t := named(native)
	t.ID = callID(f.CallID, inner)
	t.Input = variant["args"]
	t.Title = title(t.Input, native)
	e := agentcli.Event{Type: agentcli.EventToolStart, Tool: t, Offset: f.end, Raw: f.raw}
	if subtype == "completed" {
		e.Type = agentcli.EventToolEnd
		settle(t, object(variant["result"]))
		c.result.ToolCalls++
	}
	return c.emit(e)
}

// outputMost bounds what is kept of an output of the CLI's own tools; the frame has the whole.
const outputMost = 64 << 10

// settle says how a call of the CLI's own ended. Of what its result is called, only success is one.
func settle(t *agentcli.ToolCall, result map[string]json.RawMessage) {
	how := ""
	for key := range result {
		if how == "" || key < how {
			how = key
		}
	}
	m := object(result[how])
	t.Output = clip(firstText(m, "output", "stdout", "content", "interleavedOutput"), outputMost)
	if code, err := strconv.Atoi(string(m["exitCode"])); err == nil {
		t.ExitCode = &code
	}
	switch lower := strings.ToLower(how); {
	case how == "success":
		t.Status = agentcli.ToolOK
		return
	case strings.Contains(lower, "reject") || strings.Contains(lower, "denied"):
		t.Status = agentcli.ToolRejected
	case strings.Contains(lower, "timeout"):
		t.Status = agentcli.ToolTimeout
	default:
		t.Status = agentcli.ToolFailed
	}
	if t.Error = firstText(m, "error", "errorMessage", "message", "reason", "stderr"); t.Error == "" {
		t.Error = "the agent says: " + how
	}
}

func firstText(m map[string]json.RawMessage, keys ...string) string {
	i := slices.IndexFunc(keys, func(k string) bool { return str(m[k]) != "" })
	if i < 0 {
		return ""
	}
	return str(m[keys[i]])
}

// clip bounds what of a program's own words is shown.
func clip(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func quote(s string) string { return strconv.Quote(clip(s, 100)) }
