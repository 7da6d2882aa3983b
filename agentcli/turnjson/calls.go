package turnjson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// call is a call of a tool of the host's.
type call struct {
	id, name string
	args     json.RawMessage
	// end is the place of its frame in the stream.
	end int64
}

// callsMost bounds how many calls of a turn may wait for their answers.
const callsMost = 256

// idMost bounds the id of a call: it becomes part of keys.
const idMost = 200

var errNoCall = errors.New("it names no tool")

// readCall finds a call in a tool_call frame, in the contract's shape or nested as CLIs print it. Nested says that its name
// counts only if it is registered.
func readCall(f frame) (c call, nested bool, err error) {
	data := object(f.Data)
	if name, ok := text(data["name"]); ok && name != "" {
		c.name, c.id = name, callID(f.CallID, data)
		c.args, err = arguments(data)
		return c, false, err
	}
	inner := object(f.ToolCall)
	if inner == nil {
		inner = object(data["tool_call"])
	}
	if inner == nil {
		return c, false, errNoCall
	}
	from := inner
	if fn := object(inner["function"]); fn != nil {
		from = fn
	}
	for _, key := range []string{"name", "toolName"} {
		if name := str(from[key]); name != "" && c.name == "" {
			c.name = name
		}
	}
	if c.id = callID(f.CallID, inner); c.id == "" {
		c.id = callID(nil, data)
	}
	if c.name != "" {
		c.args, err = arguments(from)
	}
	return c, true, err
}

// callID finds a call's id under the names that are in use. A number is an id too.
func callID(outer json.RawMessage, m map[string]json.RawMessage) string {
	for _, raw := range []json.RawMessage{m["callId"], m["id"], m["call_id"], m["toolCallId"], outer} {
		if id := str(raw); id != "" {
			return id
		}
		if n, ok := integer(raw); ok {
			return fmt.Sprint(n)
		}
	}
	return ""
}

// arguments finds an object of arguments, which some CLIs print as a string of JSON.
func arguments(m map[string]json.RawMessage) (json.RawMessage, error) {
	for _, key := range []string{"args", "arguments", "input", "parameters"} {
		raw := m[key]
		if s, ok := text(raw); ok {
			raw = json.RawMessage(s)
			if strings.TrimSpace(s) == "" {
				continue
			}
		}
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if object(raw) == nil {
			return nil, errors.New("its arguments are no JSON object")
		}
		return bytes.Clone(bytes.TrimSpace(raw)), nil
	}
	return json.RawMessage("{}"), nil
}

// parseTextCall reads the call that a model printed between tags.
func parseTextCall(body string) (call, bool) {
	m := object(json.RawMessage(strings.TrimSpace(body)))
	if fn := object(m["function"]); fn != nil {
		m = fn
	}
	name := str(m["name"])
	if name == "" {
		name = str(m["tool"])
	}
	args, err := arguments(m)
	return call{name: name, args: args, id: callID(nil, m)}, name != "" && err == nil
}

