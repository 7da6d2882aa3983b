package gemini

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/stored"
)

// Sessions are kept in tmp/HASH/chats/session-TIME-ID.json below .gemini of the home, one JSON object for a whole
// conversation, written anew as it goes on. HASH is the SHA-256 of the workspace's path, or in newer builds a word, with the
// path in a file .project_root beside the chats.

// History reads and takes over the sessions that Gemini CLI keeps. It implements agentcli.Historian and agentcli.Importer.
type History struct{}

const historyTitle = "Gemini CLI"

type storedChat struct {
	SessionID   string            `json:"sessionId"`
	ProjectHash string            `json:"projectHash"`
	StartTime   time.Time         `json:"startTime"`
	LastUpdated time.Time         `json:"lastUpdated"`
	Summary     string            `json:"summary"`
	Messages    []json.RawMessage `json:"messages"`
}

type storedMessage struct {
	ID        string          `json:"id"`
	Timestamp time.Time       `json:"timestamp"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Model     string          `json:"model"`
	Thoughts  []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	ToolCalls []storedCall `json:"toolCalls"`
	Tokens    *struct {
		Input    int64 `json:"input"`
		Output   int64 `json:"output"`
		Cached   int64 `json:"cached"`
		Thoughts int64 `json:"thoughts"`
	} `json:"tokens"`
}

type storedCall struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Args          json.RawMessage `json:"args"`
	Result        json.RawMessage `json:"result"`
	Status        string          `json:"status"`
	ResultDisplay json.RawMessage `json:"resultDisplay"`
}

var storedTools = map[string]stored.Naming{
	"read_file": stored.Read, "read_many_files": stored.Read, "write_file": stored.Write, "replace": stored.Edit, "edit": stored.Edit, "list_directory": stored.Ls,
	"glob": stored.Glob, "search_file_content": stored.Grep, "grep_search": stored.Grep, "run_shell_command": stored.Bash, "web_fetch": stored.Fetch,
	"google_web_search": stored.WebSearch, "write_todos": stored.Todo, "save_memory": {Name: "save_memory", Kind: "think"}, "ask_user": stored.Ask,
}

// Sessions implements agentcli.Historian.
func (h History) Sessions(ctx context.Context, o agentcli.HistoryOptions) ([]agentcli.StoredSession, error) {
	out := []agentcli.StoredSession{}
	files, err := h.storedFiles(o)
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, _, err := readChat(ctx, f, o)
		if err != nil {
			s.Problem = stored.Reason(f, err)
		}
		out = append(out, s)
	}
	stored.Newest(out)
	return out, err
}

func projectHash(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:])
}

// storedFiles lists the files of chats.
func (History) storedFiles(o agentcli.HistoryOptions) ([]string, error) {
	root, err := o.Place("", ".gemini/tmp")
	if err != nil {
		return nil, err
	}
	projects, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, stored.Unreadable(root, err)
	}
	var out []string
	for _, p := range projects {
		if o.Dir != "" && projectDir(filepath.Join(root, p.Name()), o) == "" {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(root, p.Name(), "chats", "*.json"))
		out = append(out, files...)
	}
	return out, nil
}

// projectDir finds the workspace that a directory of chats is of: o.Dir only, if that is given.
func projectDir(project string, o agentcli.HistoryOptions) string {
	candidates := o.Candidates
	if o.Dir != "" {
		candidates = []string{o.Dir}
	}
	root, err := os.ReadFile(filepath.Join(project, ".project_root"))
	said := strings.TrimSpace(string(root))
	if err == nil && o.Dir == "" {
		return said
	}
	for _, c := range candidates {
		for _, d := range []string{c, realDir(c)} {
			if d == said || projectHash(d) == filepath.Base(project) {
				return d
			}
		}
	}
	return ""
}

func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// readChat reads a file whole: it is one value. One that is being written is read again.
func readChat(ctx context.Context, file string, o agentcli.HistoryOptions) (agentcli.StoredSession, storedChat, error) {
	s := agentcli.StoredSession{Provider: "gemini", ID: strings.TrimSuffix(filepath.Base(file), ".json"), Path: file, Dir: projectDir(filepath.Dir(filepath.Dir(file)), o)}
	var c storedChat
	for try := 0; ; try++ {
		data, err := stored.Whole(file, false)
		if err != nil {
			return s, c, err
		}
		if err = json.Unmarshal(data, &c); err == nil {
			break
		}
		if try == 3 {
			return s, c, substrat.Errorf(substrat.CodeInvalid, "cannot read %s as a session of %s: %v", file, historyTitle, err).
				WithHint("the file was cut off, or is of a newer format")
		}
		select {
		case <-ctx.Done():
			return s, c, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	if c.SessionID == "" || c.Messages == nil {
		return s, c, stored.Foreign(file, historyTitle)
	}
	s.ID, s.CreatedAt, s.UpdatedAt, s.Messages, s.Title = c.SessionID, c.StartTime.UTC(), c.LastUpdated.UTC(), len(c.Messages), stored.Title(c.Summary)
	for _, raw := range c.Messages {
		var m storedMessage
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		if m.Model != "" {
			s.Model = m.Model
		}
		if s.Title == "" && m.Type == "user" {
			s.Title = stored.Title(stored.Text(m.Content))
		}
	}
	return s, c, nil
}

// Load implements agentcli.Historian.
func (h History) Load(ctx context.Context, o agentcli.HistoryOptions, id string, yield func(agentcli.Message) error) (agentcli.StoredSession, error) {
	file := id
	if !strings.HasSuffix(id, ".json") {
		list, err := h.Sessions(ctx, o)
		if err != nil {
			return agentcli.StoredSession{}, err
		}
		s, err := stored.Pick(historyTitle, "gemini", id, list)
		if err != nil {
			return s, err
		}
		file = s.Path
	}
	s, c, err := readChat(ctx, file, o)
	if err != nil {
		return s, err
	}
	s.Messages = 0
	for _, raw := range c.Messages {
		var m storedMessage
		if err := ctx.Err(); err != nil {
			return s, err
		}
		if json.Unmarshal(raw, &m) != nil {
			s.Problem = "some of its messages cannot be read"
			continue
		}
		if err := yield(m.message(raw)); err != nil {
			return s, err
		}
		s.Messages++
	}
	return s, nil
}

func (m storedMessage) message(raw []byte) agentcli.Message {
	out := agentcli.Message{ID: m.ID, Role: agentcli.RoleSystem, Blocks: []agentcli.Block{}, Time: m.Timestamp.UTC(), Model: m.Model, Raw: bytes.Clone(raw)}
	switch m.Type {
	case "user":
		out.Role = agentcli.RoleUser
	case "gemini":
		out.Role = agentcli.RoleAssistant
	default:
		out.Context = true
	}
	for _, t := range m.Thoughts {
		text := t.Description
		if t.Subject != "" {
			text = t.Subject + ": " + text
		}
		out.Blocks = append(out.Blocks, agentcli.Block{Type: agentcli.BlockThinking, Text: text})
	}
	if text := stored.Text(m.Content); text != "" && !bytes.Equal(m.Content, []byte("null")) {
		out.Blocks = append(out.Blocks, agentcli.Block{Type: agentcli.BlockText, Text: text})
	}
	for _, c := range m.ToolCalls {
		out.Blocks = append(out.Blocks, agentcli.Block{Type: agentcli.BlockTool, Tool: c.call()})
	}
	if t := m.Tokens; t != nil {
		out.Usage = &substrat.Usage{InputTokens: t.Input - t.Cached, OutputTokens: t.Output + t.Thoughts, CacheReadTokens: t.Cached}
	}
	return out
}

func (c storedCall) call() *agentcli.ToolCall {
	t := stored.Call(storedTools, c.ID, c.Name, c.Args)
	var results []struct {
		FunctionResponse struct {
			Response struct {
				Output json.RawMessage `json:"output"`
				Error  string          `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	}
	_ = json.Unmarshal(c.Result, &results)
	for _, r := range results {
		if len(r.FunctionResponse.Response.Output) > 0 {
			t.Output += stored.Text(r.FunctionResponse.Response.Output)
		}
		t.Error += r.FunctionResponse.Response.Error
	}
	var display struct {
		FileDiff string `json:"fileDiff"`
	}
	if json.Unmarshal(c.ResultDisplay, &display) == nil {
		t.Diff = display.FileDiff
	}
	switch {
	case c.Status == "cancelled":
		t.Status = agentcli.ToolRejected
	case c.Status == "error" || t.Error != "":
		t.Status = agentcli.ToolFailed
	case c.Status == "success" || len(results) > 0:
		t.Status = agentcli.ToolOK
	}
	return t
}

// Import implements agentcli.Importer.
func (History) Import(_ context.Context, from agentcli.StoredSession, dir string) ([]agentcli.File, error) {
	data, err := stored.Whole(from.Path, false)
	if err != nil {
		return nil, err
	}
	at := path.Join(".gemini/tmp", projectHash(dir), "chats", filepath.Base(from.Path))
	return slices.Clip([]agentcli.File{{Root: agentcli.InHome, Path: at, Data: data, KeepExisting: true}}), nil
}
