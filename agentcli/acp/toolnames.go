package acp

import (
	"encoding/json"
	"regexp"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// byKind is the canonical name where nothing but the kind is known.
var byKind = map[string]string{
	"read": "Read", "edit": "Edit", "delete": "Delete", "move": "Edit", "search": "Grep", "execute": "Bash", "fetch": "Fetch", "think": "Task",
	"switch_mode": "Plan",
}

// byName are the names that agents give in their own words.
var byName = map[string]string{
	"read": "Read", "notebookread": "Read", "write": "Write", "edit": "Edit", "multiedit": "Edit", "notebookedit": "Edit", "bash": "Bash", "bashoutput": "Bash",
	"killshell": "Bash", "shell": "Bash", "ls": "Ls", "glob": "Glob", "grep": "Grep", "websearch": "WebSearch", "webfetch": "Fetch", "fetch": "Fetch",
	"todowrite": "Todo", "task": "Task", "agent": "Task", "exitplanmode": "Plan", "askuserquestion": "Ask", "toolsearch": "Search",
}

// mcpName is how MCP tools are commonly named: mcp__server__tool.
var mcpName = regexp.MustCompile(`^mcp__(.+?)__(.+)$`)

// mcpTitle are the titles of MCP calls: "tool (server MCP Server)", "Tool: server/tool".
var mcpTitle = regexp.MustCompile(`^(?:(?P<t1>[\w.-]+) \((?P<s1>[\w.-]+) MCP Server\)|Tool: (?P<s2>[\w.-]+)/(?P<t2>[\w.-]+))`)

// name gives a call its canonical name.
func name(c *agentcli.ToolCall, own string) {
	if own != "" {
		c.Native = own
	}
	if m := mcpName.FindStringSubmatch(firstOf(c.Native, c.Title)); m != nil {
		c.Name, c.Server, c.Native = "MCP", m[1], m[2]
		return
	}
	if m := mcpTitle.FindStringSubmatch(c.Title); m != nil {
		c.Name, c.Server, c.Native = "MCP", m[2]+m[3], m[1]+m[4]
		return
	}
	var in struct {
		Server string          `json:"server"`
		Tool   string          `json:"tool"`
		Call   json.RawMessage `json:"invocation"`
	}
	if json.Unmarshal(c.Input, &in) == nil {
		if in.Server == "" && len(in.Call) > 0 {
			_ = json.Unmarshal(in.Call, &in)
		}
		if in.Server != "" && in.Tool != "" {
			c.Name, c.Server, c.Native = "MCP", in.Server, in.Tool
			return
		}
	}
	if n := byName[strings.ToLower(c.Native)]; n != "" {
		c.Name = n
		return
	}
	if c.Name != "" && c.Name != "Other" && (c.Kind == "other" || c.Name == "Write") {
		return
	}
	switch n := byKind[c.Kind]; {
	case n != "":
		c.Name = n
	case c.Native != "":
		c.Name = c.Native
	default:
		c.Name = "Other"
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
