package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// step is one entry of a script. One of its kinds is set.
type step struct {
	// Text ends the turn.
	Text *string `json:"text"`
	// Shell runs a command by whatever shell tool is offered, MCP calls the offered tool whose name ends so, Tool the one that
	// is called exactly so.
	Shell string `json:"shell"`
	MCP   string `json:"mcp"`
	// Server is whose tool an MCP call means where the agent has not shown its tools yet; empty means substrat.
	Server string         `json:"server"`
	Tool   string         `json:"tool"`
	Args   map[string]any `json:"args"`
	// Status fails with a status of HTTP; Cut breaks the connection in the middle of the answer.
	Status int  `json:"status"`
	Cut    bool `json:"cut"`
	// DelayMS waits before the answer.
	DelayMS int `json:"delay_ms"`
}

// turnKind is what an entry of a conversation is.
type turnKind int

const (
	byUser turnKind = iota
	byModel
	toolResult
)

type turn struct {
	kind turnKind
	text string
	call string // the tool that the model called
}

// offered is a tool that the agent offers.
type offered struct {
	name, space, kind string
	schema            map[string]any
}

// talk is a conversation, whichever API it came by.
type talk struct {
	turns []turn
	tools []offered
}

// choice is what the model does next: a call, or a text.
type choice struct {
	text   string
	call   *offered
	args   map[string]any
	status int
	cut    bool
	delay  time.Duration
}

func (c choice) String() string {
	switch {
	case c.status != 0:
		return fmt.Sprint("status ", c.status)
	case c.call != nil:
		return "call " + c.call.name
	default:
		return "text " + c.text
	}
}

var scriptMarks = regexp.MustCompile(`(?s)<<SCRIPT\s*(.*?)\s*SCRIPT>>`)

// script finds the last script of the conversation, and what came after it.
func (t talk) script() (steps []step, after []turn) {
	for i, x := range t.turns {
		if x.kind != byUser {
			continue
		}
		for _, m := range scriptMarks.FindAllStringSubmatch(x.text, -1) {
			// Some programs quote their prompt into another text.
			for _, candidate := range []string{m[1], strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[1])} {
				var list []step
				if json.Unmarshal([]byte(candidate), &list) == nil && len(list) > 0 {
					steps, after = list, t.turns[i+1:]
					break
				}
			}
		}
	}
	return steps, after
}

// isSearch says whether a tool finds tools: programs with many offer it in their place.
func isSearch(name string) bool {
	n := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	return n == "toolsearch"
}

// choose decides what is next. Requests without a script, or without tools, are a program's own: for a title, a summary.
func (t talk) choose() choice {
	steps, after := t.script()
	if len(steps) == 0 {
		return choice{text: "There is no script in this prompt."}
	}
	if len(t.tools) == 0 {
		return choice{text: "A scripted conversation"}
	}
	results, searches, last := 0, 0, ""
	for _, x := range after {
		switch {
		case x.kind == toolResult:
			results++
		case isSearch(x.call):
			searches++
		}
		if x.call != "" {
			last = x.call
		}
	}
	s := steps[min(max(results-searches, 0), len(steps)-1)]
	c := choice{status: s.Status, cut: s.Cut, delay: time.Duration(s.DelayMS) * time.Millisecond}
	switch {
	case s.Status != 0:
	case s.Text != nil:
		c.text = *s.Text
	default:
		t.callFor(s, last, &c)
	}
	return c
}

// shells are the names of shell tools, the likelier first.
var shells = []string{"Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell", "execute_command", "terminal"}

// callFor finds the tool that a step wants.
func (t talk) callFor(s step, last string, c *choice) {
	var found *offered
	switch {
	case s.Shell != "":
		for _, name := range shells {
			if found = t.tool(func(n string) bool { return n == name }); found != nil {
				break
			}
		}
		if found != nil {
			c.args = shellArgs(found, s)
		}
	case s.Tool != "":
		found, c.args = t.tool(func(n string) bool { return n == s.Tool }), s.Args
	case s.MCP != "":
		if found = t.tool(func(n string) bool { return n == s.MCP }); found == nil {
			found = t.tool(func(n string) bool { return strings.HasSuffix(n, s.MCP) })
		}
		c.args = s.Args
		search := t.tool(isSearch)
		full := "mcp__" + cmp.Or(s.Server, "substrat") + "__" + s.MCP
		if found == nil && search != nil && !isSearch(last) {
			found, c.args = search, fill(search, map[string]any{"query": "select:" + full})
		} else if found == nil && search != nil {
			found = &offered{name: full} // it was found by the search, and is called by its name
		}
	}
	if c.call = found; found == nil {
		data, _ := json.Marshal(s)
		c.text = fmt.Sprintf("No tool is offered for %s.", data)
	}
	if c.args == nil {
		c.args = map[string]any{}
	}
}

func (t talk) tool(fits func(name string) bool) *offered {
	if i := slices.IndexFunc(t.tools, func(x offered) bool { return fits(x.name) }); i >= 0 {
		return &t.tools[i]
	}
	return nil
}

// shellArgs fits a command into what a shell tool takes: a line, or a list of words, by one name or another.
func shellArgs(t *offered, s step) map[string]any {
	args := map[string]any{"command": s.Shell, "cmd": s.Shell, "description": "scripted"}
	p, _ := t.schema["properties"].(map[string]any)
	if c, ok := p["command"].(map[string]any); ok && c["type"] == "array" {
		args["command"] = []any{"bash", "-lc", s.Shell}
	}
	for k, v := range s.Args {
		args[k] = v
	}
	return fill(t, args)
}

// fill keeps the arguments that a tool knows, and gives those that it requires and nobody named.
func fill(t *offered, args map[string]any) map[string]any {
	p, _ := t.schema["properties"].(map[string]any)
	out := map[string]any{}
	for k, v := range args {
		if _, known := p[k]; known || t.schema == nil {
			out[k] = v
		}
	}
	required, _ := t.schema["required"].([]any)
	for _, r := range required {
		name := text(r)
		if _, given := out[name]; given {
			continue
		}
		prop, _ := p[name].(map[string]any)
		switch prop["type"] {
		case "boolean":
			out[name] = false
		case "number", "integer":
			out[name] = 0
		case "array":
			out[name] = []any{}
		default:
			out[name] = "scripted"
		}
	}
	return out
}

// text gives a value that is a string, "" for any other.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// flat makes one text of what may be a string, a block, or a list of blocks.
func flat(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case []any:
		var parts []string
		for _, e := range x {
			parts = append(parts, flat(e))
		}
		return strings.Join(parts, "\n")
	case map[string]any:
		if s, ok := x["text"].(string); ok {
			return s
		}
		return flat(x["content"])
	}
	return ""
}

// list and fields take a value apart that should be a list, or an object.
func list(v any) []any            { l, _ := v.([]any); return l }
func fields(v any) map[string]any { m, _ := v.(map[string]any); return m }
func pieces(s string) (out []string) {
	r := []rune(s)
	for len(r) > 24 {
		out, r = append(out, string(r[:24])), r[24:]
	}
	return append(out, string(r))
}
