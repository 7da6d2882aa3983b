package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/client"
)

// Prompt implements acp.Agent: it ends when the team rests.
func (s *server) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	cancelled := acp.PromptResponse{StopReason: acp.StopReasonCancelled}
	if !s.enter() {
		return cancelled, nil
	}
	defer s.prompts.Done()
	text := words(p.Prompt)
	if strings.TrimSpace(text) == "" {
		return acp.PromptResponse{}, refusal(substrat.Errorf(substrat.CodeInvalid, "the prompt holds no text"))
	}
	x, _, err := s.find(ctx, p.SessionId)
	switch {
	case ctx.Err() != nil:
		return cancelled, nil
	case err != nil:
		return acp.PromptResponse{}, err
	}
	c := x.begin()
	defer x.end(c)
	// The request's end is a cancellation too. It is not what we work under: the turns are to be seen to end.
	defer context.AfterFunc(ctx, c.cancel)()
	select {
	case x.prompting <- struct{}{}:
		defer func() { <-x.prompting }()
	case <-c.cancelled:
		return cancelled, nil
	case <-x.closed:
		return cancelled, nil
	}
	stop, err := x.follow(c, text)
	if s.ctx.Err() != nil {
		return cancelled, nil
	}
	return acp.PromptResponse{StopReason: stop}, refusal(err)
}

// words makes one text of a prompt's blocks.
func words(blocks []acp.ContentBlock) string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			parts = append(parts, b.Text.Text)
		case b.ResourceLink != nil:
			parts = append(parts, place(b.ResourceLink.Uri))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			parts = append(parts, place(r.Uri)+":\n"+fenced(r.Text))
		case b.Resource != nil && b.Resource.Resource.BlobResourceContents != nil:
			parts = append(parts, place(b.Resource.Resource.BlobResourceContents.Uri))
		}
	}
	return strings.Join(parts, "\n")
}

// place is how an agent knows a resource: a file by its path.
func place(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" && u.Path != "" {
		if u.Fragment != "" {
			return u.Path + "#" + u.Fragment
		}
		return u.Path
	}
	return uri
}

// fenced quotes a text so that nothing in it ends the quotation.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// following shows a team at work on one prompt.
type following struct {
	*session
	team string
	root substrat.Agent
	// shown is the number of the root's last turn that was shown to its end; message is what the prompt became.
	shown   int
	message string
	outcome *substrat.Turn
	// spoke says that the root said something in this turn.
	spoke bool
	// tools are the calls of the root's turns, and the turns of others, that the editor was told of.
	tools map[string]bool
	// heard is when the root's stream last gave something, seen the last event of the journal that was dealt with.
	heard time.Time
	seen  int64
	// settled is when the team was first seen at rest as it is now.
	settled settled
	// stopping says that the turns are being stopped; stopped are those that were.
	stopping bool
	stopped  map[string]bool
	// absent is since when the daemon does not answer.
	absent time.Time

	// taken are the items that were asked in this prompt, asking those that still are.
	taken  map[string]bool
	asked  sync.WaitGroup
	mu     sync.Mutex
	asking map[string]context.CancelFunc
}

const (
	// restless is how often the team is looked at although nothing was heard of it.
	restless = time.Second
	// stopFor is how long a cancelled prompt waits for the turns to end.
	stopFor = 10 * time.Second
	// absentMost is how long a daemon may be away, being started anew, before the prompt gives up.
	absentMost = time.Minute
)

