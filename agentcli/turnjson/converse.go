package turnjson

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
)

// conversation is one turn. All of it but a call that runs is on one goroutine.
type conversation struct {
	p    *Provider
	ctx  context.Context
	conn agentcli.Conn
	req  agentcli.Request
	send func(agentcli.Event) error

	specs  []agentcli.ToolSpec
	framer framer
	result agentcli.Result
	text   transcript
	hidden textCalls
	// visible is the text as it was told, from kept on not yet part of the messages.
	visible  strings.Builder
	kept     int
	thinking bool

	// structured counts calls that came as frames, unnamed those without an id.
	structured, unnamed int
	waiting             []call
	running             chan done
	stopCall            context.CancelFunc
	// reading is the frame that is being waited for while a call runs.
	reading chan arrival
	// patience is over when a process that printed nothing is to be given the end of its stdin.
	patience <-chan time.Time
	// gone says that the process reads and prints no more.
	gone bool
	end  int64
}

// arrival is what ReadFrame gave.
type arrival struct {
	agentcli.Frame
	err error
}

// Converse implements agentcli.Provider.
func (p *Provider) Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &conversation{p: p, ctx: ctx, conn: conn, req: req, send: emit}
	c.hidden.known = c.known
	if req.Tools != nil {
		c.specs = req.Tools.Specs()
	}
	if _, ok := conn.(agentcli.InputCloser); ok && p.twoWay() && p.o.Patience > 0 && !req.Recorded {
		timer := time.NewTimer(p.o.Patience)
		defer timer.Stop()
		c.patience = timer.C
	}
	err := c.run()
	cancel()
	// Whatever is under way ends with ctx, and nothing of it outlives the conversation.
	if c.running != nil {
		<-c.running
	}
	if c.reading != nil {
		<-c.reading
	}
	c.keepText()
	c.result.Text = c.visible.String()
	return c.result, err
}

// run takes frames until the turn's end, and answers calls meanwhile.
func (c *conversation) run() error {
	for !c.result.Terminal {
		a, finished := c.next()
		if finished != nil {
			if err := c.finishCall(*finished); err != nil {
				return err
			}
			continue
		}
		if errors.Is(a.err, io.EOF) {
			return c.eof()
		}
		if a.err != nil {
			return a.err
		}
		if err := c.line(a.Frame); err != nil {
			return err
		}
	}
	return nil
}

// next waits for a frame, or for the call that runs to be done. While a call runs, the process is listened to as well:
// how else would one know that it has ended. Before it has printed anything, it may be waiting for the end of its stdin.
func (c *conversation) next() (arrival, *done) {
	if c.running == nil && c.reading == nil && c.patience == nil {
		f, err := c.conn.ReadFrame(c.ctx)
		return arrival{f, err}, nil
	}
	if c.reading == nil {
		c.reading = make(chan arrival, 1)
		go func(out chan<- arrival) {
			f, err := c.conn.ReadFrame(c.ctx)
			out <- arrival{f, err}
		}(c.reading)
	}
	for {
		select {
		case a := <-c.reading:
			c.reading, c.patience = nil, nil
			return a, nil
		case d := <-c.running:
			return arrival{}, &d
		case <-c.patience:
			c.patience = nil
			if in, ok := c.conn.(agentcli.InputCloser); ok {
				_ = in.CloseInput()
			}
		}
	}
}

// eof is the end of the output without a word that the turn is done.
func (c *conversation) eof() error {
	c.gone = true
	if err := c.framer.finish(); err != nil {
		return c.fail(substrat.ClassProtocol, "malformed output: "+err.Error())
	}
	if err := c.resolve(true); err != nil {
		return err
	}
	if c.p.twoWay() {
		if err := c.dropCalls(); err != nil {
			return err
		}
	}
	err := c.settle()
	c.result.FollowUp = c.result.FollowUp && !c.p.twoWay()
	return err
}

// dropCalls ends the calls that a process made that is gone: nobody waits for the answers any more.
func (c *conversation) dropCalls() error {
	dropped := c.waiting
	c.waiting = nil
	if c.running != nil {
		c.stopCall()
		if err := c.finishCall(<-c.running); err != nil {
			return err
		}
	}
	for _, d := range dropped {
		gone := agentcli.Call{ID: d.id, Tool: d.name, Args: d.args, Error: substrat.Errorf(substrat.CodeCancelled, "the agent ended before the call was done")}
		if err := c.answered(d, gone, agentcli.ToolFailed); err != nil {
			return err
		}
	}
	return nil
}

