package sim

import (
	"fmt"
	"strconv"
	"time"
)

// toolCall is one use of a tool while it goes through the stream.
type toolCall struct {
	id          string // with a line break in it, as the real ones
	variant     string // "read" for readToolCall
	native      string // the model's own name for the tool, as the store has it
	description string
	args        object
	startedAt   int64
}

// newCall ends the text before the tool and gives the call an id.
func (s *stream) newCall(variant, native string) (*toolCall, error) {
	s.enter()
	if err := s.flush(beforeTool); err != nil {
		return nil, err
	}
	id := fmt.Sprintf("call-%s-%d\nfc_%s_%d", s.call.uuids[0], s.tools, s.call.uuids[1], s.call.tools)
	s.tools++
	s.call.tools++
	return &toolCall{id: id, variant: variant, native: native}, nil
}

func (s *stream) toolStarted(c *toolCall, args object) error {
	c.args, c.startedAt = args, now()
	inner := object{{"args", args}}
	if c.description != "" {
		inner = inner.with(field{"description", c.description})
	}
	return s.line(s.toolEvent(c, "started", inner))
}

// toolCompleted writes the end of a call. The arguments are repeated unless the call was rejected.
func (s *stream) toolCompleted(c *toolCall, result object, rejected bool) error {
	s.fresh = true
	inner := object{{"result", result}}
	if !rejected {
		inner = object{{"args", c.args}, {"result", result}}
		if c.description != "" {
			inner = inner.with(field{"description", c.description})
		}
	}
	return s.line(s.toolEvent(c, "completed", inner))
}

func (s *stream) toolEvent(c *toolCall, subtype string, inner object) object {
	call := object{
		{c.variant + "ToolCall", inner},
		{"hookAdditionalContexts", []any{}},
		{"toolCallId", c.id},
		{"startedAtMs", strconv.FormatInt(c.startedAt, 10)},
	}
	if subtype == "completed" {
		call = call.with(field{"completedAtMs", strconv.FormatInt(time.Now().UnixMilli(), 10)})
	}
	return object{
		{"type", "tool_call"}, {"subtype", subtype}, {"call_id", c.id}, {"tool_call", call},
		{"model_call_id", s.call.id}, {"session_id", s.session}, {"timestamp_ms", now()},
	}
}
