package team

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Start opens a turn for an agent that is ready, with everything in its mailbox as the prompt.
type Start struct {
	Agent string
	Turn  string
	// Most bounds how many messages become one prompt. 0 means 100.
	Most int
}

// Bind records the provider's conversation id of an agent, before the turn that uses it is acknowledged.
type Bind struct {
	Agent   string
	Session string
}

// Cancel asks to end an agent's open turn.
type Cancel struct {
	Agent string
}

// End records the outcome of a turn.
type End struct {
	Agent, Turn string
	Outcome     substrat.Outcome
	Class       substrat.FailureClass
	Detail      string
	Text        string
	Usage       *substrat.Usage
	ToolCalls   int
	Files       []string
	// Account is what its provider's limits are counted on, ResetAt when the provider said that it goes on.
	Account string
	ResetAt time.Time
	// CostMicros is what the turn cost, if Priced.
	CostMicros int64
	Priced     bool
}

func (c Start) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil || c.Turn == "" || d.openTurn(c.Turn) != nil || !d.ready(a, d.At) {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot start a turn: the agent is not ready")
	}
	most := c.Most
	if most <= 0 {
		most = 100
	}
	ids := slices.Clone(a.Queue[:min(most, len(a.Queue))])
	retry := ""
	if slices.ContainsFunc(ids, func(id string) bool { m := d.Messages[id]; return m.Failures+m.Cuts > 0 }) {
		retry = a.LastError
	}
	d.add(&TurnStarted{Turn: c.Turn, Agent: a.ID, Number: a.Turns + 1, Messages: ids, Retry: retry})
	return nil, nil
}

func (c Bind) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	if session := clean(c.Session); a.Session != session {
		d.add(&SessionBound{Agent: a.ID, Session: session})
	}
	return nil, nil
}

func (c Cancel) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	if a.Turn == nil {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot stop %s: no turn is open", d.Path(a.ID))
	}
	if a.Turn.Cancel == "" {
		d.add(&TurnCancelled{Turn: a.Turn.ID, Agent: a.ID, By: d.actorName(d.Actor)})
	}
	return map[string]string{"status": "cancelling", "turn": a.Turn.ID}, nil
}

func (c End) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil || a.Turn == nil || a.Turn.ID != c.Turn {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot end turn %s: it is not open", c.Turn)
	}
	x := &TurnEnded{
		Turn: c.Turn, Agent: a.ID, Outcome: c.Outcome, Class: c.Class, Detail: clean(c.Detail), Text: clean(c.Text),
		Usage: c.Usage, ToolCalls: c.ToolCalls, Account: clean(c.Account), ResetAt: c.ResetAt.UTC(), CostMicros: max(c.CostMicros, 0), Priced: c.Priced,
	}
	if c.ResetAt.IsZero() {
		x.ResetAt = time.Time{}
	}
	for _, f := range c.Files {
		x.Files = append(x.Files, clean(f))
	}
	mail := d.injected(a)
	d.add(x)
	d.startSpawned(a, x.Turn)
	switch c.Outcome {
	case substrat.Completed:
		x.Handled = mail
		d.completed(a, x)
	case substrat.Cancelled:
		x.Dead = mail
		d.refuse(a, x)
	case substrat.FailedTurn, substrat.TimedOut, substrat.Interrupted:
		d.failed(a, x, mail)
	default:
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot end turn %s: no outcome %q", c.Turn, c.Outcome)
	}
	return nil, nil
}

// completed answers what the turn left unanswered with its text, and ends the agent if it asked to.
func (d *decision) completed(a *Agent, x *TurnEnded) {
	for _, id := range x.Handled {
		if m := d.Messages[id]; m.Kind == substrat.KindRequest && d.Agents[m.FromID] != nil {
			d.reply(a, m, x.Text)
		}
	}
	if a.Completing != nil {
		d.complete(a)
	}
}

// reply sends the turn's text as the answer to a request. Replies pass the hop limit: nobody is left waiting.
func (d *decision) reply(a *Agent, m *Message, text string) {
	if a.Completing != nil && m.FromID == a.Parent {
		text = *a.Completing
	}
	if strings.TrimSpace(text) == "" {
		text = "(the turn ended without text)"
	}
	if most := d.Limits.TextBytes; len(text) > most {
		text = clip(text, most) + fmt.Sprintf("\n(cut: the turn ended with %d bytes of text)", len(text))
	}
	d.send(Message{FromID: a.ID, ToID: m.FromID, Message: substrat.Message{
		ID: derive(m.ID, "reply"), Team: d.Team, From: d.Path(a.ID), To: m.From, Kind: substrat.KindReply,
		Text: text, ReplyTo: m.ID, Cause: m.ID, Hops: m.Hops + 1,
	}})
}

// startSpawned wakes the children that this turn spawned and sent nothing, however the turn ended: they exist.
func (d *decision) startSpawned(a *Agent, turn string) {
	_, hops := chain(a)
	for _, id := range a.Children {
		c := d.Agents[id]
		if c.StartAfter != turn || len(c.Queue) > 0 || c.Instructions == "" {
			continue
		}
		d.send(Message{FromID: a.ID, ToID: c.ID, Message: substrat.Message{
			ID: derive(turn, c.ID, "start"), Team: d.Team, From: d.Path(a.ID), To: d.Path(c.ID), Kind: substrat.KindStart,
			Text: c.Instructions, Hops: hops,
		}})
	}
}

