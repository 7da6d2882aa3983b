package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Converse implements agentcli.Provider: one turn on a greeted process, or, without a live turn, a transcript of one.
func (p *Provider) Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	t := &turn{p: p, link: &link{conn: conn}, req: req, emit: emit, calls: map[string]*agentcli.ToolCall{}, asked: map[string]agentcli.Question{}, live: req.Live != nil}
	asking, stop := context.WithCancel(ctx)
	t.asking = asking
	// Whatever is still asked when the turn ends is answered as cancelled, before this returns.
	defer func() { stop(); t.askers.Wait(); t.endTerminals() }()
	if t.live {
		if err := t.begin(ctx); err != nil {
			return t.result, err
		}
	}
	if err := t.read(ctx, conn, t.live); err != nil {
		return t.result, err
	}
	if t.result.Terminal {
		return t.result, nil
	}
	return t.result, t.closeOpen()
}

// turn is one prompt and what comes of it.
type turn struct {
	*link
	p    *Provider
	req  agentcli.Request
	emit func(agentcli.Event) error
	// live says that lines are acted upon; else they are only told.
	live bool
	// prompt is the id of the request whose answer ends the turn.
	prompt  string
	session string

	result agentcli.Result
	text   strings.Builder
	// open is the kind of the segment that is open: a text's, a thought's, or none.
	open   agentcli.EventType
	offset int64
	raw    json.RawMessage

	calls map[string]*agentcli.ToolCall
	order []string
	todos []agentcli.Todo
	// asked are the requests of the agent that were not answered yet, by their ids as they were written.
	asked  map[string]agentcli.Question
	asking context.Context
	askers sync.WaitGroup
	// refused says that leave was refused in this turn.
	refused atomic.Bool
	// told is what those who ask were answered, for the one who reads to tell.
	told struct {
		sync.Mutex
		answers []told
	}
	terminals terminals
}

// told is an answer with its question.
type told struct {
	q agentcli.Question
	e agentcli.Event
}

