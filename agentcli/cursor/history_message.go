package cursor

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"substrat.dev/substrat/agentcli"
)

// storedMessage is a message blob.
type storedMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// storedPart is one part of a message's content. What a part of one type has, the others have not.
type storedPart struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Args       json.RawMessage `json:"args"`
	Input      json.RawMessage `json:"input"`
	Result     json.RawMessage `json:"result"`
	Output     json.RawMessage `json:"output"`
	IsError    bool            `json:"isError"`
	MediaType  string          `json:"mediaType"`
	MimeType   string          `json:"mimeType"`
	Image      json.RawMessage `json:"image"`
	Data       json.RawMessage `json:"data"`
	Options    struct {
		Cursor struct {
			ModelName string `json:"modelName"`
		} `json:"cursor"`
	} `json:"providerOptions"`
}

// modelTools are the names that the model calls tools by, in lower case; the stream has others.
var modelTools = map[string]string{
	"read": "read", "readfile": "read", "read_file": "read", "write": "write", "strreplace": "edit", "edit": "edit", "multiedit": "edit", "editfile": "edit",
	"edit_file": "edit", "search_replace": "edit", "applypatch": "edit", "apply_patch": "edit", "editnotebook": "edit", "edit_notebook": "edit",
	"delete": "delete", "deletefile": "delete", "delete_file": "delete", "shell": "shell", "bash": "shell", "run_terminal_cmd": "shell",
	"ls": "ls", "list_dir": "ls", "glob": "glob", "glob_file_search": "glob", "grep": "grep", "rg": "grep", "semanticsearch": "semSearch", "codebase_search": "semSearch",
	"websearch": "webSearch", "web_search": "webSearch", "webfetch": "webFetch", "web_fetch": "webFetch", "fetch": "fetch",
	"todowrite": "updateTodos", "todo_write": "updateTodos", "todoread": "readTodos", "task": "task", "subagent": "task",
	"askquestion": "askQuestion", "ask_question": "askQuestion", "createplan": "createPlan", "create_plan": "createPlan",
	"readlints": "readLints", "read_lints": "readLints", "generateimage": "generateImage", "generate_image": "generateImage",
	"callmcptool": "mcp", "mcp": "mcp", "listmcpresources": "listMcpResources", "fetchmcpresource": "readMcpResource",
}

// decodeMessage reads a message blob. Results of tools are given apart: they belong to calls of other messages.
func decodeMessage(data []byte) (agentcli.Message, []storedPart, bool) {
	var s storedMessage
	if json.Unmarshal(data, &s) != nil || s.Role == "" {
		return agentcli.Message{}, nil, false
	}
	m := agentcli.Message{ID: s.ID, Role: agentcli.Role(s.Role), Blocks: []agentcli.Block{}, Raw: data}
	var results []storedPart
	for _, p := range parts(s.Content) {
		if p.Type == "tool-result" {
			results = append(results, p)
			continue
		}
		if p.Options.Cursor.ModelName != "" {
			m.Model = p.Options.Cursor.ModelName
		}
		if b, ok := p.block(); ok {
			m.Blocks = append(m.Blocks, b)
		}
	}
	switch m.Role {
	case agentcli.RoleUser:
		userWords(&m)
	case agentcli.RoleSystem:
		m.Context = true
	}
	return m, results, true
}

// parts gives the parts of content that is a string, or a list.
func parts(content json.RawMessage) []storedPart {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []storedPart{{Type: "text", Text: text}}
	}
	var raw []json.RawMessage
	if json.Unmarshal(content, &raw) != nil {
		return nil
	}
	var out []storedPart
	for _, r := range raw {
		var p storedPart
		if json.Unmarshal(r, &p) == nil || p.Type != "" {
			out = append(out, p)
		}
	}
	return out
}

func (p storedPart) block() (agentcli.Block, bool) {
	switch p.Type {
	case "text":
		return agentcli.Block{Type: agentcli.BlockText, Text: p.Text}, true
	case "reasoning":
		return agentcli.Block{Type: agentcli.BlockThinking, Text: p.Text}, true
	case "redacted-reasoning":
		return agentcli.Block{Type: agentcli.BlockThinking}, true
	case "tool-call":
		return agentcli.Block{Type: agentcli.BlockTool, Tool: p.call()}, true
	case "image", "file":
		return p.image(), true
	}
	return agentcli.Block{}, false
}

// image stands for one: what it weighs, not what it is.
func (p storedPart) image() agentcli.Block {
	b := agentcli.Block{Type: agentcli.BlockImage, MediaType: p.MediaType}
	if b.MediaType == "" {
		b.MediaType = p.MimeType
	}
	for _, v := range []json.RawMessage{p.Image, p.Data} {
		var text string
		if json.Unmarshal(v, &text) == nil && text != "" {
			b.Bytes = int64(base64.StdEncoding.DecodedLen(len(text)))
		} else if len(v) > 0 {
			b.Bytes = int64(len(v))
		}
	}
	return b
}

