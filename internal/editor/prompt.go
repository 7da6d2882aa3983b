package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// Prompt implements acp.Agent: it ends when the team rests.
func (s *server) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	text := words(p.Prompt)
	if strings.TrimSpace(text) == "" {
		return acp.PromptResponse{}, acp.NewInvalidParams(map[string]string{"error": "the prompt holds no text"})
	}
	x, root, err := s.find(ctx, p.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	x.prompting.Lock()
	defer x.prompting.Unlock()
	f := &following{session: x, team: root.Team, root: root, tools: map[string]bool{}, asking: map[string]context.CancelFunc{}}
	defer f.stopAsking()
	stop, err := f.run(ctx, text)
	if ctx.Err() != nil {
		f.stopTurns()
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
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
			parts = append(parts, strings.TrimPrefix(b.ResourceLink.Uri, "file://"))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			parts = append(parts, fmt.Sprintf("%s:\n```\n%s\n```", strings.TrimPrefix(r.Uri, "file://"), r.Text))
		}
	}
	return strings.Join(parts, "\n")
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
	// tools are the calls of the root's open turn, and the turns of others, that the editor was told of.
	tools map[string]bool

	asked  sync.WaitGroup
	mu     sync.Mutex
	asking map[string]context.CancelFunc // by item
}

// restless is how often the team is looked at although nothing was heard of it.
const restless = 2 * time.Second

// run delivers the prompt and shows what comes of it until the team rests.
func (f *following) run(ctx context.Context, text string) (acp.StopReason, error) {
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	status, err := f.c.Status(ctx)
	if err != nil {
		return "", err
	}
	from := client.StreamPos{Turn: f.root.Turns + 1}
	if f.root.Turn != "" {
		from.Turn = f.root.Turns
	}
	f.shown = from.Turn - 1
	items, events, failed := make(chan client.StreamItem, 64), make(chan substrat.Event, 64), make(chan error, 2)
	readers.Go(func() { pass(ctx, f.c.Stream(ctx, f.root.ID, from), items, failed) })
	readers.Go(func() { pass(ctx, f.c.Events(ctx, status.Seq, true), events, failed) })
	if err := f.askOpen(ctx); err != nil {
		return "", err
	}
	if err := f.deliver(ctx, text); err != nil {
		return "", err
	}
	tick := time.NewTicker(restless)
	defer tick.Stop()
	for {
		var look bool
		select {
		case item := <-items:
			f.item(ctx, item)
			look = item.Ended != nil
		case ev := <-events:
			look = f.event(ctx, ev)
		case <-tick.C:
			look = true
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

// deliver sends the prompt to the root, or gives it as the answer that an agent waits for.
func (f *following) deliver(ctx context.Context, text string) error {
	if id := f.unanswered; id != "" {
		f.unanswered = ""
		_, err := f.c.AnswerItem(ctx, id, substrat.Answer{Text: text})
		if substrat.CodeOf(err) != substrat.CodeConflict && substrat.CodeOf(err) != substrat.CodeNotFound {
			return err
		}
		// Somebody else has answered: it is a message like any other.
	}
	sent, err := f.c.Send(ctx, f.root.ID, text)
	f.message = sent.MessageID
	return err
}

// rests reports whether nobody of the team has anything to do, or all wait for a word that only the next prompt can give.
func (f *following) rests(ctx context.Context) (acp.StopReason, bool, error) {
	agents, err := f.c.Agents(ctx, false)
	if err != nil {
		return "", false, f.tolerate(err)
	}
	alive := false
	for _, a := range agents {
		if a.Team != f.team {
			continue
		}
		if a.ID == f.root.ID {
			alive = true
			if f.shown < a.Turns {
				return "", false, nil
			}
		}
		if a.Turn != "" || a.Pending > 0 && !a.Gated {
			return "", false, nil
		}
	}
	f.mu.Lock()
	asking := len(f.asking)
	f.mu.Unlock()
	if asking > 0 && alive {
		return "", false, nil
	}
	if f.outcome != nil && f.message != "" {
		if m, err := f.c.Message(ctx, f.message); err == nil && m.State == substrat.Dead {
			if f.outcome.Outcome == substrat.Cancelled {
				return acp.StopReasonCancelled, true, nil
			}
			return "", true, substrat.Errorf(substrat.CodeInternal, "the turn %s: %s: %s", f.outcome.Outcome, f.outcome.Class, f.outcome.Detail)
		}
	}
	return acp.StopReasonEndTurn, true, nil
}

// tolerate passes over a daemon that is being started anew.
func (f *following) tolerate(err error) error {
	if substrat.CodeOf(err) == substrat.CodeUnavailable {
		return nil
	}
	return err
}

// event deals with one event of the journal. It answers whether the team may have come to rest.
func (f *following) event(ctx context.Context, ev substrat.Event) bool {
	if ev.Team != f.team {
		return false
	}
	var data struct {
		ID, Turn, Agent string
		Item            substrat.Item
		Message         substrat.Message
	}
	_ = json.Unmarshal(ev.Data, &data)
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
		f.ask(ctx, data.Item)
		return true
	case "item.closed":
		f.withdraw(data.ID)
		return true
	case "message.sent":
		if data.Message.To == substrat.User && data.Message.From != f.root.Path {
			f.update(ctx, acp.UpdateAgentMessageText(fmt.Sprintf("\n\n**%s:** %s\n", data.Message.From, data.Message.Text)))
		}
	}
	return false
}

// stopTurns stops what the team is at. The editor has been told to wait for it.
func (f *following) stopTurns() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	agents, err := f.c.Agents(ctx, false)
	if err != nil {
		f.o.Log.Warn("cannot stop the team", "error", err)
		return
	}
	for _, a := range agents {
		if a.Team == f.team && a.Turn != "" {
			if _, err := f.c.StopTurn(ctx, a.ID); err != nil {
				f.o.Log.Warn("cannot stop a turn", "agent", a.Path, "error", err)
			}
		}
	}
}
