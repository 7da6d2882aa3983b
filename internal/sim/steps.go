package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// step plays one step. An error ends the turn; what merely failed is in the stream.
func (t *turn) step(ctx context.Context, s step) error {
	if err := pause(ctx, s.millis("delay_ms")); err != nil {
		return err
	}
	s, err := s.expand(t.memory.expand)
	if err != nil {
		return fmt.Errorf("cannot expand a step: %w", err)
	}
	t.chunk = s.millis("chunk_ms")
	switch s.kind {
	case "sleep_ms":
		return pause(ctx, s.millis("sleep_ms"))
	case "fault":
		return t.fault(ctx, s)
	}
	t.spoke = s.kind == "text"
	switch s.kind {
	case "text", "think":
		return t.talk(ctx, s)
	case "":
		t.acted++
		t.failed++
		t.spoke = true
		return t.say(ctx, fmt.Sprintf("I do not know the step %q.", s.name()))
	}
	t.acted++
	return t.act(ctx, s)
}

// act plays a step that uses a tool.
func (t *turn) act(ctx context.Context, s step) error {
	switch s.kind {
	case "todo":
		return t.todoStep(s)
	case "ask":
		return t.askStep(s)
	case "plan":
		return t.planStep(s)
	case "mcp":
		return t.mcpStep(ctx, s)
	}
	subject := s.text(s.kind)
	if s.value.Kind() != '"' {
		t.failed++
		t.spoke = true
		return t.say(ctx, fmt.Sprintf("The step %q needs a string.", s.kind))
	}
	switch s.kind {
	case "read":
		return t.readStep(s, subject)
	case "write":
		return t.writeStep(s, subject)
	case "edit":
		return t.editStep(s, subject)
	case "delete":
		return t.deleteStep(subject)
	case "ls":
		return t.lsStep(subject)
	case "glob":
		return t.globStep(ctx, s, subject)
	case "grep":
		return t.grepStep(ctx, s, subject)
	default:
		return t.shellStep(ctx, s, subject)
	}
}

// outcome is what a tool came to.
type outcome struct {
	result   object // one key that says how it went, and what stands beside it
	text     string // what the model would read
	failed   bool
	rejected bool
}

func succeeded(text string, fields ...field) outcome {
	return outcome{result: object{{"success", object(fields)}}, text: text}
}

func failure(kind, text string, fields ...field) outcome {
	return outcome{result: object{{kind, object(fields)}}, text: text, failed: true}
}

// finish ends a tool call everywhere it leaves a trace: stream, chat, memory, count.
func (t *turn) finish(c *toolCall, o outcome) error {
	t.memory.last = o.text
	t.written += int64(len(o.text))
	if o.failed {
		t.failed++
	}
	t.draft.tool(c.id, c.native, jsontext.Value(appendJSON(nil, c.args)), o.text)
	return t.toolCompleted(c, o.result, o.rejected)
}

// open begins a tool call: the text before it goes out, and into the chat.
func (t *turn) open(variant, native string) (*toolCall, error) {
	t.sealText()
	return t.newCall(variant, native)
}

// sealText notes the text said so far for the chat, before something that is no text follows.
func (t *turn) sealText() {
	if t.segment.Len() > 0 {
		t.draft.text(t.segment.String())
	}
}

// simple runs a tool whose arguments do not hold the call's id.
func (t *turn) simple(variant, native string, args func(id string) object, do func() outcome) error {
	c, err := t.open(variant, native)
	if err != nil {
		return err
	}
	if err := t.toolStarted(c, args(c.id)); err != nil {
		return err
	}
	return t.finish(c, do())
}

// pause waits, or gives the reason the run was called off.
func pause(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
