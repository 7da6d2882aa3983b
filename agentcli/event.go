package agentcli

import (
	"encoding/json"

	"substrat.dev/substrat"
)

// EventType is the kind of an Event.
type EventType string

// The types of events.
const (
	EventSession    EventType = "session"  // the CLI named its session and model
	EventText       EventType = "text"     // text to append; all of them together are the turn's text
	EventTextEnd    EventType = "text.end" // a segment of text is complete; Text repeats nothing
	EventThinking   EventType = "thinking" // reasoning to append
	EventThinkEnd   EventType = "thinking.end"
	EventToolStart  EventType = "tool.started"
	EventToolUpdate EventType = "tool.updated"   // what is known of a running call by now, whole
	EventToolEnd    EventType = "tool.completed" // Tool.Status says how
	EventTodos      EventType = "todos"
	EventPlan       EventType = "plan" // Text is the plan in Markdown, Todos its steps
	EventQuestion   EventType = "question"
	EventPermission EventType = "permission"
	EventAnswer     EventType = "answer" // what was answered to a question, a permission request or a plan
	EventUsage      EventType = "usage"
	EventRetry      EventType = "retry"  // the CLI reconnects or starts over; Text says what
	EventNotice     EventType = "notice" // anything else worth keeping: unknown frames, noise, overlong lines
	EventUser       EventType = "user"   // the prompt as the CLI echoes it; not part of the turn's text
	EventResult     EventType = "result" // the last one of a turn
)

// Event is one normalised thing an agent did.
type Event struct {
	Type    EventType       `json:"type"`
	Text    string          `json:"text,omitempty"`
	Session string          `json:"session,omitempty"`
	Model   string          `json:"model,omitempty"`
	Tool    *ToolCall       `json:"tool,omitempty"`
	Todos   []Todo          `json:"todos,omitempty"`
	Ask     *Question       `json:"question,omitempty"`
	Answer  *Answer         `json:"answer,omitempty"`
	Usage   *substrat.Usage `json:"usage,omitempty"`
	Result  *Result         `json:"result,omitempty"`
	// Reset, with a retry, says that the CLI starts the turn over: the text before it is void.
	Reset bool `json:"reset,omitempty"`
	// TimeMS is when the CLI says it happened, Unix milliseconds, 0 if it does not say.
	TimeMS int64 `json:"time_ms,omitempty"`
	// Offset is the stream offset just past the frame this event came from.
	Offset int64 `json:"offset"`
	// Raw is the frame, if it was JSON. It is valid only during emit; a receiver that keeps it copies it.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// ToolStatus is how a tool call stands.
type ToolStatus string

// The states of a tool call.
const (
	ToolRunning  ToolStatus = "running"
	ToolOK       ToolStatus = "completed"
	ToolFailed   ToolStatus = "failed"
	ToolRejected ToolStatus = "rejected"
	ToolTimeout  ToolStatus = "timeout"
)

// ToolCall is one use of a tool by the agent, under a canonical name: Read, Write, Edit, Delete, Bash, Ls, Glob, Grep,
// Search, Todo, Fetch, WebSearch, Task, Ask, Plan, Lints, Image, MCP; or the CLI's own name where none of these fits.
type ToolCall struct {
	// ID pairs start and end. It is opaque and may contain line breaks.
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Native string     `json:"native,omitempty"` // the CLI's own name for it
	Kind   string     `json:"kind"`             // as in ACP: read, edit, delete, search, execute, think, fetch, other
	Status ToolStatus `json:"status"`
	// Title is one line for people: the command, the path, the pattern.
	Title  string          `json:"title,omitempty"`
	Server string          `json:"server,omitempty"` // MCP server, for MCP calls
	Input  json.RawMessage `json:"input,omitempty"`
	Output string          `json:"output,omitempty"`
	// Error says why a call failed or was rejected.
	Error string `json:"error,omitempty"`
	// Diff is a unified diff, without the lines that name the file.
	Diff string `json:"diff,omitempty"`
	// Paths are the files it is about, as the CLI names them. Line is where in the first of them, counted from 1, if it says.
	Paths    []string `json:"paths,omitempty"`
	Line     int      `json:"line,omitempty"`
	ExitCode *int     `json:"exit_code,omitempty"`
}

// Todo is one entry of the agent's own list.
type Todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed, cancelled
}
