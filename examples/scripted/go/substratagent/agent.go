package substratagent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// protocol is the version of the lines.
const protocol = 1

// About is who the agent is.
type About struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Path         string            `json:"path"`
	Parent       string            `json:"parent"`
	Role         string            `json:"role"`
	Instructions string            `json:"instructions"`
	Metadata     map[string]string `json:"metadata"`
}

// Message is one message of a turn's prompt.
type Message struct {
	ID      string `json:"id"`
	From    string `json:"from"`
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	ReplyTo string `json:"reply_to"`
}

// CallError is a call that was refused. Code is for programs.
type CallError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Error gives the message.
func (e *CallError) Error() string { return e.Message }

// ErrCancelled comes from a call when the turn is being stopped: the handler is to return.
var ErrCancelled = errors.New("the turn is being stopped")

// ErrChanged comes from a call when the program does something else than the record says it did.
var ErrChanged = errors.New("the program changed")

// Program is a handler and what belongs to it.
type Program struct {
	// Turn does one turn and gives its closing text. An error gives the turn up.
	Turn func(t *Turn) (string, error)
	// Restore, if set, is given the state of the last checkpoint before anything else.
	Restore func(state json.RawMessage) error
}

// Run serves turns on standard input and output until standard input is closed.
func Run(p Program) error { return Serve(p, os.Stdin, os.Stdout) }

// Serve is Run for other streams.
func Serve(p Program, in io.Reader, out io.Writer) error {
	w := &wire{in: bufio.NewReader(in), out: out}
	done := map[string]bool{}
	var changed error
	for {
		l, err := w.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case l.Type == "hello":
			w.about = l.Agent
			if l.Protocol != protocol {
				changed = fmt.Errorf("the host speaks protocol %d, this library %d", l.Protocol, protocol)
			} else if l.State != nil && p.Restore != nil {
				changed = p.Restore(l.State)
			}
		case l.Type == "history" && changed == nil:
			done[l.id()] = true
			changed = p.repeat(newTurn(w, l, false), l.Done != nil)
		case l.Type == "turn" && !done[l.id()]:
			done[l.id()] = true
			if changed != nil {
				return errors.Join(changed, w.write(map[string]any{"type": "fail", "turn": l.id(), "message": changed.Error(), "void": true}))
			}
			if err := p.serve(newTurn(w, l, true)); err != nil {
				return err
			}
		}
	}
}

// repeat runs the handler for a turn of the past.
func (p Program) repeat(t *Turn, completed bool) error {
	_, err := p.Turn(t)
	switch {
	case t.changed != nil:
		return t.changed
	case completed && err != nil:
		return fmt.Errorf("%w: turn %d was done, and now fails: %w", ErrChanged, t.Number, err)
	case !completed && err == nil:
		return fmt.Errorf("%w: turn %d failed, and now is done", ErrChanged, t.Number)
	}
	return t.checkAll()
}

// serve runs the handler for the turn that is open. An error means that the program cannot go on.
func (p Program) serve(t *Turn) error {
	text, err := p.Turn(t)
	if t.changed == nil && err == nil {
		t.changed = t.checkAll()
	}
	if err == nil {
		err = t.changed
	}
	if err != nil {
		return errors.Join(t.changed, t.w.write(map[string]any{"type": "fail", "turn": t.ID, "message": err.Error(), "void": t.changed != nil}))
	}
	end := map[string]any{"type": "done", "turn": t.ID, "text": text}
	if t.state != nil {
		end["state"] = t.state
	}
	return t.w.write(end)
}
