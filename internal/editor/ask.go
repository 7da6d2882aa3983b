package editor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
)

// What the team needs a person for goes to the editor's user: with choices as a request for permission, which is the one
// way of the protocol to put a choice; what wants a text as a message, and the next prompt is the answer.

// catchUp shows what began before this prompt: what is open, and the turns of others.
func (f *following) catchUp(ctx context.Context) error {
	items, err := f.c.Queue(ctx, false)
	if err != nil {
		return err
	}
	for _, x := range items {
		if x.Team == f.team {
			f.ask(ctx, x)
		}
	}
	agents, err := f.c.Agents(ctx, false)
	if err != nil {
		return err
	}
	for _, a := range agents {
		if a.Team == f.team && a.ID != f.root.ID && a.Turn != "" {
			f.otherStarted(ctx, a.Turn)
		}
	}
	return nil
}

// ask puts an item before the editor's user, once in a prompt.
func (f *following) ask(ctx context.Context, x substrat.Item) {
	if f.stopping || f.taken[x.ID] || f.isTold(x.ID) {
		return
	}
	f.taken[x.ID] = true
	if len(x.Options) == 0 {
		f.tell(x)
		return
	}
	asking, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	f.asking[x.ID] = cancel
	f.mu.Unlock()
	f.asked.Go(func() {
		defer f.withdraw(x.ID)
		f.decide(asking, x)
	})
}

// tell shows a question that wants a text.
func (x *session) tell(i substrat.Item) {
	if x.isTold(i.ID) {
		return
	}
	how := "Your next prompt is the answer."
	if n := len(x.told); n > 0 {
		how = fmt.Sprintf("Your prompts are the answers, in the order of the questions; before this one: %d.", n)
	}
	x.told = append(x.told, question{i.ID, i.Agent, i.Text})
	x.say("**%s asks:** %s\n\n(%s)", i.Agent, i.Text, how)
}

func (x *session) isTold(id string) bool {
	return slices.ContainsFunc(x.told, func(q question) bool { return q.id == id })
}

// remind repeats the question that the next prompt answers, if this prompt did not tell of it.
func (f *following) remind() {
	if len(f.told) > 0 && !f.taken[f.told[0].id] {
		q := f.told[0]
		f.say("**%s asks:** %s\n\n(Your next prompt is the answer.)", q.agent, q.text)
	}
}

// forget lets go of an item that nobody waits for any more.
func (x *session) forget(id string) {
	x.told = slices.DeleteFunc(x.told, func(q question) bool { return q.id == id })
	delete(x.waits, id)
}

// refusing are the choices that say no.
var refusing = []string{"deny", "reject", "leave", "dismiss"}

func optionsOf(x substrat.Item) []acp.PermissionOption {
	var options []acp.PermissionOption
	for _, o := range x.Options {
		kind := acp.PermissionOptionKindAllowOnce
		switch {
		case x.Kind == substrat.ItemQuestion:
		case slices.Contains(refusing, o):
			kind = acp.PermissionOptionKindRejectOnce
		case o == "always":
			kind = acp.PermissionOptionKindAllowAlways
		}
		options = append(options, acp.PermissionOption{OptionId: acp.PermissionOptionId(o), Name: o, Kind: kind})
	}
	return options
}

// purposes say what each kind of item is, after the agent's path.
var purposes = map[substrat.ItemKind]string{
	substrat.ItemQuestion: "asks", substrat.ItemPermission: "asks for leave", substrat.ItemPlan: "shows a plan", substrat.ItemBudget: "is over its budget",
	substrat.ItemFailure: "failed", substrat.ItemLogin: "needs a login", substrat.ItemMessage: "wants to send a message",
}

// decide has the editor's user choose. The item is a call of its own to the editor, which ends with the choice.
func (f *following) decide(ctx context.Context, x substrat.Item) {
	id := acp.ToolCallId(x.ID)
	purpose := purposes[x.Kind]
	if purpose == "" {
		purpose = string(x.Kind)
	}
	title := x.Text
	if !strings.HasPrefix(title, x.Agent+" ") {
		title = fmt.Sprintf("%s %s: %s", x.Agent, purpose, x.Text)
	}
	title = firstLine(title)
	text := fmt.Sprintf("**%s** %s:\n\n%s", x.Agent, purpose, clip(x.Text))
	if x.Multiple {
		text += "\n\n(Here you can choose one; `substrat answer " + x.ID + "` takes several.)"
	}
	content := []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}
	kind := acp.ToolKindOther
	f.update(acp.StartToolCall(id, title, acp.WithStartKind(kind), acp.WithStartStatus(acp.ToolCallStatusPending), acp.WithStartContent(content), acp.WithStartRawInput(rawOf(x.Input))))
	answer, err := f.conn.RequestPermission(ctx, acp.RequestPermissionRequest{SessionId: f.id, Options: optionsOf(x), ToolCall: acp.ToolCallUpdate{
		ToolCallId: id, Title: &title, Kind: &kind, Status: acp.Ptr(acp.ToolCallStatusPending), Content: content, RawInput: rawOf(x.Input),
	}})
	status, result := acp.ToolCallStatusFailed, "not decided here; `substrat queue` shows what is open"
	switch {
	case ctx.Err() != nil:
	case err != nil:
		f.o.Log.Warn("the editor cannot have an item decided", "item", x.ID, "error", err)
	case answer.Outcome.Selected != nil:
		choice := string(answer.Outcome.Selected.OptionId)
		// The item's end withdraws what is asked; the answer that ends it is not to be cut short by that.
		_, err := f.c.AnswerItem(f.ctx, x.ID, substrat.Answer{Choices: []string{choice}})
		switch code := substrat.CodeOf(err); {
		case err == nil:
			status, result = acp.ToolCallStatusCompleted, "answered: "+choice
		case code == substrat.CodeConflict, code == substrat.CodeNotFound: // somebody else was faster
		default:
			result = err.Error()
			f.o.Log.Warn("cannot answer an item", "item", x.ID, "error", err)
		}
	}
	f.update(acp.UpdateToolCall(id, acp.WithUpdateStatus(status), acp.WithUpdateContent(append(content, acp.ToolContent(acp.TextBlock(result))))))
}

func (f *following) isAsking() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asking) > 0
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

// withdrawAll takes back all that the editor is asked.
func (f *following) withdrawAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cancel := range f.asking {
		cancel()
	}
}

// stopAsking ends what is still asked when the prompt ends.
func (f *following) stopAsking() {
	f.withdrawAll()
	f.asked.Wait()
}