// complete leaves the result to the parent, unless it was the answer to a request, and ends the agent.
func (d *decision) complete(a *Agent) {
	answered := slices.ContainsFunc(d.facts, func(f Fact) bool {
		s, ok := f.(*MessageSent)
		return ok && s.Message.Kind == substrat.KindReply && s.Message.ToID == a.Parent
	})
	if !answered {
		d.sendResult(a, *a.Completing)
	}
	d.terminate(a, "completed", "completed")
}

// failed puts the mail back for another attempt, gives up what has had all of its attempts, and tells those who should
// know. Each message has attempts of its own: one that cannot be handled takes no other with it.
func (d *decision) failed(a *Agent, x *TurnEnded, mail []string) {
	x.LoseSession = x.Class == substrat.ClassSession
	cut := x.Outcome == substrat.Interrupted
	x.Spared = x.Account != "" && ofAccount(x.Class)
	for _, id := range mail {
		m := d.Messages[id]
		if x.Spared {
			x.Requeued = append(x.Requeued, id)
			continue
		}
		if cut && m.Cuts+1 >= d.Limits.Interrupts || !cut && m.Failures+1 >= d.Limits.Attempts {
			x.Dead = append(x.Dead, id)
		} else {
			x.Requeued = append(x.Requeued, id)
		}
	}
	if len(x.Requeued) > 0 {
		x.Attempts, x.Interrupts = a.Attempts, a.Interrupts
		var wait time.Duration
		if cut {
			x.Interrupts++
			wait = d.Limits.interruptBackoff(x.Interrupts)
		} else {
			x.Attempts++
			wait = d.Limits.backoff(x.Attempts)
		}
		switch {
		case !x.Spared:
			x.RetryAt = d.At.Add(wait)
		case x.Class == substrat.ClassNetwork:
			x.RetryAt = d.At.Add(jitter(wait, x.Turn))
		default: // the hold of the account says when it goes on
		}
	}
	switch {
	case x.Spared && d.refusedBefore(x.Account, x.Class):
		// The first failure of an account is told; those that follow say nothing new.
	case !cut || len(x.Requeued) < len(mail) || len(mail) == 0:
		d.tellFailure(a, x)
	}
	d.askLogin(a, x)
	if a.Parent == "" && len(x.Dead) > 0 {
		d.open(a, Item{Item: substrat.Item{
			ID: derive(x.Turn, "failure"), Kind: substrat.ItemFailure, Options: []string{"retry", "dismiss"}, Turn: x.Turn,
			Text: fmt.Sprintf("%s %s, and %d of its messages were given up.", d.Path(a.ID), x.why(), len(x.Dead)),
		}})
	}
	d.refuse(a, x)
}

// jitter spreads a wait by a quarter to both sides, by something that differs from turn to turn.
func jitter(wait time.Duration, by string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(by))
	return wait*3/4 + wait/2*time.Duration(h.Sum32()%1000)/1000
}

// spent is what a turn used, apart from being one.
func (x *TurnEnded) spent(took time.Duration) substrat.Spent {
	s := substrat.Spent{WallMS: max(took.Milliseconds(), 0), CostMicros: x.CostMicros}
	if x.Usage != nil {
		s.Tokens = max(x.Usage.InputTokens, 0) + max(x.Usage.OutputTokens, 0)
	}
	if !x.Priced {
		s.Unpriced = 1
	}
	return s
}

// refuse tells those who wait for an answer to what is dead that none will come.
func (d *decision) refuse(a *Agent, x *TurnEnded) {
	for _, id := range x.Dead {
		m := d.Messages[id]
		if from := d.Agents[m.FromID]; from != nil && m.Kind == substrat.KindRequest {
			d.notice(from, derive(id, "refused"), id, fmt.Sprintf("No reply from %s to message %s: its turn %s.", a.Name, id, x.why()), m.Hops+1)
		}
	}
}

// tellFailure tells the parent, or the user when a root fails, what failed and what was not handled.
func (d *decision) tellFailure(a *Agent, x *TurnEnded) {
	text := fmt.Sprintf("Turn %d of %s %s", a.Turn.Number, d.Path(a.ID), x.why())
	switch {
	case x.Spared && x.RetryAt.IsZero():
		text += "; it is tried again when the account " + x.Account + " works"
	case len(x.Requeued) > 0:
		text += "; it is tried again in " + x.RetryAt.Sub(d.At).Round(time.Millisecond).String()
	}
	if len(x.Dead) > 0 {
		text += fmt.Sprintf("; gave up on it after its last attempt: %d of %d messages", len(x.Dead), len(x.Dead)+len(x.Requeued))
	}
	text += "." + d.notHandled(x.Dead, " (given up)") + d.notHandled(x.Requeued, "")
	_, hops := chain(a)
	id := derive(x.Turn, "failed")
	if p := d.Agents[a.Parent]; p != nil {
		d.notice(p, id, "", text, hops)
		return
	}
	d.send(Message{Message: substrat.Message{
		ID: id, Team: d.Team, From: substrat.System, To: substrat.User, Kind: substrat.KindError, Text: text, Hops: hops,
	}})
}

// listedMost bounds how many messages a failure notice names one by one.
const listedMost = 20

// notHandled lists mail that a failed turn left, a line for each message.
func (d *decision) notHandled(mail []string, note string) string {
	text := ""
	for i, id := range mail {
		if i == listedMost {
			return text + fmt.Sprintf("\nNot handled: %d more messages", len(mail)-i)
		}
		m := d.Messages[id]
		text += fmt.Sprintf("\nNot handled: message %s from %s%s: %s", id, m.sender(), note, clip(strings.Join(strings.Fields(m.Text), " "), 120))
	}
	return text
}
