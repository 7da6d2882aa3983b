package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/tool"
)

// Tools that a live program has beside the team's: they do nothing but enter something into its record.
const (
	toolNow    = "now"
	toolRecord = "record"
)

// liveTools does the calls of a turn, each once. A call goes under a key made of the turn and the call's id, so that a
// repeat is answered by the core; what it was answered is in the agent's record before the program sees it.
type liveTools struct{ l *liveRun }

// Call implements agentcli.Tools.
func (t *liveTools) Call(ctx context.Context, c agentcli.Call) (agentcli.Call, error) {
	log := t.l.s.log
	if old := log.Call(c.ID); old != nil {
		if old.Tool != c.Tool || !sameJSON(old.Args, c.Args) {
			c.Error = substrat.Errorf(substrat.CodeConflict, "the program changed: call %s of turn %d was %s %s, is %s %s", c.ID, t.l.a.request.Live.Number,
				old.Tool, clip(string(old.Args), 200), c.Tool, clip(string(c.Args), 200)).WithHint("run the version that began the turn, or give each call an id of its own")
			return c, nil
		}
		return *old, nil
	}
	result, err := t.do(ctx, c)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled) || substrat.CodeOf(err) == substrat.CodeUnavailable):
		return c, err // the daemon is on its way out, and whether it was done is open: the next one finds out
	case err != nil:
		c.Error = toError(err)
	default:
		c.Result = result
	}
	c.Value = nil
	return c, log.Add(c)
}

// Answered implements agentcli.Tools.
func (t *liveTools) Answered() { t.l.note(true) }

func (t *liveTools) do(ctx context.Context, c agentcli.Call) (json.RawMessage, error) {
	switch {
	case t.l.stopped.Load():
		return nil, substrat.Errorf(substrat.CodeCancelled, "the turn is being stopped").WithHint("end it")
	case c.Tool == toolNow:
		now := time.Now().UTC()
		return json.Marshal(map[string]any{"time": now.Format(time.RFC3339Nano), "unix_ms": now.UnixMilli()})
	case c.Tool == toolRecord && c.Value == nil:
		return json.RawMessage("null"), nil
	case c.Tool == toolRecord:
		return c.Value, nil
	}
	return tool.Call(ctx, t.l.r.e, t.l.r.caller(t.l.a), t.l.r.turn+"/script/"+c.ID, c.Tool, c.Args)
}

func toError(err error) *substrat.Error {
	var e *substrat.Error
	if errors.As(err, &e) {
		return e
	}
	return substrat.Errorf(substrat.CodeInternal, "%v", err)
}

// sameJSON compares values, not how they were written.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	norm := func(data json.RawMessage) []byte {
		var v any
		if len(data) == 0 {
			data = json.RawMessage("{}")
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return data
		}
		out, err := json.Marshal(v)
		if err != nil {
			return data
		}
		return out
	}
	return bytes.Equal(norm(a), norm(b))
}
