package acp

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"substrat.dev/substrat/agentcli"
)

// toolCall merges what an agent says of a call into what is known of it.
func (t *turn) toolCall(u toolUpdate) error {
	was := agentcli.ToolRunning
	if c := t.calls[u.ID]; c != nil {
		was = c.Status
	}
	c, known := t.merge(u)
	if c == nil {
		return t.notice("a tool call without an id")
	}
	if !known {
		if err := t.sendTool(agentcli.EventToolStart, c, agentcli.ToolRunning); err != nil || c.Status == agentcli.ToolRunning {
			return err
		}
		return t.ended(c)
	}
	if c.Status == agentcli.ToolRunning {
		return t.sendTool(agentcli.EventToolUpdate, c, c.Status)
	}
	if was != agentcli.ToolRunning {
		return nil // its end was told
	}
	return t.ended(c)
}

func (t *turn) ended(c *agentcli.ToolCall) error {
	t.result.ToolCalls++
	if c.Status == agentcli.ToolOK && (c.Kind == "edit" || c.Kind == "delete" || c.Kind == "move") {
		for _, p := range c.Paths {
			if !slices.Contains(t.result.Files, p) {
				t.result.Files = append(t.result.Files, p)
			}
		}
	}
	return t.sendTool(agentcli.EventToolEnd, c, c.Status)
}

func (t *turn) sendTool(kind agentcli.EventType, c *agentcli.ToolCall, status agentcli.ToolStatus) error {
	out := *c
	out.Status = status
	if kind == agentcli.EventToolStart {
		out.Output, out.Error, out.ExitCode = "", "", nil
	}
	return t.send(agentcli.Event{Type: kind, Tool: &out})
}

// merge gives the call that an update is about, and whether it was known. A call that has ended stays so.
func (t *turn) merge(u toolUpdate) (c *agentcli.ToolCall, known bool) {
	if u.ID == "" {
		return nil, false
	}
	c, known = t.calls[u.ID]
	if !known {
		c = &agentcli.ToolCall{ID: u.ID, Kind: "other", Status: agentcli.ToolRunning}
		t.calls[u.ID] = c
		t.order = append(t.order, u.ID)
	}
	if u.Title != nil && *u.Title != "" {
		c.Title = strings.Trim(*u.Title, "`")
	}
	if u.Kind != nil && *u.Kind != "" {
		c.Kind = *u.Kind
	}
	if present(u.RawInput) && string(u.RawInput) != "{}" {
		c.Input = slices.Clone(u.RawInput)
	}
	if len(u.Locations) > 0 {
		c.Paths, c.Line = nil, 0
	}
	for i, l := range u.Locations {
		if !slices.Contains(c.Paths, l.Path) {
			c.Paths = append(c.Paths, l.Path)
		}
		if i == 0 && l.Line != nil {
			c.Line = *l.Line
		}
	}
	takeContent(c, u.Content)
	takeOutput(c, u.RawOutput)
	name(c, u.Meta.ClaudeCode.ToolName)
	rejected := c.Status == agentcli.ToolRejected
	if u.Status != nil {
		switch *u.Status {
		case "completed":
			c.Status = agentcli.ToolOK
		case "failed":
			c.Status = agentcli.ToolFailed
		case "cancelled", "canceled", "rejected":
			c.Status = agentcli.ToolRejected
		}
	}
	if rejected {
		c.Status = agentcli.ToolRejected
	}
	if c.Status == agentcli.ToolFailed || c.Status == agentcli.ToolRejected {
		if c.Error == "" {
			c.Error = clip(c.Output)
		}
		if c.Error == "" {
			c.Error = string(c.Status)
		}
	}
	return c, known
}

// takeContent reads what a call shows: text, and what it changes as a diff. Content that is given replaces that of before.
func takeContent(c *agentcli.ToolCall, data json.RawMessage) {
	var list []toolContent
	if !present(data) || json.Unmarshal(data, &list) != nil {
		return
	}
	var texts, diffs []string
	for _, x := range list {
		switch x.Type {
		case "content":
			if text := unfenced(x.Content.words()); text != "" {
				texts = append(texts, text)
			}
		case "diff":
			old, from := "", "/dev/null"
			if x.OldText != nil {
				old, from = *x.OldText, "a/"+x.Path
			}
			diffs = append(diffs, unified(from, "b/"+x.Path, old, x.NewText))
			if !slices.Contains(c.Paths, x.Path) {
				c.Paths = append(c.Paths, x.Path)
			}
			if x.OldText == nil && c.Kind == "edit" {
				c.Name = "Write"
			}
		}
	}
	if len(texts) > 0 {
		c.Output = strings.Join(texts, "\n")
	}
	if len(diffs) > 0 {
		c.Diff = strings.Join(diffs, "")
	}
}

// fence is what some agents put around the output of a command.
var fence = regexp.MustCompile("(?s)^```[a-z]*\n(.*?)\n?```$")

func unfenced(text string) string {
	if m := fence.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// diffMost bounds the texts that are compared: comparing takes time that grows faster than they do.
const diffMost = 1 << 20

// unified compares two texts, without the lines that name the file.
func unified(from, to, old, now string) string {
	if len(old)+len(now) > diffMost {
		return ""
	}
	text := udiff.Unified(from, to, old, now)
	for range 2 {
		if strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "+++ ") {
			_, text, _ = strings.Cut(text, "\n")
		}
	}
	return text
}

// takeOutput reads the result of a call as agents give it in raw: a text, or an object with one among other things.
func takeOutput(c *agentcli.ToolCall, data json.RawMessage) {
	if !present(data) {
		return
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		if c.Output == "" {
			c.Output = text
		}
		return
	}
	var o struct {
		Formatted  string `json:"formatted_output"`
		Aggregated string `json:"aggregated_output"`
		Output     any    `json:"output"`
		Stdout     string `json:"stdout"`
		Stderr     string `json:"stderr"`
		Error      any    `json:"error"`
		ExitCode   *int   `json:"exit_code"`
		ExitCode2  *int   `json:"exitCode"`
	}
	if json.Unmarshal(data, &o) != nil {
		return
	}
	if c.ExitCode = o.ExitCode; c.ExitCode == nil {
		c.ExitCode = o.ExitCode2
	}
	if text, ok := o.Error.(string); ok {
		c.Error = clip(text)
	}
	output, _ := o.Output.(string)
	for _, s := range []string{o.Formatted, o.Aggregated, output, o.Stdout + o.Stderr} {
		if c.Output == "" {
			c.Output = s
		}
	}
}
