// Package agentcli drives one coding-agent command line: it says what to run for a prompt, and turns what the program
// prints into one vocabulary of events, whichever program it is.
//
// A [Provider] never starts processes and never reads clocks or files of the host. It returns a [Command] (argv,
// environment, files, what it needs from its surroundings) and later converses over a [Conn] that its host gives it. So
// the same provider runs bare in a Go program, inside a sandbox under the daemon, and over a recorded stream in a test.
//
// Every event keeps the raw frame it came from. A frame that a provider does not know becomes a notice, never an error.
package agentcli

import (
	"context"
	"encoding/json"
	"io"

	"substrat.dev/substrat"
)

// Request is one turn to run.
type Request struct {
	Prompt string
	// Session is the conversation to resume; empty lets the CLI begin one of its own.
	Session string
	Model   string
	// Dir is the workspace, absolute, as the agent's process sees it.
	Dir string
	// Home is the private home of the agent, absolute, as the agent's process sees it.
	Home string
	// Secret says that the prompt may hold a secret and must not appear in argv.
	Secret bool
	// MCP are the servers the agent is to have, beside those of its own configuration.
	MCP []MCPServer
	// Deny is what the agent must not do, as far as its CLI can be told.
	Deny []Denial
	// Instructions stand above every turn and survive the CLI's own compaction.
	Instructions string
	// Program is what an agent runs that is a program of the user's: the command and its arguments.
	Program []string
	// Agent is who the turn is for, where the host has teams.
	Agent *substrat.Agent
	// Live is set for a turn of a [LiveProvider].
	Live *LiveTurn
}

// Denial is something that an agent must not do: a command, or the reading and writing of a file. In both, * stands for any
// text; a path that ends in /** includes what is under it.
type Denial struct {
	Command, Path string
}

// MCPServer is one MCP server spoken to over stdio.
type MCPServer struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
}

// Command is what to run for a turn. The host owns exec, sandbox, spool, cancellation and limits.
type Command struct {
	Argv []string
	// Env are variables on top of the host's minimal set (PATH, HOME, LANG, TERM, TMPDIR).
	Env map[string]string
	// Stdin is written to the process and closed, unless KeepStdin: then the conversation writes to it.
	Stdin     []byte
	KeepStdin bool
	// Files are to exist before the process starts.
	Files []File
	// Exposes are host paths that the program needs to see, read-only: its installation, its credentials.
	Exposes []Expose
	// Network says whether the program needs to reach the network.
	Network bool
}

// FileRoot says what a File's path is relative to.
type FileRoot string

// The roots of files.
const (
	// InHome: the agent's private home; kept between turns, writable by the agent.
	InHome FileRoot = "home"
	// InWorkspaceConfig: a directory of the workspace that the CLI reads its configuration from. The host shows it
	// read-only in the workspace without writing into the user's tree. The first path element is that directory.
	InWorkspaceConfig FileRoot = "workspace-config"
)

// File is a generated file.
type File struct {
	Root FileRoot
	Path string // relative, slash-separated, no ".."
	Data []byte
	// KeepExisting leaves a file in the home alone when it is there already.
	KeepExisting bool
}

// Expose is a host path shown inside the sandbox, read-only.
type Expose struct {
	Host string // absolute on the host
	// At is where the process sees it; empty means at its own path. A path under the home starts with "~/".
	At string
	// Optional paths are skipped when they do not exist.
	Optional bool
}

// Frame is one line of the process's standard output without its line end.
type Frame struct {
	// Data is valid until the next ReadFrame.
	Data []byte
	// End is the offset in the stream just past this frame; readers resume from it.
	End int64
	// Skipped is set instead of Data for a line longer than the limit: how many bytes it had.
	Skipped int64
}

// Conn is the host's side of a conversation.
type Conn interface {
	// ReadFrame returns the next frame, or io.EOF after the last one when the process has ended.
	ReadFrame(ctx context.Context) (Frame, error)
	// WriteFrame writes one line to the process. It fails where the command did not keep stdin.
	WriteFrame(ctx context.Context, line []byte) error
}

// Exit is how the process ended.
type Exit struct {
	Code   int    // -1 if it was ended by a signal
	Signal string // "SIGKILL", …, if it was
	Stderr []byte // the tail, at most 64 KiB
	Stdout []byte // the tail of what was not JSON, at most 64 KiB
}

