package agentcli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Historian is a provider that reads the conversations its CLI keeps on disk, also while the CLI writes them. Reading
// takes no locks, leaves nothing behind and changes nothing.
type Historian interface {
	// Sessions lists them, the one that was used last first. What cannot be read is listed with its Problem. No sessions is
	// no error.
	Sessions(ctx context.Context, o HistoryOptions) ([]StoredSession, error)
	// Load gives the messages of one session in order, each tool call with its result, and in the end what is known of the
	// session. The id may be the path of its file. A session that is not there is an error with CodeNotFound. After an
	// error that says what is wrong with the file, the messages given before it are good.
	Load(ctx context.Context, o HistoryOptions, id string, yield func(Message) error) (StoredSession, error)
}

// Importer is a provider that can go on with a conversation that its CLI keeps in another home.
type Importer interface {
	// Import gives the files to place in the home of an agent that works in dir, as its process sees it, so that the CLI
	// finds the session there. Files that are there already are to be left alone: they may have gone on.
	Import(ctx context.Context, from StoredSession, dir string) ([]File, error)
}

// HistoryOptions say where to look.
type HistoryOptions struct {
	// Home is whose home directory holds the sessions; empty means the user's own, with the environment variables that
	// move a CLI's files.
	Home string
	// Dir keeps to the sessions of one workspace.
	Dir string
	// Candidates are directories that may be workspaces: a CLI that names a workspace by a hash is asked about these.
	Candidates []string
	// Getenv replaces the environment; nil means the process's own, or none if Home is given.
	Getenv func(string) string
}

// Place gives the directory that a CLI keeps its files in: what an environment variable says, else a directory of the home.
func (o HistoryOptions) Place(variable, inHome string) (string, error) {
	getenv := o.Getenv
	if getenv == nil && o.Home == "" {
		getenv = os.Getenv
	}
	if getenv != nil && variable != "" {
		if dir := getenv(variable); dir != "" {
			return filepath.Clean(dir), nil
		}
	}
	home := o.Home
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", substrat.Errorf(substrat.CodeInvalid, "cannot look for sessions: there is no home directory: %v", err).WithHint("set HOME")
		}
	}
	return filepath.Join(home, inHome), nil
}

// StoredSession is a conversation that a CLI keeps on disk.
type StoredSession struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	// Dir is the workspace it was held in, empty if the CLI does not say and no candidate fits.
	Dir   string `json:"dir,omitempty"`
	Title string `json:"title,omitempty"`
	Model string `json:"model,omitempty"`
	// Mode is the CLI's own word for how much the agent was allowed.
	Mode      string    `json:"mode,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// Path is the file that holds it.
	Path string `json:"path"`
	// Messages counts them where that is cheap, and after Load.
	Messages int `json:"messages,omitempty"`
	// Problem says, for people, why it could not be read.
	Problem string `json:"problem,omitempty"`
}

// Role is whose word a message is.
type Role string

// The roles. RoleTool is for results whose call is not there.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// BlockType is the kind of a Block.
type BlockType string

// The types of blocks.
const (
	BlockText     BlockType = "text"
	BlockThinking BlockType = "thinking"
	BlockTool     BlockType = "tool"
	BlockImage    BlockType = "image"
)

// Block is one part of a message.
type Block struct {
	Type BlockType `json:"type"`
	Text string    `json:"text,omitempty"`
	// Tool is a call with its result, under the names that the events of a turn have too. One without a result is running.
	Tool *ToolCall `json:"tool,omitempty"`
	// MediaType and Bytes are of an image, which itself is in Raw only.
	MediaType string `json:"media_type,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`
}

// Message is one message of a stored conversation.
type Message struct {
	ID     string  `json:"id,omitempty"`
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
	// Context says that the CLI put it there by itself: its environment, a reminder, a summary of what went before.
	Context bool `json:"context,omitempty"`
	// Time is the zero time where the CLI keeps none.
	Time  time.Time       `json:"time,omitzero"`
	Model string          `json:"model,omitempty"`
	Usage *substrat.Usage `json:"usage,omitempty"`
	// Raw is the message as the CLI keeps it.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Text is what the message says: its text blocks.
func (m Message) Text() string {
	var b strings.Builder
	for _, x := range m.Blocks {
		if x.Type == BlockText {
			b.WriteString(x.Text)
		}
	}
	return b.String()
}

// Events tells an assistant's message in the vocabulary of a turn, whole.
func (m Message) Events() []Event {
	var out []Event
	at := int64(0)
	if !m.Time.IsZero() {
		at = m.Time.UnixMilli()
	}
	add := func(kind EventType, text string, tool *ToolCall) {
		out = append(out, Event{Type: kind, Text: text, Tool: tool, Model: m.Model, TimeMS: at})
	}
	for _, x := range m.Blocks {
		switch x.Type {
		case BlockText:
			add(EventText, x.Text, nil)
			add(EventTextEnd, "", nil)
		case BlockThinking:
			add(EventThinking, x.Text, nil)
			add(EventThinkEnd, "", nil)
		case BlockTool:
			add(EventToolStart, "", x.Tool)
			if x.Tool.Status != ToolRunning {
				add(EventToolEnd, "", x.Tool)
			}
		case BlockImage:
			add(EventNotice, "image "+x.MediaType, nil)
		}
	}
	return out
}