// follow delivers a prompt and shows what comes of it until the team rests.
func (x *session) follow(c *call, text string) (acp.StopReason, error) {
	ctx, cancel := context.WithCancel(x.ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	root, err := x.c.Agent(ctx, x.root)
	if err != nil {
		return "", err
	}
	status, err := x.c.Status(ctx)
	if err != nil {
		return "", err
	}
	f := &following{
		session: x, team: root.Team, root: root, seen: status.Seq, heard: time.Now(),
		tools: map[string]bool{}, stopped: map[string]bool{}, asking: map[string]context.CancelFunc{}, taken: map[string]bool{},
	}
	defer f.stopAsking()
	items, events, failed := make(chan client.StreamItem, 64), make(chan substrat.Event, 64), make(chan error, 2)
	from := f.begin()
	readers.Go(func() { pass(ctx, x.c.Stream(ctx, root.ID, from), items, failed) })
	readers.Go(func() { pass(ctx, x.c.Events(ctx, status.Seq, true), events, failed) })
	if err := f.deliver(ctx, text); err != nil {
		return "", err
	}
	if err := f.catchUp(ctx); err != nil {
		return "", err
	}
	return f.loop(ctx, c, items, events, failed)
}

// begin tells from where the root is to be shown: the turn that comes, or the rest of the one that is open.
func (f *following) begin() client.StreamPos {
	from := client.StreamPos{Turn: f.root.Turns + 1}
	if f.root.Turn != "" {
		from.Turn = f.root.Turns
		if f.at.Turn == from.Turn {
			from = f.at
		}
	}
	f.shown = from.Turn - 1
	return from
}

func (f *following) loop(ctx context.Context, c *call, items <-chan client.StreamItem, events <-chan substrat.Event, failed <-chan error) (acp.StopReason, error) {
	tick := time.NewTicker(restless)
	defer tick.Stop()
	cancelled := c.cancelled
	var late <-chan time.Time
	for {
		var look bool
		select {
		case item := <-items:
			look = f.batch(item, items)
		case ev := <-events:
			look = f.event(ctx, ev)
		case <-tick.C:
			look = true
		case <-cancelled:
			if f.gone() {
				return acp.StopReasonCancelled, nil
			}
			cancelled, late, f.stopping, look = nil, time.After(stopFor), true, true
			f.withdrawAll()
		case <-late:
			f.o.Log.Warn("the team's turns have not ended yet")
			return acp.StopReasonCancelled, nil
		case <-f.closed:
			return acp.StopReasonCancelled, nil
		case err := <-failed:
			return "", err
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if look {
			if stop, done, err := f.rests(ctx); done || err != nil {
				return stop, err
			}
		}
	}
}

// batch shows what the root's stream gave. Pieces of text that have piled up go to the editor as one.
func (f *following) batch(item client.StreamItem, more <-chan client.StreamItem) (look bool) {
	f.heard = time.Now()
	for {
		var next *client.StreamItem
		for next == nil && speech(item) {
			select {
			case x := <-more:
				if speech(x) && x.Turn == item.Turn && x.Event.Type == item.Event.Type {
					e := *x.Event
					e.Text = item.Event.Text + e.Text
					x.Event = &e
					item = x
					continue
				}
				next = &x
				continue
			default:
			}
			break
		}
		f.item(item)
		f.at = client.StreamPos{Turn: item.Number, Offset: item.Offset}
		look = look || item.Ended != nil
		if next == nil {
			return look
		}
		item = *next
	}
}

func speech(x client.StreamItem) bool {
	return x.Event != nil && (x.Event.Type == agentcli.EventText || x.Event.Type == agentcli.EventThinking)
}

// pass hands on what a stream gives.
func pass[T any](ctx context.Context, from func(func(T, error) bool), to chan<- T, failed chan<- error) {
	for v, err := range from {
		if err != nil {
			if ctx.Err() == nil {
				failed <- err
			}
			return
		}
		select {
		case to <- v:
		case <-ctx.Done():
			return
		}
	}
}

// deliver sends the prompt to the root, or gives it as the answer to the oldest question that waits for a text.
func (f *following) deliver(ctx context.Context, text string) error {
	for len(f.told) > 0 {
		_, err := f.c.AnswerItem(ctx, f.told[0].id, substrat.Answer{Text: text})
		if err == nil {
			f.forget(f.told[0].id)
			return nil
		}
		if code := substrat.CodeOf(err); code != substrat.CodeConflict && code != substrat.CodeNotFound {
			return err
		}
		f.forget(f.told[0].id) // somebody else has answered, or whoever asked has ended
	}
	sent, err := f.c.Send(ctx, f.root.ID, text)
	f.message = sent.MessageID
	return err
}

// event deals with one event of the journal. It answers whether the team may have come to rest.
func (f *following) event(ctx context.Context, ev substrat.Event) bool {
	f.seen = ev.Seq
	if ev.Team != f.team {
		return f.settled.reached(ev.Seq)
	}
	var data struct {
		ID, Turn, Agent string
		Item            struct {
			substrat.Item
			Waits bool `json:"waits"`
		}
		Message substrat.Message
	}
	if err := json.Unmarshal(ev.Data, &data); err != nil {
		f.o.Log.Warn("cannot read an event", "seq", ev.Seq, "error", err)
		return false
	}
	switch ev.Type {
	case "turn.started":
		if data.Agent != f.root.ID {
			f.otherStarted(ctx, data.Turn)
		}
	case "turn.ended":
		if data.Agent != f.root.ID {
			f.otherEnded(ctx, data.Turn)
		}
		return true
	case "item.opened":
		if data.Item.Waits {
			f.waits[data.Item.ID] = data.Item.Turn
		}
		f.ask(ctx, data.Item.Item)
		return true
	case "item.closed":
		f.forget(data.ID)
		f.withdraw(data.ID)
		return true
	case "message.sent":
		if data.Message.To == substrat.User {
			f.say("**%s:** %s", data.Message.From, data.Message.Text)
		}
	}
	return f.settled.reached(ev.Seq)
}

// fate says how a turn that did not complete ended.
func fate(t substrat.Turn) string {
	text := "the turn " + string(t.Outcome)
	for _, more := range []string{string(t.Class), t.Detail} {
		if more != "" {
			text += ": " + more
		}
	}
	return fmt.Sprintf("(%s)", text)
}
