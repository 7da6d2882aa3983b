package stored

import (
	"encoding/json"
	"fmt"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// Naming is how a native tool is called by everybody.
type Naming struct{ Name, Kind string }

// The canonical names with their kinds.
var (
	Read      = Naming{"Read", "read"}
	Write     = Naming{"Write", "edit"}
	Edit      = Naming{"Edit", "edit"}
	Bash      = Naming{"Bash", "execute"}
	Ls        = Naming{"Ls", "read"}
	Glob      = Naming{"Glob", "search"}
	Grep      = Naming{"Grep", "search"}
	Fetch     = Naming{"Fetch", "fetch"}
	WebSearch = Naming{"WebSearch", "search"}
	Todo      = Naming{"Todo", "think"}
	Task      = Naming{"Task", "think"}
	Ask       = Naming{"Ask", "other"}
	Plan      = Naming{"Plan", "think"}
	Image     = Naming{"Image", "other"}
)

// Call describes a stored call: its canonical name, a title for people, and the paths it is about.
func Call(names map[string]Naming, id, native string, input json.RawMessage) *agentcli.ToolCall {
	c := &agentcli.ToolCall{ID: id, Name: native, Native: native, Kind: "other", Status: agentcli.ToolRunning}
	if json.Valid(input) {
		c.Input = input
	}
	if n, ok := names[native]; ok {
		c.Name, c.Kind = n.Name, n.Kind
	}
	if rest, ok := strings.CutPrefix(native, "mcp__"); ok {
		c.Name = "MCP"
		c.Server, c.Title, _ = strings.Cut(rest, "__")
		return c
	}
	var args map[string]json.RawMessage
	_ = json.Unmarshal(input, &args)
	text := func(names ...string) string {
		for _, n := range names {
			var s string
			if json.Unmarshal(args[n], &s) == nil && s != "" {
				return s
			}
		}
		return ""
	}
	path := text("file_path", "path", "notebook_path", "absolute_path", "dir_path")
	c.Title = text("command", "cmd", "file_path", "notebook_path", "absolute_path", "pattern", "url", "query", "path", "dir_path", "description", "prompt")
	if c.Title == "" {
		c.Title = words(args["command"])
	}
	if c.Name == "Todo" {
		c.Title = "todo list"
	}
	if path != "" {
		c.Paths = []string{path}
	}
	return c
}

// words joins a command that is a list: the last word of sh -c SCRIPT is what runs.
func words(v json.RawMessage) string {
	var list []string
	if json.Unmarshal(v, &list) != nil || len(list) == 0 {
		return ""
	}
	if len(list) == 3 && strings.HasPrefix(list[1], "-") && strings.HasSuffix(list[1], "c") {
		return list[2]
	}
	return strings.Join(list, " ")
}

// Text gives the text of a value: a string, a list of parts with text, or the JSON itself.
func Text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(v, &parts) == nil {
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String()
	}
	return string(v)
}

// Weight is about how many bytes an image in base64 has; an address of data counts without its head.
func Weight(encoded string) int64 {
	if i := strings.Index(encoded, ";base64,"); i >= 0 && i < 100 {
		encoded = encoded[i+len(";base64,"):]
	}
	return int64(len(strings.TrimRight(encoded, "="))) * 3 / 4
}

// Hunk writes the head of one part of a unified diff.
func Hunk(oldStart, oldLines, newStart, newLines int) string {
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", oldStart, oldLines, newStart, newLines)
}
