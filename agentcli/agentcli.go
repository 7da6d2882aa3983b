// Package agentcli drives one coding-agent command line: it says what to run for a prompt, and turns what the program
// prints into one vocabulary of events, whichever program it is.
//
// [Run] runs one prompt with any of them, [Open] a conversation, [Decode] reads a recording, and each gives the same
// events. They own the process they start and everything that it starts; nothing of it is left when they return.
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
	Detail string          `json:"detail,omitempty"`
	Usage  *substrat.Usage `json:"usage,omitempty"`
	// CostUSD is what the CLI says the turn cost, 0 if it does not say.
	CostUSD    float64  `json:"cost_usd,omitempty"`
	DurationMS int64    `json:"duration_ms,omitempty"`
	ToolCalls  int      `json:"tool_calls,omitempty"`
	Files      []string `json:"files,omitempty"`
	// Model is the name the CLI reports, which need not be the one asked for.
	Model string `json:"model,omitempty"`
	// RetryAfterMS is how long the provider asked to be left alone, with a failure of a limit.
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
	// Messages are what the turn adds to the conversation after its prompt, of a CLI that keeps none itself. FollowUp says
	// that results of tools are among them that the process was not told of; see [Result.Next].
	Messages []ChatMessage `json:"-"`
	FollowUp bool          `json:"-"`
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
	// Asks: the CLI asks for leave, questions and plans while its turn runs, and waits for the answer.
	Asks bool `json:"asks,omitempty"`
	// NeedsProgram: an agent is created with a command of the user's.
	NeedsProgram bool `json:"needs_program,omitempty"`
	// Keys are the ways in which the key of its account can stay outside of where it runs, the best first.
	Keys []KeyRoute `json:"-"`
}

// Provider knows how to drive one kind of agent CLI. Its methods are safe for concurrent use.
type Provider interface {
	Info() Info
	// Command says what to run for one turn.
	Command(Request) (Command, error)
	// Converse reads frames and emits events until the turn's terminal record or io.EOF. It returns an error only when
	// reading or emitting failed; what the agent did wrong is in the Result.
	Converse(ctx context.Context, conn Conn, req Request, emit func(Event) error) (Result, error)
	// Diagnose classes a turn that ended without a terminal record, from how its process ended. An empty class says that the
	// turn is complete: some CLIs end one by exiting.
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

// ErrNoStdin is returned by WriteFrame for a process whose stdin was not kept.
var ErrNoStdin = substrat.Errorf(substrat.CodeUnsupported, "cannot write to the agent: its stdin is closed")

// EOF is what ReadFrame returns after the last frame.
var EOF = io.EOF