// answer is a call's result on its way to the CLI.
type answer struct {
	Type   string          `json:"type"`
	TurnID string          `json:"turnId"`
	CallID string          `json:"callId"`
	Name   string          `json:"name"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *substrat.Error `json:"error,omitempty"`
}

// known reports a tool that the CLI was told of.
func (c *conversation) known(name string) bool {
	return c.req.Tools != nil && slices.ContainsFunc(c.specs, func(s agentcli.ToolSpec) bool { return s.Name == name })
}

// toolCall takes a frame of the type tool_call.
func (c *conversation) toolCall(f frame) error {
	found, nested, err := readCall(f)
	switch {
	case nested && (err != nil || found.name == "" || !c.known(found.name) || str(f.Subtype) == "completed"):
		return c.foreignTool(f)
	case err != nil:
		return c.malformed(f, "a tool_call cannot be read: "+err.Error())
	}
	found.end = f.end
	c.structured++
	return c.request(found, f.raw)
}

// request has a call done, or says that it cannot be.
func (c *conversation) request(found call, raw json.RawMessage) error {
	if err := c.endText(found.end); err != nil {
		return err
	}
	if found.id == "" {
		c.unnamed++
		found.id = fmt.Sprintf("call-%d", c.unnamed)
	}
	if len(found.id) > idMost {
		return c.fail(substrat.ClassProtocol, fmt.Sprintf("the id of a tool call has more than %d characters", idMost))
	}
	start := agentcli.Event{Type: agentcli.EventToolStart, Offset: found.end, Raw: raw, Tool: describe(found)}
	if err := c.emit(start); err != nil {
		return err
	}
	switch {
	case c.req.Recorded:
		c.result.ToolCalls++
		return nil
	case !c.known(found.name):
		if c.p.o.FailUnknownTools {
			return c.fail(substrat.ClassProtocol, "the agent called the tool "+quote(found.name)+", which it was not told of")
		}
		done := agentcli.Call{ID: found.id, Tool: found.name, Args: found.args}
		done.Error = substrat.Errorf(substrat.CodeNotFound, "there is no tool %s", quote(found.name)).WithHint("the tools are: %s", c.toolNames())
		return c.answered(found, done, agentcli.ToolRejected)
	case len(c.waiting) >= callsMost:
		return c.fail(substrat.ClassProtocol, fmt.Sprintf("more than %d tool calls wait for their answers", callsMost))
	}
	c.waiting = append(c.waiting, found)
	c.startCall()
	return nil
}

// done is a call that came back.
type done struct {
	call call
	agentcli.Call
	err error
}

// startCall begins the next call, one at a time and in order: what an agent calls later may rest on what it called before.
func (c *conversation) startCall() {
	if c.running != nil || len(c.waiting) == 0 {
		return
	}
	next := c.waiting[0]
	c.waiting = c.waiting[1:]
	ctx, cancel := context.WithCancel(c.ctx)
	c.running, c.stopCall = make(chan done, 1), cancel
	go func(out chan<- done) {
		made, err := c.req.Tools.Call(ctx, agentcli.Call{ID: next.id, Tool: next.name, Args: next.args})
		out <- done{next, made, err}
	}(c.running)
}

// finishCall takes the answer of the call that runs.
func (c *conversation) finishCall(d done) error {
	c.stopCall()
	c.running = nil
	if d.err != nil {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		d.Error = substrat.Errorf(substrat.CodeCancelled, "the call was not finished: %v", d.err)
	}
	status := agentcli.ToolOK
	switch code := substrat.CodeOf(errorOf(d.Error)); {
	case d.Error == nil:
	case code == substrat.CodeTimeout:
		status = agentcli.ToolTimeout
	case code == substrat.CodeInvalid, code == substrat.CodeForbidden, code == substrat.CodeNotFound, code == substrat.CodeApproval:
		status = agentcli.ToolRejected
	default:
		status = agentcli.ToolFailed
	}
	c.startCall()
	return c.answered(d.call, d.Call, status)
}

func errorOf(e *substrat.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// answered tells everybody how a call ended: the CLI, if it can hear it, else its next turn.
func (c *conversation) answered(asked call, made agentcli.Call, status agentcli.ToolStatus) error {
	heard := false
	if c.p.twoWay() && !c.gone {
		line := answer{Type: "tool_result", TurnID: turnID(c.req), CallID: asked.id, Name: asked.name, Result: made.Result, Error: made.Error}
		if made.Error == nil && len(made.Result) == 0 {
			line.Result = json.RawMessage("null")
		}
		err := write(c.ctx, c.conn, line)
		switch code := substrat.CodeOf(err); {
		case err == nil:
			heard = true
		case code != substrat.CodeConflict && code != substrat.CodeUnsupported:
			return err
		}
	}
	content := resultText(made.Result)
	end := describe(asked)
	end.Status, end.Output = status, content
	if made.Error != nil {
		end.Error, content = made.Error.Error(), "error: "+made.Error.Error()
	}
	c.keepText()
	c.result.Messages = append(c.result.Messages, agentcli.ChatMessage{Role: "tool", Content: content, Name: asked.name, CallID: asked.id})
	c.result.FollowUp = c.result.FollowUp || !heard
	c.result.ToolCalls++
	return c.emit(agentcli.Event{Type: agentcli.EventToolEnd, Offset: asked.end, Tool: end})
}

// resultText is a result as a person and a model read it: a string's text, anything else as JSON.
func resultText(raw json.RawMessage) string {
	if s, ok := text(bytes.TrimSpace(raw)); ok {
		return s
	}
	return string(raw)
}

func (c *conversation) toolNames() string {
	var names []string
	for _, s := range c.specs {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
