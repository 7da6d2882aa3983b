package editor

import (
	"context"
	"fmt"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
)

// What the team needs a person for goes to the editor's user: with choices as a request for permission, which is the one
// way of the protocol to put a choice; what wants a text as a message, and the next prompt is the answer.

// askOpen takes up what was open before this prompt.
func (f *following) askOpen(ctx context.Context) error {
	items, err := f.c.Queue(ctx, false)
	if err != nil {
		return err
	}
	for _, x := range items {
		if x.Team == f.team && x.ID != f.unanswered {
			f.ask(ctx, x)
		}
	}
	return nil
}

// ask puts an item before the editor's user.
func (f *following) ask(ctx context.Context, x substrat.Item) {
	if len(x.Options) == 0 {
		f.unanswered = x.ID
		f.update(ctx, acp.UpdateAgentMessageText(fmt.Sprintf("\n\n**%s asks:** %s\n\n(Your next prompt is the answer.)\n", x.Agent, x.Text)))
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking[x.ID] != nil {
		return
	}
	asking, cancel := context.WithCancel(ctx)
	f.asking[x.ID] = cancel
	f.asked.Go(func() {
		defer f.withdraw(x.ID)
		if err := f.decide(asking, x); err != nil && asking.Err() == nil {
			f.o.Log.Warn("cannot have an item decided", "item", x.ID, "error", err)
		}
	})
}

// refusing are the choices that say no.
var refusing = []string{"deny", "reject", "leave", "dismiss"}

func (f *following) decide(ctx context.Context, x substrat.Item) error {
	var options []acp.PermissionOption
	for _, o := range x.Options {
		kind := acp.PermissionOptionKindAllowOnce
		switch {
		case slices.Contains(refusing, o) && x.Kind != substrat.ItemQuestion:
			kind = acp.PermissionOptionKindRejectOnce
		case o == "always":
			kind = acp.PermissionOptionKindAllowAlways
		}
		options = append(options, acp.PermissionOption{OptionId: acp.PermissionOptionId(o), Name: o, Kind: kind})
	}
	answer, err := f.conn.RequestPermission(ctx, acp.RequestPermissionRequest{SessionId: f.id, Options: options, ToolCall: acp.ToolCallUpdate{
		ToolCallId: acp.ToolCallId(x.ID), Title: acp.Ptr(fmt.Sprintf("%s: %s of %s", x.Text, x.Kind, x.Agent)), Kind: acp.Ptr(acp.ToolKindOther),
		Status: acp.Ptr(acp.ToolCallStatusPending), RawInput: rawOf(x.Input),
	}})
	if err != nil || answer.Outcome.Selected == nil {
		return err // it stays open: in the queue, and for the next prompt
	}
	_, err = f.c.AnswerItem(ctx, x.ID, substrat.Answer{Choices: []string{string(answer.Outcome.Selected.OptionId)}})
	if substrat.CodeOf(err) == substrat.CodeConflict {
		return nil // somebody else was faster
	}
	return err
}

// withdraw lets go of an item that is decided.
func (f *following) withdraw(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cancel := f.asking[id]; cancel != nil {
		cancel()
		delete(f.asking, id)
	}
}

// stopAsking ends what is still asked when the prompt ends.
func (f *following) stopAsking() {
	f.mu.Lock()
	for _, cancel := range f.asking {
		cancel()
	}
	f.mu.Unlock()
	f.asked.Wait()
}