// begin sends the prompt, or finds out what a host that is gone had done of the turn.
func (t *turn) begin(ctx context.Context) error {
	l := t.req.Live
	if l.Resumed && l.Past != nil {
		if err := t.read(ctx, l.Past, false); err != nil {
			return err
		}
		if t.prompt != "" {
			return t.askAgain()
		}
	}
	t.prompt, t.session = ourPrefix+"prompt:"+l.ID, l.Greeting.Session
	if t.session == "" {
		return nil // the process ended before it had one; its end is still to be read
	}
	t.result.Session = t.session
	if err := t.send1(agentcli.Event{Type: agentcli.EventSession, Session: t.session, Model: l.Greeting.Model}); err != nil {
		return err
	}
	var keep kept
	_ = json.Unmarshal(l.Greeting.Keep, &keep)
	if keep.Barrier && keep.First != l.ID {
		if err := t.barrier(ctx, "before:"+l.ID); err != nil && !gone(err) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
	blocks := []textBlock{}
	if keep.First == l.ID {
		for _, note := range l.Greeting.Notes {
			if err := t.notice(note); err != nil {
				return err
			}
		}
	}
	if keep.Fresh == l.ID && t.req.Instructions != "" {
		blocks = append(blocks, textBlock{"text", "Standing instructions, for this whole conversation:\n\n" + t.req.Instructions})
	}
	blocks = append(blocks, textBlock{"text", t.req.Prompt})
	line, err := request(t.prompt, "session/prompt", map[string]any{"sessionId": t.session, "prompt": blocks})
	if err := t.link.send(ctx, line, err); err != nil && !gone(err) {
		return err
	}
	return nil
}

// read takes lines until the turn's end or that of the stream.
func (t *turn) read(ctx context.Context, from agentcli.Conn, live bool) error {
	was := t.live
	t.live = live
	defer func() { t.live = was }()
	for !t.result.Terminal {
		f, err := from.ReadFrame(ctx)
		if err := t.tell(); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			t.result.Text = t.text.String()
			return nil
		}
		if err != nil {
			return err
		}
		t.offset, t.raw = f.End, nil
		if f.Skipped > 0 {
			err = t.notice(fmt.Sprintf("a line of %d bytes was passed over", f.Skipped))
		} else {
			err = t.line(ctx, f.Data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line deals with one line, of either side.
func (t *turn) line(ctx context.Context, data []byte) error {
	m, ok := parse(data)
	if !ok {
		if text := strings.TrimSpace(string(data)); text != "" {
			return t.notice(clip(text))
		}
		return nil
	}
	t.raw = data
	if t.prompt == "" && m.Method != "session/prompt" {
		return nil // a transcript begins before its turn does
	}
	switch {
	case m.Method == "":
		return t.response(m)
	case m.isRequest():
		if _, mine := ours(m.ID); mine {
			return t.ourRequest(m)
		}
		return t.request(ctx, m)
	default:
		return t.notified(m)
	}
}

// ourRequest is a line of ours in a transcript.
func (t *turn) ourRequest(m message) error {
	if m.Method != "session/prompt" {
		return nil
	}
	id, _ := ours(m.ID)
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	t.prompt, t.session, t.result.Session = id, p.SessionID, p.SessionID
	return t.send1(agentcli.Event{Type: agentcli.EventSession, Session: p.SessionID})
}

// response is the agent's answer to a request of ours, or, in a transcript, ours to one of the agent's.
func (t *turn) response(m message) error {
	id, mine := ours(m.ID)
	if !mine {
		return t.pastAnswer(m)
	}
	if id != t.prompt {
		return nil
	}
	if err := t.closeOpen(); err != nil {
		return err
	}
	r := &t.result
	r.Terminal, r.Text = true, t.text.String()
	if m.Error != nil {
		fail := failureOf("the agent gave up", m.Error)
		r.Outcome, r.Class, r.Detail = substrat.FailedTurn, fail.Class, fail.Detail
	} else {
		t.stopped(m.Result)
	}
	out := *r
	return t.send1(agentcli.Event{Type: agentcli.EventResult, Session: r.Session, Result: &out})
}

// stopped reads why the agent stopped.
func (t *turn) stopped(result json.RawMessage) {
	var p prompted
	_ = json.Unmarshal(result, &p)
	r := &t.result
	if p.Usage != nil {
		r.Usage = &substrat.Usage{InputTokens: p.Usage.Input, OutputTokens: p.Usage.Output, CacheReadTokens: p.Usage.CacheRead, CacheWriteTokens: p.Usage.CacheWrite}
	}
	r.Outcome = substrat.FailedTurn
	switch p.StopReason {
	case "end_turn":
		r.Outcome = substrat.Completed
	case "cancelled":
		if t.refused.Load() {
			// Some agents stop at the first refusal, and call it so.
			r.Outcome, r.Detail = substrat.Completed, "the agent stopped because leave was refused"
			return
		}
		r.Outcome, r.Class, r.Detail = substrat.Cancelled, substrat.ClassCancelled, "the turn was stopped"
	case "max_tokens":
		r.Class, r.Detail = substrat.ClassAgent, "the model reached its limit of tokens"
	case "max_turn_requests":
		r.Class, r.Detail = substrat.ClassAgent, "the agent reached its limit of requests to the model"
	case "refusal":
		r.Class, r.Detail = substrat.ClassAgent, "the model refuses to go on"
	default:
		r.Class, r.Detail = substrat.ClassProtocol, "the agent stopped for an unknown reason: "+clip(p.StopReason)
	}
}

// notified deals with a notification.
func (t *turn) notified(m message) error {
	if strings.HasPrefix(m.Method, "cursor/") {
		return t.cursorNotified(m)
	}
	if m.Method == "session/cancel" {
		return t.notice("the turn is asked to stop")
	}
	if m.Method != "session/update" {
		return t.notice("notification " + clip(m.Method))
	}
	var p updateParams
	if json.Unmarshal(m.Params, &p) != nil {
		return t.notice("an update that makes no sense")
	}
	if p.SessionID != "" && t.session != "" && p.SessionID != t.session {
		return t.notice("an update for another session: " + clip(p.SessionID))
	}
	return t.update(p.Update)
}

// update deals with what an agent tells of its turn.
func (t *turn) update(data json.RawMessage) error {
	var u update
	if err := json.Unmarshal(data, &u); err != nil {
		return t.notice("an update that makes no sense: " + clip(err.Error()))
	}
	switch u.Kind {
	case "agent_message_chunk":
		return t.say(agentcli.EventText, blockText(u.toolUpdate.Content))
	case "agent_thought_chunk":
		return t.say(agentcli.EventThinking, blockText(u.toolUpdate.Content))
	case "user_message_chunk":
		return t.send1(agentcli.Event{Type: agentcli.EventUser, Text: blockText(u.toolUpdate.Content)})
	case "tool_call", "tool_call_update":
		return t.toolCall(u.toolUpdate)
	case "plan":
		t.todos = t.todos[:0]
		for i, e := range u.Entries {
			t.todos = append(t.todos, agentcli.Todo{ID: fmt.Sprint(i + 1), Content: e.Content, Status: e.Status})
		}
		return t.send(agentcli.Event{Type: agentcli.EventTodos, Todos: append([]agentcli.Todo(nil), t.todos...)})
	case "current_mode_update":
		return t.notice("mode " + clip(u.Mode))
	case "usage_update":
		return t.notice(fmt.Sprintf("%d of %d tokens of context are used", u.Used, u.Size))
	default:
		return t.notice(clip(u.Kind))
	}
}

// blockText gives what a content block says.
func blockText(data json.RawMessage) string {
	var c content
	if json.Unmarshal(data, &c) != nil {
		return ""
	}
	return c.words()
}

func (c content) words() string {
	switch {
	case c.Text != "":
		return c.Text
	case c.Resource.Text != "":
		return c.Resource.Text
	case c.URI != "":
		return "[" + c.URI + "]"
	case c.Resource.URI != "":
		return "[" + c.Resource.URI + "]"
	case c.Type == "image" || c.Type == "audio":
		return "[" + c.Type + "]"
	}
	return ""
}

// say appends to a segment of text or thought.
func (t *turn) say(kind agentcli.EventType, text string) error {
	if text == "" {
		return nil
	}
	if t.open != kind {
		if err := t.closeSegment(); err != nil {
			return err
		}
		t.open = kind
	}
	if kind == agentcli.EventText {
		t.text.WriteString(text)
	}
	return t.send1(agentcli.Event{Type: kind, Text: text})
}

func (t *turn) closeSegment() error {
	end := map[agentcli.EventType]agentcli.EventType{agentcli.EventText: agentcli.EventTextEnd, agentcli.EventThinking: agentcli.EventThinkEnd}[t.open]
	t.open = ""
	if end == "" {
		return nil
	}
	return t.emit(agentcli.Event{Type: end, Offset: t.offset})
}

// closeOpen ends what is open when the turn ends.
func (t *turn) closeOpen() error {
	if err := t.closeSegment(); err != nil {
		return err
	}
	for _, id := range t.order {
		c := t.calls[id]
		if c.Status != agentcli.ToolRunning {
			continue
		}
		c.Status, c.Error = agentcli.ToolFailed, "the turn ended before it did"
		out := *c
		if err := t.emit(agentcli.Event{Type: agentcli.EventToolEnd, Tool: &out, Offset: t.offset}); err != nil {
			return err
		}
	}
	t.result.Text = t.text.String()
	return nil
}

// send emits an event that ends the open segment, send1 one that does not.
func (t *turn) send(e agentcli.Event) error {
	if err := t.closeSegment(); err != nil {
		return err
	}
	return t.send1(e)
}

func (t *turn) send1(e agentcli.Event) error {
	e.Offset, e.Raw = t.offset, t.raw
	return t.emit(e)
}

func (t *turn) notice(text string) error {
	return t.send1(agentcli.Event{Type: agentcli.EventNotice, Text: text})
}

// tell emits what those who ask have to tell.
func (t *turn) tell() error {
	t.told.Lock()
	answers := t.told.answers
	t.told.answers = nil
	t.told.Unlock()
	for _, x := range answers {
		if err := t.emit(x.e); err != nil {
			return err
		}
		if err := t.refuseCall(x.q, *x.e.Answer); err != nil {
			return err
		}
	}
	return nil
}
