// Package relay is `substrat mcp`: it carries an agent's MCP messages between its standard streams and the socket that
// the daemon opened for it, across restarts of the daemon.
//
// It forwards lines as they are. It remembers only what a new connection needs: the handshake, and the requests that
// were not answered, which it repeats with their ids; the daemon answers a repeat without doing it again. It knows no
// tool. One process of it runs for each run of an agent CLI inside the sandbox, so it uses the standard library alone.
//
// Two goroutines do the work. One reads standard input and writes to the connection, the other reads the connection and
// writes to standard output; neither waits for the other while it reads, so a flood in one direction cannot stop both.
package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrRefused is in the chain of a dial's error when trying again would not help. What the client asks for is then
// answered with that error.
var ErrRefused = errors.New("refused")

// Options are what a relay needs.
type Options struct {
	// Dial connects to the daemon. It is called again whenever the connection breaks.
	Dial func(context.Context) (io.ReadWriteCloser, error)
	// Token is the turn's secret. AgentID is passed on as information; it proves nothing.
	Token, AgentID string
	Stdin          io.Reader
	Stdout         io.Writer
	// Stderr gets a line when the daemon refuses the relay or stays away. It may be nil.
	Stderr io.Writer
}

const (
	// lineMost bounds a message of the client, like the daemon does. answerMost bounds one of the daemon: an answer
	// holds its JSON twice, once as text.
	lineMost, answerMost = 4 << 20, 64 << 20
	// away is how long a daemon may be gone before those who wait are told.
	away = 5 * time.Minute
	// lastAnswers is how long answers are waited for after standard input has ended.
	lastAnswers = 2 * time.Second
	// lastWrite is how long a client that does not read is waited for once everything else is over.
	lastWrite = 100 * time.Millisecond
	// backoffLeast and backoffMost are the pauses between attempts to connect; they double.
	backoffLeast, backoffMost = 2 * time.Millisecond, 100 * time.Millisecond
	// patience is how many connections in a row may be of no use before the pauses grow: a daemon that is killed
	// again and again is not the relay's fault, a request that kills it may be.
	patience = 8
	// settled is how long a connection has to last to count as one that works.
	settled = time.Second
)

// Run relays until standard input has ended and the last answers have come, or until ctx ends. It fails when the
// daemon refused the relay or standard output could not be written; a daemon that is away is no failure.
func Run(ctx context.Context, o Options) error {
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &relay{o: o, nonce: rand.Text(), book: newBook(), cancel: cancel}
	// Neither a read of standard input nor a write to standard output can be interrupted: the process ends with or
	// without these two once they have had their time.
	input, link := make(chan struct{}), make(chan struct{})
	go func() { defer close(input); r.readInput(ctx) }()
	go func() { defer close(link); r.keepLink(ctx) }()
	select {
	case <-input:
		r.awaitAnswers(ctx)
	case <-ctx.Done():
	}
	failure := context.Cause(ctx)
	cancel(nil)
	select {
	case <-link:
	case <-time.After(lastWrite):
	}
	return r.verdict(failure)
}

// relay is what has to survive a connection.
type relay struct {
	o      Options
	nonce  string
	book   *book
	cancel context.CancelCauseFunc

	// sending orders what is written to the connection: a new one first gets what is repeated, then what is new.
	sending sync.Mutex
	conn    io.ReadWriteCloser // nil while there is none

	printing sync.Mutex
}

// errOutput marks that the client is gone.
type errOutput struct{ error }

// verdict is what Run reports: being told to end is no failure.
func (r *relay) verdict(cause error) error {
	var output errOutput
	if errors.As(cause, &output) {
		return fmt.Errorf("cannot write to standard output: %w", output.error)
	}
	if why := r.book.refusal(); why != "" {
		return fmt.Errorf("cannot speak to the daemon: %s", why)
	}
	return nil
}

// awaitAnswers waits for what was asked before standard input ended.
func (r *relay) awaitAnswers(ctx context.Context) {
	select {
	case <-r.book.settle():
	case <-time.After(lastAnswers):
	case <-ctx.Done():
	}
}

// print writes one line to the client.
func (r *relay) print(line []byte) {
	r.printing.Lock()
	defer r.printing.Unlock()
	if _, err := r.o.Stdout.Write(line); err != nil {
		r.cancel(errOutput{err})
	}
}
