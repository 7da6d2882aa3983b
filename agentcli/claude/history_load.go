package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/stored"
)

// storedLine is one line of a session's file.
type storedLine struct {
	Type              string          `json:"type"`
	UUID              string          `json:"uuid"`
	ParentUUID        string          `json:"parentUuid"`
	LogicalParentUUID string          `json:"logicalParentUuid"`
	IsSidechain       bool            `json:"isSidechain"`
	IsMeta            bool            `json:"isMeta"`
	IsCompactSummary  bool            `json:"isCompactSummary"`
	TranscriptOnly    bool            `json:"isVisibleInTranscriptOnly"`
	Timestamp         time.Time       `json:"timestamp"`
	CWD               string          `json:"cwd"`
	PermissionMode    string          `json:"permissionMode"`
	Summary           string          `json:"summary"`
	CustomTitle       string          `json:"customTitle"`
	AITitle           string          `json:"aiTitle"`
	Content           json.RawMessage `json:"content"`
	ToolUseResult     json.RawMessage `json:"toolUseResult"`
	Message           struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   *struct {
			Input      int64 `json:"input_tokens"`
			Output     int64 `json:"output_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
		} `json:"usage"`
	} `json:"message"`
}

// storedPart is one part of a message's content.
type storedPart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

var storedTools = map[string]stored.Naming{
	"Read": stored.Read, "NotebookRead": stored.Read, "Write": stored.Write, "Edit": stored.Edit, "MultiEdit": stored.Edit, "NotebookEdit": stored.Edit,
	"Bash": stored.Bash, "BashOutput": stored.Bash, "KillShell": stored.Bash, "KillBash": stored.Bash, "LS": stored.Ls, "Glob": stored.Glob, "Grep": stored.Grep,
	"WebFetch": stored.Fetch, "WebSearch": stored.WebSearch, "TodoWrite": stored.Todo, "TodoRead": stored.Todo, "TaskCreate": stored.Todo, "TaskUpdate": stored.Todo,
	"TaskList": stored.Todo, "Task": stored.Task, "Agent": stored.Task, "AskUserQuestion": stored.Ask, "ExitPlanMode": stored.Plan,
}

// describe fills in what a line says of the session. Titles that somebody gave stand above those that were made.
func (l storedLine) describe(s *agentcli.StoredSession) {
	if s.Dir == "" {
		s.Dir = l.CWD
	}
	if s.CreatedAt.IsZero() {
		s.CreatedAt = l.Timestamp.UTC()
	}
	if l.PermissionMode != "" {
		s.Mode = l.PermissionMode
	}
	if m := l.Message.Model; m != "" && m != "<synthetic>" {
		s.Model = m
	}
	switch {
	case l.CustomTitle != "" || l.AITitle != "" || l.Summary != "":
		for _, t := range []string{l.CustomTitle, l.AITitle, l.Summary} {
			if t != "" {
				s.Title = stored.Title(t)
				return
			}
		}
	case s.Title == "" && l.Type == "user" && !l.own():
		for _, p := range storedParts(l.Message.Content) {
			if p.Type == "text" && !ownWords(p.Text) {
				s.Title = stored.Title(p.Text)
				return
			}
		}
	}
}

// own reports whether the CLI put a line there by itself.
func (l storedLine) own() bool {
	return l.IsMeta || l.IsCompactSummary || l.TranscriptOnly || l.IsSidechain
}

func ownWords(text string) bool {
	text = strings.TrimSpace(text)
	for _, tag := range []string{"<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-caveat>", "<system-reminder>", "<bash-stdout>", "Caveat: The messages below",
		"[Request interrupted"} {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	return false
}

// Load implements agentcli.Historian. Where somebody went back in the conversation, the branch that was left is not given.
func (h History) Load(ctx context.Context, o agentcli.HistoryOptions, id string, yield func(agentcli.Message) error) (agentcli.StoredSession, error) {
	s, err := h.find(o, id)
	if err != nil {
		return s, err
	}
	t := storedTree{parents: map[string]string{}}
	if _, err := stored.Lines(ctx, s.Path, t.note); err != nil {
		return s, err
	}
	r := &storedReader{session: &s, keep: t.branch(), join: agentcli.Joiner{Yield: yield}}
	damage, err := stored.Lines(ctx, s.Path, r.line)
	if err != nil {
		return s, err
	}
	if err := r.flush(); err != nil {
		return s, err
	}
	if err := r.join.Flush(); err != nil {
		return s, err
	}
	s.Messages, s.Problem = r.join.Count, damage.String()
	if !r.known {
		return s, stored.Foreign(s.Path, historyTitle)
	}
	return s, nil
}

// storedTree is how the lines of a file hang together.
type storedTree struct {
	parents map[string]string
	order   []string
	leaf    string
}

func (t *storedTree) note(line []byte) error {
	var l storedLine
	if json.Unmarshal(line, &l) != nil || l.UUID == "" || l.IsSidechain {
		return nil
	}
	parent := l.ParentUUID
	if parent == "" {
		parent = l.LogicalParentUUID
	}
	t.parents[l.UUID] = parent
	t.order = append(t.order, l.UUID)
	if l.Type == "user" || l.Type == "assistant" {
		t.leaf = l.UUID
	}
	return nil
}

// branch gives the lines from the first to the last one. Where a parent is not in the file, what stands before is kept whole.
func (t *storedTree) branch() map[string]bool {
	keep := map[string]bool{}
	at := t.leaf
	for at != "" && !keep[at] {
		parent, there := t.parents[at]
		if !there {
			break
		}
		keep[at] = true
		if parent == "" {
			return keep
		}
		if _, there := t.parents[parent]; !there {
			for _, id := range t.order {
				if id == at {
					break
				}
				keep[id] = true
			}
			return keep
		}
		at = parent
	}
	return keep
}

// storedReader turns lines into messages.
type storedReader struct {
	session *agentcli.StoredSession
	keep    map[string]bool
	join    agentcli.Joiner
	known   bool
	// open is the assistant's message under way: each part of it has a line of its own. kept are ids of messages on the branch:
	// calls made together lie beside each other in the tree, and all of them count.
	open *agentcli.Message
	kept string
}

func (r *storedReader) flush() error {
	if r.open == nil {
		return nil
	}
	m := *r.open
	r.open = nil
	return r.join.Add(m)
}

func (r *storedReader) line(line []byte) error {
	var l storedLine
	if json.Unmarshal(line, &l) != nil || l.Type == "" {
		return nil
	}
	r.known = true
	if l.IsSidechain {
		return nil
	}
	l.describe(r.session)
	on := l.UUID == "" || r.keep[l.UUID]
	switch l.Type {
	case "assistant":
		if !on && (l.Message.ID == "" || l.Message.ID != r.kept) {
			return nil
		}
		r.kept = l.Message.ID
		return r.assistant(l, line)
	case "user":
		return r.user(l, line, on)
	case "system":
		if text := stored.Text(l.Content); on && text != "" {
			if err := r.flush(); err != nil {
				return err
			}
			return r.join.Add(agentcli.Message{ID: l.UUID, Role: agentcli.RoleSystem, Context: true, Time: l.Timestamp, Raw: bytes.Clone(line),
				Blocks: []agentcli.Block{{Type: agentcli.BlockText, Text: text}}})
		}
	}
	return nil
}

func (r *storedReader) assistant(l storedLine, line []byte) error {
	if r.open != nil && (l.Message.ID == "" || r.open.ID != l.Message.ID) {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if r.open == nil {
		id := l.Message.ID
		if id == "" {
			id = l.UUID
		}
		r.open = &agentcli.Message{ID: id, Role: agentcli.RoleAssistant, Blocks: []agentcli.Block{}, Time: l.Timestamp, Model: l.Message.Model, Raw: bytes.Clone(line)}
	}
	if u := l.Message.Usage; u != nil {
		r.open.Usage = &substrat.Usage{InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite}
	}
	for _, p := range storedParts(l.Message.Content) {
		if b, ok := p.block(); ok {
			r.open.Blocks = append(r.open.Blocks, b)
		}
	}
	return nil
}

func (r *storedReader) user(l storedLine, line []byte, on bool) error {
	if err := r.flush(); err != nil {
		return err
	}
	m := agentcli.Message{ID: l.UUID, Role: agentcli.RoleUser, Blocks: []agentcli.Block{}, Context: true, Time: l.Timestamp, Raw: bytes.Clone(line)}
	for _, p := range storedParts(l.Message.Content) {
		if p.Type == "tool_result" {
			if _, err := r.join.Result(p.ToolUseID, func(c *agentcli.ToolCall) { p.settle(c, l.ToolUseResult) }); err != nil {
				return err
			}
			continue
		}
		if b, ok := p.block(); ok {
			m.Blocks = append(m.Blocks, b)
			m.Context = m.Context && (b.Type == agentcli.BlockText && ownWords(b.Text))
		}
	}
	m.Context = m.Context || l.own()
	if !on || len(m.Blocks) == 0 {
		return nil
	}
	return r.join.Add(m)
}

// storedParts gives the parts of content that is a string, or a list.
func storedParts(v json.RawMessage) []storedPart {
	var text string
	if json.Unmarshal(v, &text) == nil && text != "" {
		return []storedPart{{Type: "text", Text: text}}
	}
	var raw []json.RawMessage
	_ = json.Unmarshal(v, &raw)
	var out []storedPart
	for _, x := range raw {
		var p storedPart
		if json.Unmarshal(x, &p) == nil {
			out = append(out, p)
		}
	}
	return out
}

func (p storedPart) block() (agentcli.Block, bool) {
	switch p.Type {
	case "text":
		return agentcli.Block{Type: agentcli.BlockText, Text: p.Text}, true
	case "thinking":
		return agentcli.Block{Type: agentcli.BlockThinking, Text: p.Thinking}, true
	case "redacted_thinking":
		return agentcli.Block{Type: agentcli.BlockThinking}, true
	case "tool_use", "server_tool_use":
		return agentcli.Block{Type: agentcli.BlockTool, Tool: stored.Call(storedTools, p.ID, p.Name, p.Input)}, true
	case "image", "document":
		return agentcli.Block{Type: agentcli.BlockImage, MediaType: p.Source.MediaType, Bytes: stored.Weight(p.Source.Data)}, true
	}
	return agentcli.Block{}, false
}

// settle fills a result into its call. Details are the CLI's own, beside what the model was told.
func (p storedPart) settle(c *agentcli.ToolCall, details json.RawMessage) {
	c.Status, c.Output = agentcli.ToolOK, stored.Text(p.Content)
	var d struct {
		Patch []struct {
			Lines                                  []string `json:"lines"`
			OldStart, OldLines, NewStart, NewLines int
		} `json:"structuredPatch"`
	}
	if json.Unmarshal(details, &d) == nil {
		var b strings.Builder
		for _, h := range d.Patch {
			b.WriteString(stored.Hunk(h.OldStart, h.OldLines, h.NewStart, h.NewLines))
			for _, line := range h.Lines {
				b.WriteString(line + "\n")
			}
		}
		c.Diff = b.String()
	}
	if p.IsError {
		c.Status, c.Error = agentcli.ToolFailed, c.Output
		if strings.Contains(c.Output, "doesn't want to proceed with this tool use") || strings.Contains(c.Output, "doesn't want to take this action") {
			c.Status = agentcli.ToolRejected
		}
	}
}
