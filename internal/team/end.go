package team

import (
	"fmt"
	"slices"

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

// Expire settles the requests whose deadline has passed by Meta.At.
type Expire struct{}

// Status is the answer of commands that only say what happens now.
type Status struct {
	Status string `json:"status"`
}

func (c Complete) decide(d *decision) (any, error) {
	a := d.Agents[d.Actor.Agent]
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
	p := d.Agents[a.Parent]
	d.send(Message{FromID: a.ID, ToID: p.ID, Message: substrat.Message{
		ID: derive(a.ID, "result"), Team: d.Team, From: d.Path(a.ID), To: d.Path(p.ID), Kind: substrat.KindResult, Text: result, Hops: 1,
	}})
	d.terminate(a, "completed", "completed")
	return Status{"completing"}, nil
}

func (c Terminate) decide(d *decision) (any, error) {
	a := d.Agents[c.Agent]
	if a == nil {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot terminate: no such agent")
	}
	reason := c.Reason
	if reason == "" {
		reason = "terminated by " + d.actorName(d.Actor)
	}
	d.terminate(a, reason, "was terminated")
	return Status{"terminated"}, nil
}

// terminate ends a subtree. Whoever outside it waits for an answer from inside is told that none will come.
func (d *decision) terminate(a *Agent, reason, verb string) {
	var ids []string
	gone := map[string]bool{}
	for _, x := range d.subtree(a) {
		ids = append(ids, x.ID)
		gone[x.ID] = true
	}
	slices.Reverse(ids)
	for _, id := range d.openRequests() {
		m := d.Messages[id]
		if gone[m.ToID] && !gone[m.FromID] && d.Agents[m.FromID] != nil && !d.answeredHere(id) {
			to := d.Agents[m.ToID]
			d.notice(d.Agents[m.FromID], derive(id, "refused"), id,
				fmt.Sprintf("No reply from %s to message %s: it %s.", to.Name, id, verb), m.Hops+1)
		}
	}
	d.add(&AgentTerminated{Agents: ids, Reason: reason})
}

// openRequests lists unanswered requests in a fixed order.
func (d *decision) openRequests() []string {
	var ids []string
	for id, m := range d.Messages {
		if m.Kind == substrat.KindRequest {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		if c := d.Messages[a].CreatedAt.Compare(d.Messages[b].CreatedAt); c != 0 {
			return c
		}
		return compareStrings(a, b)
	})
	return ids
}

// answeredHere reports whether this decision already sent the answer, or a notice in its place.
func (d *decision) answeredHere(id string) bool {
	return slices.ContainsFunc(d.facts, func(f Fact) bool {
		s, ok := f.(*MessageSent)
		return ok && s.Message.ReplyTo == id
	})
}

func (Expire) decide(d *decision) (any, error) {
	for _, id := range d.openRequests() {
		m := d.Messages[id]
		if m.Deadline == nil || d.At.Before(*m.Deadline) {
			continue
		}
		detail := "no reply within " + m.Deadline.Sub(m.CreatedAt).String()
		if from := d.Agents[m.FromID]; from != nil {
			to := m.To[lastSlash(m.To):]
			d.notice(from, derive(id, "expired"), id, fmt.Sprintf("No reply from %s to message %s: %s.", to, id, detail), m.Hops+1)
		}
		d.add(&MessageExpired{ID: id, Detail: detail})
	}
	return nil, nil
}
