package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Converse implements agentcli.Provider.
func (*Provider) Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	c := &conversation{conn: conn, req: req, emit: emit, open: map[string]string{}}
	if req.Live != nil {
		if err := c.begin(ctx); err != nil {
			return c.result, err
		}
	}
	err := c.read(ctx, conn, req.Live != nil)
	return c.result, err
}

// conversation is one turn.
type conversation struct {
	conn   agentcli.Conn
	req    agentcli.Request
	emit   func(agentcli.Event) error
	result agentcli.Result
	text   strings.Builder
	// open are the calls without an answer, with their tools.
	open map[string]string
}

// begin gives the program its turn, or finds out what was said already.
func (c *conversation) begin(ctx context.Context) error {
	t := c.req.Live
	if t.Past != nil {
		if err := c.read(ctx, t.Past, false); err != nil {
			return err
		}
	}
	if t.Resumed {
		return nil
	}
	turn := turnLine{
		Type: typeTurn, ID: t.ID, Number: t.Number, Prompt: c.req.Prompt, Retry: t.Retry, Messages: t.Messages, Calls: t.Calls,
	}
	if turn.Messages == nil {
		turn.Messages = []agentcli.Mail{}
	}
	if turn.Calls == nil {
		turn.Calls = []agentcli.Call{}
	}
	return tolerate(write(ctx, c.conn, turn))
}

// tolerate passes over a program that no longer reads: what it printed before it ended still counts.
func tolerate(err error) error {
	if substrat.CodeOf(err) == substrat.CodeConflict {
		return nil
	}
	return err
}

// read takes lines until the turn's end or that of the stream. Calls are done only if they are live.
func (c *conversation) read(ctx context.Context, from agentcli.Conn, live bool) error {
	for !c.result.Terminal {
		f, err := from.ReadFrame(ctx)
		if errors.Is(err, io.EOF) {
			c.result.Text = c.text.String()
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.take(ctx, f, live); err != nil {
			return err
		}
	}
	return nil
}

func parse(data []byte) (line, bool) {
	var l line
	data = bytes.TrimSpace(data)
	ok := len(data) > 0 && data[0] == '{' && json.Unmarshal(data, &l) == nil
	return l, ok
}

// take deals with one line.
func (c *conversation) take(ctx context.Context, f agentcli.Frame, live bool) error {
	l, ok := parse(f.Data)
	ev := agentcli.Event{Type: agentcli.EventNotice, Offset: f.End}
	if ok {
		ev.Raw = f.Data
	}
	switch {
	case f.Skipped > 0:
		ev.Text = "a line was too long and was passed over"
	case !ok && len(bytes.TrimSpace(f.Data)) == 0:
		return nil
	case !ok:
		ev.Text = clip(string(f.Data))
	default:
		return c.takeLine(ctx, l, ev, live)
	}
	return c.emit(ev)
}

func (c *conversation) takeLine(ctx context.Context, l line, ev agentcli.Event, live bool) error {
	if l.Turn != "" && c.req.Live != nil && l.Turn != c.req.Live.ID {
		ev.Text = "a line for another turn: " + l.Type
		if l.Type == typeCall && live {
			late := resultLine{Type: typeResult, ID: l.id(), Error: substrat.Errorf(substrat.CodeForbidden, "the turn this call belongs to is over")}
			if err := tolerate(write(ctx, c.conn, late)); err != nil {
				return err
			}
		}
		return c.emit(ev)
	}
	switch l.Type {
	case typeCall:
		return c.call(ctx, l, ev, live)
	case typeResult:
		return c.answered(l, ev)
	case typeText:
		c.text.WriteString(l.Text)
		ev.Type, ev.Text = agentcli.EventText, l.Text
	case typeRestart:
		c.text.Reset()
		c.open = map[string]string{}
		ev.Type, ev.Reset, ev.Text = agentcli.EventRetry, true, "the program ended and goes on in a new process: "+l.Message
	case typeDone, typeFail:
		return c.finish(l, ev)
	case typeLog:
		ev.Text = clip(l.Message + l.Text)
	case typeTurn, typeCancel:
		return nil
	default:
		ev.Text = "a line of the unknown type " + clip(l.Type)
	}
	return c.emit(ev)
}

// call does one call and gives the program the answer.
func (c *conversation) call(ctx context.Context, l line, ev agentcli.Event, live bool) error {
	id := l.id()
	ev.Type = agentcli.EventToolStart
	ev.Tool = &agentcli.ToolCall{ID: id, Name: "MCP", Native: l.Tool, Kind: "other", Server: "substrat", Status: agentcli.ToolRunning, Title: l.Tool, Input: l.Args}
	c.open[id] = l.Tool
	if err := c.emit(ev); err != nil || !live {
		return err
	}
	var done agentcli.Call
	switch {
	case id == "" || len(id) > idMost:
		done.Error = substrat.Errorf(substrat.CodeInvalid, "a call needs an id, a string or number of at most %d characters", idMost)
	case c.req.Live.Tools == nil:
		done.Error = substrat.Errorf(substrat.CodeUnsupported, "there are no tools here")
	default:
		var err error
		if done, err = c.req.Live.Tools.Call(ctx, agentcli.Call{ID: id, Tool: l.Tool, Args: l.Args, Value: l.Value}); err != nil {
			return err
		}
	}
	answer := line{ID: l.ID, Result: done.Result, Error: done.Error}
	if err := tolerate(write(ctx, c.conn, resultLine{Type: typeResult, ID: id, Result: done.Result, Error: done.Error})); err != nil {
		return err
	}
	if c.req.Live.Tools != nil {
		c.req.Live.Tools.Answered()
	}
	ev.Raw = nil
	return c.answered(answer, ev)
}

// answered notes that a call has its answer.
func (c *conversation) answered(l line, ev agentcli.Event) error {
	tool, ok := c.open[l.id()]
	if !ok {
		return nil
	}
	delete(c.open, l.id())
	c.result.ToolCalls++
	ev.Type = agentcli.EventToolEnd
	ev.Tool = &agentcli.ToolCall{ID: l.id(), Name: "MCP", Native: tool, Kind: "other", Server: "substrat", Status: agentcli.ToolOK, Title: tool, Output: string(l.Result)}
	if l.Error != nil {
		ev.Tool.Status, ev.Tool.Error = agentcli.ToolFailed, l.Error.Error()
	}
	return c.emit(ev)
}

// finish is the program's last word on the turn.
func (c *conversation) finish(l line, ev agentcli.Event) error {
	r := &c.result
	r.Terminal = true
	if l.Type == typeFail {
		r.Outcome, r.Class, r.Detail, r.Void = substrat.FailedTurn, substrat.ClassAgent, l.Message, l.Void
		if r.Detail == "" {
			r.Detail = "the program gave the turn up and did not say why"
		}
	} else {
		r.Outcome, r.Checkpoint = substrat.Completed, l.State
		if l.Text != "" {
			end := ev
			end.Type, end.Text, end.Raw = agentcli.EventText, l.Text, nil
			if err := c.emit(end); err != nil {
				return err
			}
			c.text.WriteString(l.Text)
		}
	}
	r.Text = c.text.String()
	ev.Type, ev.Result = agentcli.EventResult, r
	return c.emit(ev)
}

// clip bounds what of a program's own words is shown.
func clip(text string) string {
	const most = 2000
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