// Result is how a turn ended, as far as the stream tells.
type Result struct {
	// Terminal says that the stream held the record that ends a turn. Without one, the host asks Diagnose.
	Terminal bool `json:"terminal"`
	// Text is the turn's whole text, put together from its segments.
	Text    string                `json:"text"`
	Session string                `json:"session,omitempty"`
	Outcome substrat.Outcome      `json:"outcome"`
	Class   substrat.FailureClass `json:"class,omitempty"`
	// Detail is for people: what the CLI said about a failure.
	Detail     string          `json:"detail,omitempty"`
	Usage      *substrat.Usage `json:"usage,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
	ToolCalls  int             `json:"tool_calls,omitempty"`
	Files      []string        `json:"files,omitempty"`
	// Model is the name the CLI reports, which need not be the one asked for.
	Model string `json:"model,omitempty"`
	// Checkpoint is the state that a live program asks to be given in place of its history so far.
	Checkpoint json.RawMessage `json:"-"`
	// Void says that a live program could not go on from its history: the turn is not to be part of it, and the process is
	// of no more use.
	Void bool `json:"-"`
}

// Info describes a provider.
type Info struct {
	Name string `json:"name"`
	// Title is for people: "Cursor CLI".
	Title string `json:"title"`
	// Resume: conversations can be continued by id. MCP: agents get Substrat's tools. Network: it needs the internet.
	Resume  bool `json:"resume"`
	MCP     bool `json:"mcp"`
	Network bool `json:"network"`
	// Live: one process serves turn after turn; the provider is a [LiveProvider]. Replays: a new process of it goes on in
	// the middle of a turn, from the record of what was done.
	Live    bool `json:"live,omitempty"`
	Replays bool `json:"replays,omitempty"`
	// NeedsProgram: an agent is created with a command of the user's.
	NeedsProgram bool `json:"needs_program,omitempty"`
}

// Provider knows how to drive one kind of agent CLI. Its methods are safe for concurrent use.
type Provider interface {
	Info() Info
	// Command says what to run for one turn.
	Command(Request) (Command, error)
	// Converse reads frames and emits events until the turn's terminal record or io.EOF. It returns an error only when
	// reading or emitting failed; what the agent did wrong is in the Result.
	Converse(ctx context.Context, conn Conn, req Request, emit func(Event) error) (Result, error)
	// Diagnose classes a turn that ended without a terminal record, from how its process ended.
	Diagnose(req Request, partial Result, exit Exit) (substrat.FailureClass, string)
}

// SessionCreator is a provider whose sessions are made by a command of their own, so that the id is known before the
// first turn runs.
type SessionCreator interface {
	// NewSession says what to run; ParseSession reads the id from what it printed and how it ended. A usable id counts
	// even when the process did not exit by itself.
	NewSession(Request) (Command, error)
	ParseSession(stdout []byte, exit Exit) (string, error)
}

// Prober tells what is installed. It may run the program.
type Prober interface {
	Probe(ctx context.Context) Status
}

// Status is what Probe found.
type Status struct {
	Installed bool   `json:"installed"`
	Path      string `json:"path,omitempty"`
	Version   string `json:"version,omitempty"`
	// Problem and Remedy are for people, empty when all is well.
	Problem string `json:"problem,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
}

// ErrNoStdin is returned by WriteFrame for a process whose stdin was not kept.
var ErrNoStdin = substrat.Errorf(substrat.CodeUnsupported, "cannot write to the agent: its stdin is closed")

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
	EventToolEnd    EventType = "tool.completed" // Tool.Status says how
	EventTodos      EventType = "todos"
	EventPlan       EventType = "plan"
	EventQuestion   EventType = "question"
	EventPermission EventType = "permission"
	EventUsage      EventType = "usage"
	EventRetry      EventType = "retry"  // the CLI reconnects or starts over; Text says what
	EventNotice     EventType = "notice" // anything else worth keeping: unknown frames, noise, overlong lines
	EventUser       EventType = "user"   // the prompt as the CLI echoes it; not part of the turn's text
	EventResult     EventType = "result" // the last one of a turn
)

// Event is one normalised thing an agent did.
type Event struct {
	Type    EventType `json:"type"`
	Text    string    `json:"text,omitempty"`
	Session string    `json:"session,omitempty"`
	Model   string    `json:"model,omitempty"`
	Tool    *ToolCall `json:"tool,omitempty"`
	Todos   []Todo    `json:"todos,omitempty"`
	Ask     *Question `json:"question,omitempty"`
	Result  *Result   `json:"result,omitempty"`
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
	Error    string   `json:"error,omitempty"`
	Diff     string   `json:"diff,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	ExitCode *int     `json:"exit_code,omitempty"`
}

// Todo is one entry of the agent's own list.
type Todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed, cancelled
}

// Question is something the agent asked a person.
type Question struct {
	ID      string           `json:"id"`
	Title   string           `json:"title,omitempty"`
	Prompts []QuestionPrompt `json:"prompts"`
}

// QuestionPrompt is one question with its choices.
type QuestionPrompt struct {
	ID       string   `json:"id"`
	Prompt   string   `json:"prompt"`
	Options  []string `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
}

// EOF is what ReadFrame returns after the last frame.
var EOF = io.EOF