// settle ends what is open: text, and calls, whose answers wait for the next turn if nobody hears them now.
func (c *conversation) settle() error {
	if err := c.show(c.hidden.take("", true)); err != nil {
		return err
	}
	if err := c.endText(c.end); err != nil {
		return err
	}
	if c.structured == 0 {
		for _, found := range c.hidden.calls {
			found.end = c.end
			if err := c.request(found, nil); err != nil {
				return err
			}
		}
	}
	c.hidden.calls = nil
	for c.running != nil {
		if err := c.finishCall(<-c.running); err != nil {
			return err
		}
	}
	return nil
}

// line takes one line of output.
func (c *conversation) line(f agentcli.Frame) error {
	c.end = f.End
	if f.Skipped > 0 {
		return c.malformed(frame{end: f.End}, "a line is too long to be read")
	}
	data, err := c.framer.line(f.Data)
	if err != nil {
		return c.fail(substrat.ClassProtocol, "malformed output: "+err.Error())
	}
	if data == nil {
		return nil
	}
	parsed, err := parse(data)
	parsed.end = f.End
	if err != nil {
		return c.malformed(parsed, "a frame cannot be read, "+err.Error())
	}
	return c.frame(parsed)
}

// malformed fails the turn of a CLI that was written for the contract, and is a notice otherwise.
func (c *conversation) malformed(f frame, what string) error {
	if c.p.o.PromptAsArg {
		return c.note(f, what)
	}
	if said := strings.TrimSpace(string(f.raw)); said != "" {
		what += ": " + clip(redact.String(said), 300)
		if _, why := causeOf(said); why != "" && c.visible.Len() == 0 && said[0] != '{' {
			what += "; " + why
		}
	}
	return c.fail(substrat.ClassProtocol, "malformed output: "+what)
}

// fail ends the turn. A process that can hear it is told to end too; the host ends it anyway.
func (c *conversation) fail(class substrat.FailureClass, detail string) error {
	if c.result.Terminal {
		return nil
	}
	c.result.Terminal, c.result.FollowUp = true, false
	c.result.Outcome, c.result.Class, c.result.Detail = substrat.FailedTurn, class, redact.String(detail)
	if class == substrat.ClassCancelled {
		c.result.Outcome = substrat.Cancelled
	}
	if !c.gone && !c.req.Recorded && class == substrat.ClassProtocol {
		_ = c.p.Interrupt(c.ctx, c.conn, c.req)
	}
	return c.close()
}

// close is the last event.
func (c *conversation) close() error {
	if err := c.resolve(true); err != nil {
		return err
	}
	if err := c.show(c.hidden.take("", true)); err != nil {
		return err
	}
	if err := c.endText(c.end); err != nil {
		return err
	}
	c.keepText()
	c.result.Text = c.visible.String()
	return c.emit(agentcli.Event{Type: agentcli.EventResult, Result: &c.result, Offset: c.end})
}

func (c *conversation) emit(e agentcli.Event) error {
	return c.send(e)
}

// note keeps a frame that means nothing to the turn.
func (c *conversation) note(f frame, what string) error {
	if len(f.raw) > 0 && f.Type == "" && !json.Valid(f.raw) {
		what += ": " + clip(redact.String(strings.ToValidUTF8(string(f.raw), "\uFFFD")), 2000)
		f.raw = nil
	}
	return c.emit(agentcli.Event{Type: agentcli.EventNotice, Text: what, Offset: f.end, Raw: f.raw})
}

// show tells of text.
func (c *conversation) show(s string) error {
	if s == "" {
		return nil
	}
	c.visible.WriteString(s)
	return c.emit(agentcli.Event{Type: agentcli.EventText, Text: s, Offset: c.end})
}

// endText closes the segment of text, or of thinking, that is open.
func (c *conversation) endText(end int64) error {
	if err := c.endThinking(end); err != nil {
		return err
	}
	if !c.text.boundary() {
		return nil
	}
	return c.emit(agentcli.Event{Type: agentcli.EventTextEnd, Offset: end})
}

// keepText makes a message of the text since the last one.
func (c *conversation) keepText() {
	if s := c.visible.String()[c.kept:]; s != "" {
		c.kept += len(s)
		c.result.Messages = append(c.result.Messages, agentcli.ChatMessage{Role: "assistant", Content: s})
	}
}
