package team

import (
	"fmt"
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
}

func (c Start) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil || !d.ready(a, d.At) {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot start a turn: the agent is not ready")
	}
	most := c.Most
	if most <= 0 {
		most = 100
	}
	ids := slices.Clone(a.Queue[:min(most, len(a.Queue))])
	retry := ""
	if a.Attempts > 0 || a.Interrupts > 0 {
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
	if a.Session != c.Session {
		d.add(&SessionBound{Agent: a.ID, Session: c.Session})
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
		Turn: c.Turn, Agent: a.ID, Outcome: c.Outcome, Class: c.Class, Detail: c.Detail, Text: c.Text,
		Usage: c.Usage, ToolCalls: c.ToolCalls, Files: c.Files,
	}
	var mail []string
	for _, id := range slices.Concat(a.Turn.Prompted, a.Turn.Taken) {
		if m := d.Messages[id]; m != nil && m.State == substrat.Injected {
			mail = append(mail, id)
		}
	}
	d.add(x)
	d.startSpawned(a, x.Turn)
	switch c.Outcome {
	case substrat.Completed:
		x.Handled = mail
		d.completed(a, x)
	case substrat.Cancelled:
		x.Dead = mail
		d.refuse(a, x, mail)
	default:
		d.failed(a, x, mail)
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
	d.send(Message{FromID: a.ID, ToID: m.FromID, Message: substrat.Message{
		ID: derive(m.ID, "reply"), Team: d.Team, From: d.Path(a.ID), To: m.From, Kind: substrat.KindReply,
		Text: text, ReplyTo: m.ID, Cause: m.ID, Hops: m.Hops + 1,
	}})
}

// startSpawned wakes the children that this turn spawned and sent nothing, however the turn ended: they exist.
func (d *decision) startSpawned(a *Agent, turn string) {
	_, hops := d.chain(a)
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
	p := d.Agents[a.Parent]
	answered := false
	for _, f := range d.facts {
		if s, ok := f.(*MessageSent); ok && s.Message.Kind == substrat.KindReply && s.Message.ToID == p.ID {
			answered = true
		}
	}
	if !answered {
		_, hops := d.chain(a)
		d.send(Message{FromID: a.ID, ToID: p.ID, Message: substrat.Message{
			ID: derive(a.ID, "result"), Team: d.Team, From: d.Path(a.ID), To: d.Path(p.ID), Kind: substrat.KindResult,
			Text: *a.Completing, Hops: hops,
		}})
	}
	d.terminate(a, "completed", "completed")
}

// failed puts the mail back for another attempt, or gives it up, and tells those who should know.
func (d *decision) failed(a *Agent, x *TurnEnded, mail []string) {
	x.Attempts, x.Interrupts = a.Attempts, a.Interrupts
	x.LoseSession = x.Class == substrat.ClassSession
	var limit, n int
	var wait time.Duration
	if x.Outcome == substrat.Interrupted {
		x.Interrupts++
		limit, n = d.Limits.Interrupts, x.Interrupts
		wait = d.Limits.interruptBackoff(n)
	} else {
		x.Attempts++
		limit, n = d.Limits.Attempts, x.Attempts
		wait = d.Limits.backoff(n)
	}
	if n >= limit || len(mail) == 0 {
		x.Dead, x.Attempts, x.Interrupts = mail, 0, 0
		d.tellFailure(a, x, mail, "gave up on it")
		d.refuse(a, x, mail)
		return
	}
	x.Requeued, x.RetryAt = mail, d.At.Add(wait)
	if x.Outcome != substrat.Interrupted {
		d.tellFailure(a, x, mail, "it is tried again in "+wait.Round(time.Millisecond).String())
	}
}

// refuse tells those who wait for an answer that none will come.
func (d *decision) refuse(a *Agent, x *TurnEnded, mail []string) {
	for _, id := range mail {
		m := d.Messages[id]
		if from := d.Agents[m.FromID]; from != nil && m.Kind == substrat.KindRequest {
			d.notice(from, derive(id, "refused"), id,
				fmt.Sprintf("No reply from %s to message %s: its turn was %s (%s).", a.Name, id, x.Outcome, reason(x)), m.Hops+1)
		}
	}
}

// tellFailure tells the parent, or the user when a root fails, what failed and what was not handled.
func (d *decision) tellFailure(a *Agent, x *TurnEnded, mail []string, next string) {
	text := fmt.Sprintf("Turn %d of %s %s (%s); %s.", a.Turn.Number, d.Path(a.ID), strings.ReplaceAll(string(x.Outcome), "_", " "), reason(x), next)
	for _, id := range mail {
		m := d.Messages[id]
		text += fmt.Sprintf("\nNot handled: message %s from %s: %s", id, m.sender(), clip(strings.Join(strings.Fields(m.Text), " "), 120))
	}
	_, hops := d.chain(a)
	id := derive(x.Turn, "failed")
	if p := d.Agents[a.Parent]; p != nil {
		d.notice(p, id, "", text, hops)
		return
	}
	d.send(Message{Message: substrat.Message{
		ID: id, Team: d.Team, From: substrat.System, To: substrat.User, Kind: substrat.KindError, Text: text, Hops: hops,
	}})
}

func reason(x *TurnEnded) string {
	if x.Detail == "" {
		return string(x.Class)
	}
	return string(x.Class) + ": " + clip(x.Detail, 400)
}
