package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// Complete lets the calling agent answer its parent and end after its open turn.
type Complete struct {
	Result string
}

// Terminate ends an agent and everything under it, at once. Running turns are cancelled.
type Terminate struct {
	Agent  string
	Reason string
}

// Expire does what time alone brings by Meta.At: requests and items past their deadline are settled, reminders sent.
type Expire struct{}

// Settle does what follows from the facts of the command before it, in the same transaction: those who subscribed to
// changes of state are told, and budgets that were used are looked at.
type Settle struct{}

// Unsettled reports whether facts were folded that something follows from.
func (s *State) Unsettled() bool { return len(s.firings) > 0 || len(s.metered) > 0 }

// Settled forgets that something followed. It is called between the decision of a Settle and its fold, and after a
// journal was folded: there, what followed is folded too.
func (s *State) Settled() { s.firings, s.metered = nil, nil }

func (Settle) decide(d *decision) (any, error) {
	d.tellStates()
	d.tellBudgets()
	return nil, nil
}

// Status is the answer of commands that only say what happens now.
type Status struct {
	Status string `json:"status"`
}

func (c Complete) decide(d *decision) (any, error) {
	a, err := d.caller()
	if err != nil {
		return nil, err
	}
	if err := d.checkText(c.Result); err != nil {
		return nil, err
	}
	switch {
	case a.Parent == "":
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot complete: you are the root of the team").
			WithHint("report to USER with send_message and end your turn; the user ends the team")
	case len(a.Children) > 0:
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot complete: %d agents under you have not ended", len(a.Children)).
			WithHint("wait until they complete (list_children shows them)")
	}
	if a.Turn == nil {
		return d.completeNow(a, c.Result)
	}
	d.add(&AgentCompleting{Agent: a.ID, Result: c.Result})
	return Status{"completing"}, nil
}

// completeNow is for an operator who speaks as an agent that is in no turn.
func (d *decision) completeNow(a *Agent, result string) (any, error) {
	d.sendResult(a, result)
	d.terminate(a, "completed", "completed")
	return Status{"completing"}, nil
}

// sendResult leaves to the parent what came of an agent.
func (d *decision) sendResult(a *Agent, result string) {
	_, hops := chain(a)
	d.send(Message{FromID: a.ID, ToID: a.Parent, Message: substrat.Message{
		ID: derive(a.ID, "result"), Team: d.Team, From: d.Path(a.ID), To: d.Path(a.Parent), Kind: substrat.KindResult,
		Text: result, Hops: hops,
	}})
}

func (c Terminate) decide(d *decision) (any, error) {
	a, err := d.charge(c.Agent, "terminate")
	if err != nil {
		return nil, err
	}
	reason := clean(c.Reason)
	if reason == "" {
		reason = "terminated by " + d.actorName(d.Actor)
	}
	d.terminate(a, reason, "was terminated")
	return Status{"terminated"}, nil
}

// terminate ends a subtree. Whoever outside it waits for an answer from inside is told that none will come.
func (d *decision) terminate(a *Agent, reason, verb string) {
	var ids, asked []string
	gone := map[string]bool{}
	for _, x := range d.subtree(a) {
		ids = append(ids, x.ID)
		gone[x.ID] = true
		asked = append(asked, d.mail(x)...)
	}
	slices.Reverse(ids)
	for _, m := range d.inOrder(asked) {
		from, to := d.Agents[m.FromID], d.Agents[m.ToID]
		if _, done := d.settled[m.ID]; done || m.Kind != substrat.KindRequest || from == nil || gone[from.ID] {
			continue
		}
		d.notice(from, derive(m.ID, "refused"), m.ID, fmt.Sprintf("No reply from %s to message %s: it %s.", to.Name, m.ID, verb), m.Hops+1)
	}
	d.add(&AgentTerminated{Agents: ids, Reason: reason})
}

// inOrder gives messages in the order in which they were sent.
func (s *State) inOrder(ids []string) []*Message {
	out := make([]*Message, len(ids))
	for i, id := range ids {
		out[i] = s.Messages[id]
	}
	slices.SortFunc(out, func(a, b *Message) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), strings.Compare(a.ID, b.ID)) })
	return out
}

func (Expire) decide(d *decision) (any, error) {
	var due []string
	for id := range d.due {
		if !d.At.Before(*d.Messages[id].Deadline) {
			due = append(due, id)
		}
	}
	for _, m := range d.inOrder(due) {
		detail := "no reply within " + m.Deadline.Sub(m.CreatedAt).String()
		d.add(&MessageExpired{ID: m.ID, Detail: detail})
		if from := d.Agents[m.FromID]; from != nil {
			d.notice(from, derive(m.ID, "expired"), m.ID, fmt.Sprintf("No reply from %s to message %s: %s.", lastName(m.To), m.ID, detail), m.Hops+1)
		}
	}
	d.expireItems()
	d.remindDue()
	return nil, nil
}
