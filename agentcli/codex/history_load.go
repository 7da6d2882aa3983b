package codex

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/stored"
)

// storedItem is what a line is about, in all of its shapes.
type storedItem struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Role   string          `json:"role"`
	CWD    string          `json:"cwd"`
	Model  string          `json:"model"`
	Policy json.RawMessage `json:"approval_policy"`

	Content json.RawMessage `json:"content"`
	Summary json.RawMessage `json:"summary"`
	// Of events: their texts.
	Message json.RawMessage `json:"message"`
	Text    string          `json:"text"`
	// Of calls.
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Action    json.RawMessage `json:"action"`
	Status    string          `json:"status"`
	ExitCode  *int            `json:"exit_code"`
	Success   *bool           `json:"success"`
	Info      struct {
		Last *struct {
			Input  int64 `json:"input_tokens"`
			Cached int64 `json:"cached_input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"last_token_usage"`
	} `json:"info"`
}

type storedPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
}

var storedTools = map[string]stored.Naming{
	"shell": stored.Bash, "local_shell": stored.Bash, "container.exec": stored.Bash, "exec_command": stored.Bash, "shell_command": stored.Bash, "write_stdin": stored.Bash,
	"unified_exec": stored.Bash, "apply_patch": stored.Edit, "update_plan": stored.Todo, "view_image": stored.Read, "read_file": stored.Read, "list_dir": stored.Ls,
	"grep_files": stored.Grep, "web_search": stored.WebSearch, "spawn_agent": stored.Task, "request_user_input": stored.Ask, "image_generation": stored.Image,
}

func (l storedLine) describe(s *agentcli.StoredSession) {
	switch {
	case l.outer == "session_meta":
		if s.Dir == "" {
			s.Dir = l.item.CWD
		}
		if s.CreatedAt.IsZero() {
			s.CreatedAt = l.at
		}
	case l.outer == "turn_context":
		if l.item.Model != "" {
			s.Model = l.item.Model
		}
		if policy := stored.Text(l.item.Policy); policy != "" {
			s.Mode = policy
		}
	case s.Title == "" && l.outer == "response_item" && l.item.Type == "message" && l.item.Role == "user":
		if m := l.message(); !m.Context {
			s.Title = stored.Title(m.Text())
		}
	}
	if s.CreatedAt.IsZero() {
		s.CreatedAt = l.at
	}
}

// storedText is a text that may be there twice.
type storedText struct{ kind, text string }

type storedReader struct {
	session *agentcli.StoredSession
	items   map[storedText]int // texts of items, with how many of them there are
	join    agentcli.Joiner
	open    *agentcli.Message // the assistant's message under way: items follow each other without a frame
	model   string
	known   bool
}

