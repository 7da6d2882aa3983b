package agentcli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"substrat.dev/substrat"
)

// LiveProvider drives a program that serves turn after turn in one process. The host starts it, keeps it between turns,
// ends it when it wants the slot, and starts another when there is a turn again.
//
// For these providers, Command says what to run for the process and Converse runs one turn on it: it writes the request,
// unless Live.Resumed, and reads until the turn's terminal record. With no Live in the request it only reads: a
// transcript, which holds the lines of both sides.
type LiveProvider interface {
	Provider
	// Greet readies a process that has just started for its first turn: it opens or resumes its conversation. What it
	// returns the host keeps for as long as the process lives, also when another host takes the process over, and gives back
	// in [LiveTurn.Greeting]; a provider keeps nothing of a process itself.
	// A process that ends meanwhile is io.EOF; what the agent says against it is a [*Failure].
	Greet(ctx context.Context, conn Conn, req Request) (Greeting, error)
	Interrupter
	// Stray gives what to answer to a line that came while no turn was open, nil for nothing.
	Stray(frame []byte) []byte
}

// Interrupter is a provider that can tell its process to end the open turn by itself.
type Interrupter interface {
	// Interrupt asks for it. The host ends a process that does not listen.
	Interrupt(ctx context.Context, conn Conn, req Request) error
}

// Greeting is what was agreed on with a process before its first turn.
type Greeting struct {
	// Session is the conversation that the process is in, as it is resumed by.
	Session string `json:"session,omitempty"`
	Model   string `json:"model,omitempty"`
	// Notes are for whoever reads the transcript of the turn that the process begins with.
	Notes []string `json:"notes,omitempty"`
	// Keep is what the provider itself wants to know again.
	Keep json.RawMessage `json:"keep,omitempty"`
}

// GreetMost is how long a process may take to be greeted. One that takes longer does not speak the protocol, or waits for
// somebody who is not there.
const GreetMost = 2 * time.Minute

// GreetTooLong is what hosts make of a greeting that took longer.
func GreetTooLong() error {
	return &Failure{Class: substrat.ClassTimeout, Detail: fmt.Sprintf("the agent did not answer for %v after its start: it may speak another protocol, or wait for a login", GreetMost)}
}

// Failure is an error that classes the turn it ended.
type Failure struct {
	Class  substrat.FailureClass
	Detail string
}

// Error gives the detail.
func (f *Failure) Error() string { return f.Detail }

// FailureClass gives the class.
func (f *Failure) FailureClass() substrat.FailureClass { return f.Class }

// LiveTurn is what a live process needs to know of its turn beside the prompt.
type LiveTurn struct {
	ID     string
	Number int
	// Retry says why an earlier turn on these messages did not complete.
	Retry    string
	Messages []Mail
	// Tools does the calls that the program makes.
	Tools Tools
	// Calls are those of this turn that an earlier process made, in order.
	Calls []Call
	// Checkpoint and History are what the program remembers, for Greet. History gives the turns since the checkpoint.
	Checkpoint json.RawMessage
	History    func(yield func(PastTurn) error) error
	// Greeting is what Greet returned for the process that the turn is on.
	Greeting Greeting
	// Resumed says that the process was given this turn by a host that is gone. Past holds the lines that were dealt with
	// then, of both sides.
	Resumed bool
	Past    Conn
}

// Mail is one message of a turn's prompt.
type Mail struct {
	ID      string               `json:"id"`
	From    string               `json:"from"`
	Kind    substrat.MessageKind `json:"kind"`
	Text    string               `json:"text"`
	ReplyTo string               `json:"reply_to,omitempty"`
}

// Call is one call of a tool by a live program. Exactly one of Result and Error is set once it was answered.
type Call struct {
	// ID is the program's own, unique within the turn.
	ID   string          `json:"id"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"`
	// Value comes with a call that asks to have something recorded.
	Value  json.RawMessage `json:"value,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *substrat.Error `json:"error,omitempty"`
}

// Tools does a program's calls.
type Tools interface {
	// Call does a call and gives it with its answer, which is durable: a call that is repeated, also under another daemon
	// or from another process, is answered and not done again. An error means that there is no answer to give now.
	Call(ctx context.Context, c Call) (Call, error)
	// Answered is told when the program was given the answer to the last call.
	Answered()
}

// PastTurn is a turn that a program ended by its own word, as it was recorded.
type PastTurn struct {
	ID       string `json:"id"`
	Number   int    `json:"number"`
	Prompt   string `json:"prompt"`
	Retry    string `json:"retry,omitempty"`
	Messages []Mail `json:"messages"`
	Calls    []Call `json:"calls"`
	// Done is the text it ended with; Failed is set instead for one that it gave up.
	Done   *string `json:"done,omitempty"`
	Failed *string `json:"failed,omitempty"`
}
