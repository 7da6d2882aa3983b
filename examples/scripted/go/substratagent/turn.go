package substratagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"
)

// Turn is one turn: what is asked, and the tools to do it with. It is for one goroutine.
type Turn struct {
	ID       string
	Number   int
	Prompt   string
	Messages []Message
	// Retry says why an earlier turn on these messages did not complete.
	Retry string
	// Agent is who this is.
	Agent About

	w      *wire
	live   bool
	record []call
	made   int
	random *rand.Rand
	state  json.RawMessage
	// changed is set once the program left the record: no call is answered any more.
	changed error
}

func newTurn(w *wire, l line, live bool) *Turn {
	h := fnv.New64a()
	_, _ = h.Write([]byte(l.id()))
	return &Turn{
		ID: l.id(), Number: l.Number, Prompt: l.Prompt, Messages: l.Messages, Retry: l.Retry, Agent: w.about,
		w: w, live: live, record: l.Calls, random: rand.New(rand.NewPCG(h.Sum64(), uint64(l.Number))),
	}
}

// Call calls a tool of the team, the same as over MCP, with arguments that encode as a JSON object. A refusal is a *CallError.
func (t *Turn) Call(tool string, args any, result any) error {
	return t.do(tool, args, nil, result)
}

// Once runs f and gives its value, which is encoded as JSON; when this turn is run again, it gives the same without f. An
// error of f is a *CallError, then and each time.
func (t *Turn) Once(name string, value any, f func() (any, error)) error {
	var got struct {
		Value  json.RawMessage `json:"value"`
		Failed string          `json:"failed"`
	}
	if err := t.do("record", map[string]string{"name": name}, f, &got); err != nil {
		return err
	}
	if got.Failed != "" {
		return &CallError{Code: "failed", Message: got.Failed}
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(got.Value, value)
}

// Now is the time, the same when this turn is run again.
func (t *Turn) Now() (time.Time, error) {
	var got struct {
		Time time.Time `json:"time"`
	}
	err := t.do("now", struct{}{}, nil, &got)
	return got.Time, err
}

// Random is a source that gives the same when this turn is run again.
func (t *Turn) Random() *rand.Rand { return t.random }

// Text adds to the text of the turn, which answers whoever asked.
func (t *Turn) Text(text string) error {
	if !t.live {
		return nil
	}
	return t.w.write(map[string]any{"type": "text", "turn": t.ID, "text": text})
}

// Log adds a line to the turn's transcript.
func (t *Turn) Log(message string) error {
	if !t.live || t.made < len(t.record) {
		return nil
	}
	return t.w.write(map[string]any{"type": "log", "turn": t.ID, "message": message})
}

// Checkpoint keeps state in place of everything up to the end of this turn, if the turn is done. A new process is given it
// with Program.Restore, and not the turns before.
func (t *Turn) Checkpoint(state any) error {
	data, err := json.Marshal(state)
	t.state = data
	return err
}

// do makes the next call, or answers it from the record.
func (t *Turn) do(tool string, args any, f func() (any, error), result any) error {
	if t.changed != nil {
		return t.changed
	}
	data, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("cannot encode the arguments of %s: %w", tool, err)
	}
	t.made++
	if t.made <= len(t.record) {
		old := t.record[t.made-1]
		if old.Tool != tool || !same(old.Args, data) || old.ID != strconv.Itoa(t.made) {
			t.changed = fmt.Errorf("%w: call %d of turn %d was %s %s, is %s %s", ErrChanged, t.made, t.Number, old.Tool, old.Args, tool, data)
			return t.changed
		}
		return answer(old.Result, old.Error, result)
	}
	if !t.live {
		t.changed = fmt.Errorf("%w: turn %d made %d calls, and makes another: %s %s", ErrChanged, t.Number, len(t.record), tool, data)
		return t.changed
	}
	return t.ask(tool, data, f, result)
}

// ask makes a call that was not made before.
func (t *Turn) ask(tool string, args json.RawMessage, f func() (any, error), result any) error {
	id := strconv.Itoa(t.made)
	out := map[string]any{"type": "call", "turn": t.ID, "id": id, "tool": tool, "args": args}
	if f != nil {
		value, err := f()
		out["value"] = map[string]any{"value": value}
		if err != nil {
			out["value"] = map[string]any{"failed": err.Error()}
		}
	}
	if err := t.w.write(out); err != nil {
		return err
	}
	for {
		l, err := t.w.read()
		if err != nil {
			return err
		}
		// Answers that came twice, and the turn told again, are passed over.
		if l.Type == "result" && l.id() == id {
			return answer(l.Result, l.Error, result)
		}
	}
}

func answer(data json.RawMessage, refused *CallError, result any) error {
	switch {
	case refused != nil && refused.Code == "cancelled":
		return ErrCancelled
	case refused != nil:
		return refused
	case result == nil:
		return nil
	}
	return json.Unmarshal(data, result)
}

// checkAll finds calls of the record that were not made.
func (t *Turn) checkAll() error {
	if t.made >= len(t.record) {
		return nil
	}
	return fmt.Errorf("%w: turn %d made %d calls, and now ends after %d", ErrChanged, t.Number, len(t.record), t.made)
}

// same compares JSON values, not how they were written.
func same(a, b json.RawMessage) bool {
	norm := func(data json.RawMessage) []byte {
		var v any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return nil
		}
		out, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return out
	}
	return bytes.Equal(norm(a), norm(b))
}