// count notes which texts are there as items, so that an event that says the same is not given too.
func (r *storedReader) count(line []byte) error {
	if l, ok := readStored(line); ok && l.outer == "response_item" {
		switch l.item.Type {
		case "message":
			r.items[storedText{l.item.Role, squeeze(l.message().Text())}]++
		case "reasoning":
			for _, p := range l.item.reasoning() {
				r.items[storedText{"reasoning", squeeze(p)}]++
			}
		}
	}
	return nil
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func (r *storedReader) line(line []byte) error {
	l, ok := readStored(line)
	if !ok {
		return nil
	}
	l.describe(r.session)
	switch l.outer {
	case "session_meta":
		r.known = true
	case "turn_context":
		r.known, r.model = true, l.item.Model
	case "compacted":
		return r.message(agentcli.Message{Role: agentcli.RoleUser, Context: true, Blocks: text(stored.Text(l.item.Message))}, l)
	case "event_msg":
		r.known = true
		return r.event(l)
	case "response_item":
		return r.item(l)
	}
	return nil
}

func text(s string) []agentcli.Block { return []agentcli.Block{{Type: agentcli.BlockText, Text: s}} }

// message gives a message that stands by itself.
func (r *storedReader) message(m agentcli.Message, l storedLine) error {
	if err := r.flush(); err != nil {
		return err
	}
	m.Time, m.Raw = l.at, bytes.Clone(l.raw)
	return r.join.Add(m)
}

func (r *storedReader) flush() error {
	if r.open == nil {
		return nil
	}
	m := *r.open
	r.open = nil
	return r.join.Add(m)
}

// part adds to the assistant's message.
func (r *storedReader) part(b agentcli.Block, l storedLine) {
	if r.open == nil {
		r.open = &agentcli.Message{ID: l.item.ID, Role: agentcli.RoleAssistant, Time: l.at, Model: r.model, Raw: bytes.Clone(l.raw)}
	}
	r.open.Blocks = append(r.open.Blocks, b)
}

// event takes what only events say, and texts of which there is no item.
func (r *storedReader) event(l storedLine) error {
	said := stored.Text(l.item.Message)
	switch l.item.Type {
	case "user_message":
		if r.items[storedText{"user", squeeze(said)}] == 0 && said != "" {
			return r.message(agentcli.Message{Role: agentcli.RoleUser, Blocks: text(said)}, l)
		}
	case "agent_message":
		if r.items[storedText{"assistant", squeeze(said)}] == 0 && said != "" {
			r.part(agentcli.Block{Type: agentcli.BlockText, Text: said}, l)
		}
	case "agent_reasoning":
		if r.items[storedText{"reasoning", squeeze(l.item.Text)}] == 0 && l.item.Text != "" {
			r.part(agentcli.Block{Type: agentcli.BlockThinking, Text: l.item.Text}, l)
		}
	case "token_count":
		if u := l.item.Info.Last; u != nil && r.open != nil {
			r.open.Usage = &substrat.Usage{InputTokens: u.Input - u.Cached, OutputTokens: u.Output, CacheReadTokens: u.Cached}
		}
	}
	return nil
}

func (r *storedReader) item(l storedLine) error {
	i := l.item
	switch i.Type {
	case "message":
		r.known = true
		m := l.message()
		if m.Role != agentcli.RoleAssistant {
			return r.message(m, l)
		}
		for _, b := range m.Blocks {
			r.part(b, l)
		}
	case "reasoning":
		r.known = true
		for _, p := range i.reasoning() {
			r.part(agentcli.Block{Type: agentcli.BlockThinking, Text: p}, l)
		}
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "image_generation_call", "tool_search_call":
		r.known = true
		r.part(agentcli.Block{Type: agentcli.BlockTool, Tool: i.call()}, l)
	case "function_call_output", "custom_tool_call_output", "mcp_tool_call_output", "local_shell_call_output", "tool_search_output":
		if err := r.flush(); err != nil {
			return err
		}
		call := agentcli.ToolCall{}
		known, err := r.join.Result(i.CallID, func(c *agentcli.ToolCall) { settleStored(c, i.Output) })
		if known || err != nil {
			return err
		}
		call = agentcli.ToolCall{ID: i.CallID, Kind: "other", Status: agentcli.ToolOK}
		settleStored(&call, i.Output)
		return r.message(agentcli.Message{Role: agentcli.RoleTool, Blocks: []agentcli.Block{{Type: agentcli.BlockTool, Tool: &call}}}, l)
	}
	return nil
}

// ownWords are the beginnings of what the CLI says in the user's name.
var ownWords = []string{"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>", "<turn_aborted>", "<skills_instructions>",
	"<INSTRUCTIONS>", "<user_shell_command>", "<collaboration_mode>", "<subagent_notification>"}

func (l storedLine) message() agentcli.Message {
	m := agentcli.Message{ID: l.item.ID, Role: agentcli.Role(l.item.Role), Blocks: []agentcli.Block{}}
	if m.Role == "developer" {
		m.Role = agentcli.RoleSystem
	}
	var list []storedPart
	if json.Unmarshal(l.item.Content, &list) != nil {
		list = []storedPart{{Type: "input_text", Text: stored.Text(l.item.Content)}}
	}
	m.Context = m.Role != agentcli.RoleAssistant && len(list) > 0
	for _, p := range list {
		if p.Type == "input_image" || p.ImageURL != "" {
			kind, _, _ := strings.Cut(strings.TrimPrefix(p.ImageURL, "data:"), ";")
			if !strings.HasPrefix(p.ImageURL, "data:") {
				kind = ""
			}
			m.Blocks = append(m.Blocks, agentcli.Block{Type: agentcli.BlockImage, MediaType: kind, Bytes: stored.Weight(p.ImageURL)})
			m.Context = false
			continue
		}
		m.Blocks = append(m.Blocks, agentcli.Block{Type: agentcli.BlockText, Text: p.Text})
		m.Context = m.Context && (m.Role == agentcli.RoleSystem || own(p.Text))
	}
	return m
}

func own(text string) bool {
	text = strings.TrimSpace(text)
	for _, tag := range ownWords {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	return text == ""
}

// reasoning gives what may be read of it: the summary, else the text. The rest is encrypted.
func (i storedItem) reasoning() []string {
	for _, v := range []json.RawMessage{i.Summary, i.Content} {
		var list []storedPart
		if json.Unmarshal(v, &list) != nil {
			continue
		}
		var out []string
		for _, p := range list {
			if p.Text != "" {
				out = append(out, p.Text)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

func (i storedItem) call() *agentcli.ToolCall {
	name, input, id := i.Name, json.RawMessage(i.Arguments), i.CallID
	switch i.Type {
	case "local_shell_call":
		name, input = "local_shell", i.Action
	case "web_search_call":
		name, input = "web_search", i.Action
	case "image_generation_call":
		name = "image_generation"
	case "custom_tool_call":
		input, _ = json.Marshal(map[string]string{"input": i.Input})
	}
	if id == "" {
		id = i.ID
	}
	if strings.HasPrefix(i.Namespace, "mcp__") {
		name = strings.TrimSuffix(i.Namespace, "__") + "__" + strings.TrimPrefix(name, "__")
	}
	c := stored.Call(storedTools, id, name, input)
	if name == "apply_patch" || i.Name == "apply_patch" {
		patched(c, i.Input+i.Arguments)
	}
	if i.Type == "web_search_call" || i.Type == "image_generation_call" {
		// Their results have no lines of their own.
		if c.Status = agentcli.ToolOK; i.Status == "failed" {
			c.Status = agentcli.ToolFailed
		}
	}
	return c
}

var patchFile = regexp.MustCompile(`\*\*\* (Add|Update|Delete) File: ([^\n\\]+)`)

// patched names the files of a patch.
func patched(c *agentcli.ToolCall, patch string) {
	for _, m := range patchFile.FindAllStringSubmatch(patch, 100) {
		c.Paths = append(c.Paths, m[2])
		switch {
		case len(c.Paths) > 1:
		case m[1] == "Add":
			c.Name, c.Kind = "Write", "edit"
		case m[1] == "Delete":
			c.Name, c.Kind = "Delete", "delete"
		}
	}
	if len(c.Paths) > 0 {
		c.Title = strings.Join(c.Paths, ", ")
	}
	if len(c.Paths) > 1 {
		c.Name, c.Kind = "Edit", "edit"
	}
}

// exitLine is how the output of a command ends up in words for the model.
var exitLine = regexp.MustCompile(`(?m)^(?:Exit code: |Process exited with code )(-?\d+)$`)

// settleStored fills in a result: a text, an object as text with its exit code, or a list of parts.
func settleStored(c *agentcli.ToolCall, output json.RawMessage) {
	c.Status = agentcli.ToolOK
	said := stored.Text(output)
	var o struct {
		Output   *string         `json:"output"`
		Content  json.RawMessage `json:"content"`
		Success  *bool           `json:"success"`
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	}
	if strings.HasPrefix(said, "{") && json.Unmarshal([]byte(said), &o) == nil && (o.Output != nil || len(o.Content) > 0) {
		if said = stored.Text(o.Content); o.Output != nil {
			said = *o.Output
		}
		c.ExitCode = o.Metadata.ExitCode
	} else if m := exitLine.FindStringSubmatch(said); m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			c.ExitCode = &code
		}
		if _, rest, ok := strings.Cut(said, "\nOutput:\n"); ok {
			said = rest
		}
	}
	c.Output = said
	switch {
	case c.ExitCode != nil && *c.ExitCode != 0:
		c.Status, c.Error = agentcli.ToolFailed, "exit code "+strconv.Itoa(*c.ExitCode)
	case o.Success != nil && !*o.Success:
		c.Status, c.Error = agentcli.ToolFailed, said
	case strings.Contains(said, "rejected by user"):
		c.Status, c.Error = agentcli.ToolRejected, said
	}
}