// call describes a tool call by the names that the stream's events have.
func (p storedPart) call() *agentcli.ToolCall {
	args := p.Args
	if len(args) == 0 {
		args = p.Input
	}
	c := &agentcli.ToolCall{ID: p.ToolCallID, Name: p.ToolName, Native: p.ToolName, Kind: "other", Status: agentcli.ToolRunning, Input: args}
	stream := modelTools[strings.ToLower(p.ToolName)]
	if stream == "" && strings.HasPrefix(p.ToolName, "mcp_") {
		stream = "mcp"
	}
	if n, ok := names[stream]; ok {
		c.Name, c.Kind = n.name, n.kind
	}
	var a struct {
		Command, Path, FilePath, Pattern, GlobPattern, URL, Query, SearchTerm, Description, ToolName, Server string
		TargetFile                                                                                           string `json:"target_file"`
		FilePath2                                                                                            string `json:"file_path"`
		GlobPattern2                                                                                         string `json:"glob_pattern"`
		SearchTerm2                                                                                          string `json:"search_term"`
		TargetDirectory                                                                                      string `json:"target_directory"`
	}
	_ = json.Unmarshal(args, &a)
	path := first(a.Path, a.FilePath, a.FilePath2, a.TargetFile, a.TargetDirectory)
	c.Title = first(a.Command, path, a.Pattern, a.GlobPattern, a.GlobPattern2, a.URL, a.SearchTerm, a.SearchTerm2, a.Query, a.Description)
	switch {
	case c.Name == "MCP":
		c.Server, c.Title = a.Server, first(a.ToolName, strings.TrimPrefix(p.ToolName, "mcp_"))
	case c.Name == "Grep" || c.Name == "Glob":
		c.Title = first(a.Pattern, a.GlobPattern, a.GlobPattern2, path)
	case c.Name == "Todo":
		c.Title = "todo list"
	}
	if path != "" {
		c.Paths = []string{path}
	}
	return c
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// exitLine is how the result of a shell begins that did not end well, in words for the model.
var exitLine = regexp.MustCompile(`^(?i:exit code):? (\d{1,3})\b`)

// settleStored fills in a result. The store does not say how a call ended unless it is marked as an error: whatever has a
// result otherwise counts as done.
func settleStored(p storedPart) func(*agentcli.ToolCall) {
	return func(c *agentcli.ToolCall) {
		result := p.Result
		if len(result) == 0 {
			result = p.Output
		}
		c.Status, c.Output = agentcli.ToolOK, resultText(result)
		if m := exitLine.FindStringSubmatch(c.Output); m != nil && c.Name == "Bash" {
			code, _ := strconv.Atoi(m[1])
			c.ExitCode = &code
			if code != 0 {
				c.Status, c.Error = agentcli.ToolFailed, "exit code "+m[1]
			}
		}
		if p.IsError {
			c.Status, c.Error = agentcli.ToolFailed, c.Output
		}
	}
}

// resultText gives a result as text: a string, parts with text, or the JSON itself.
func resultText(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	var holder struct {
		Value json.RawMessage `json:"value"`
		Text  *string         `json:"text"`
	}
	if json.Unmarshal(v, &holder) == nil {
		switch {
		case holder.Text != nil:
			return *holder.Text
		case len(holder.Value) > 0 && holder.Value[0] != '{':
			return resultText(holder.Value)
		}
	}
	var b strings.Builder
	for _, p := range parts(v) {
		b.WriteString(p.Text)
	}
	if b.Len() > 0 {
		return b.String()
	}
	return string(v)
}

// What the CLI wraps a person's words in.
const (
	queryOpen  = "<user_query>\n"
	queryClose = "\n</user_query>"
	stampOpen  = "<timestamp>"
	stampClose = "</timestamp>"
	summary    = "[Previous conversation summary]"
)

// userWords unwraps what the person wrote, and marks messages that are the CLI's own. The original is in Raw.
func userWords(m *agentcli.Message) {
	m.Context = true
	said := m.Blocks[:0]
	for _, b := range m.Blocks {
		if b.Type != agentcli.BlockText {
			m.Context = false
			said = append(said, b)
			continue
		}
		if stamp, rest, ok := strings.Cut(strings.TrimPrefix(b.Text, stampOpen), stampClose); ok && strings.HasPrefix(b.Text, stampOpen) {
			if at, err := time.Parse("Monday, Jan 2, 2006, 3:04 PM (UTC-07)", strings.TrimSpace(stamp)); err == nil {
				m.Time = at.UTC()
			}
			b.Text = strings.TrimPrefix(rest, "\n")
		}
		if _, rest, ok := strings.Cut(b.Text, queryOpen); ok {
			b.Text, m.Context = strings.TrimSuffix(strings.TrimSuffix(rest, "\n"), queryClose), false
			said = append(said, b)
			continue
		}
		own := false
		for _, tag := range []string{"<user_info>", "<system_reminder>", "<system-reminder>", "<rules>", "<git_status>", "<project_layout>", "<open_and_recently_viewed_files>",
			"<agent_transcripts>", "<agent_skills>", "<mcp_file_system>", summary} {
			own = own || strings.HasPrefix(strings.TrimSpace(b.Text), tag)
		}
		if !own && b.Text != "" {
			m.Context = false
		}
		said = append(said, b)
	}
	m.Blocks = said
	if !m.Context {
		// Beside a person's words the reminders are not shown.
		m.Blocks = withoutReminders(said)
	}
}

func withoutReminders(list []agentcli.Block) []agentcli.Block {
	out := make([]agentcli.Block, 0, len(list))
	for _, b := range list {
		text := strings.TrimSpace(b.Text)
		if b.Type == agentcli.BlockText && (strings.HasPrefix(text, "<system_reminder>") || strings.HasPrefix(text, "<system-reminder>")) {
			continue
		}
		out = append(out, b)
	}
	return out
}

// sealed reports whether a blob that is no message looks encrypted, rather than of another shape.
func sealed(data []byte) bool {
	return len(data) > 0 && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && (!utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0)
}
