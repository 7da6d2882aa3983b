package team

import (
	"slices"

	"substrat.dev/substrat"
)

func (x *MessageSent) fold(f *folding) error {
	m := x.Message
	m.CreatedAt = f.at
	if m.ReplyTo != "" {
		f.answer(&m)
	}
	if m.ToID == "" {
		m.State, m.DoneAt = substrat.Delivered, ptr(f.at)
		f.retired = append(f.retired, Retired{Message: &m.Message})
		return nil
	}
	to, err := f.agent(m.ToID)
	if err != nil {
		return err
	}
	m.State = substrat.Queued
	f.Messages[m.ID] = &m
	to.Queue = append(to.Queue, m.ID)
	to.Heard = append(to.Heard, Heard{From: m.From, Kind: m.Kind, Text: clip(m.Text, keepBriefText), At: f.at})
	to.Heard = to.Heard[max(0, len(to.Heard)-keepHeard):]
	f.touch(to)
	if m.Kind == substrat.KindRequest {
		f.await(&m)
	}
	return nil
}

// await notes that the sender of a request waits for its reply.
func (f *folding) await(m *Message) {
	if from := f.Agents[m.FromID]; from != nil {
		from.Awaits = append(from.Awaits, m.ID)
	}
	if m.Deadline != nil {
		f.due[m.ID] = struct{}{}
	}
	if m.Broadcast == "" {
		return
	}
	b := f.Broadcasts[m.Broadcast]
	if b == nil {
		b = &Broadcast{From: m.FromID}
		f.Broadcasts[m.Broadcast] = b
	}
	b.Open = append(b.Open, m.ID)
}

// answer settles the request that a reply, or a notice in place of one, belongs to.
func (f *folding) answer(reply *Message) {
	m := f.Messages[reply.ReplyTo]
	if m == nil {
		return
	}
	f.settle(m, reply.Kind == substrat.KindReply)
	if reply.Kind != substrat.KindReply {
		return
	}
	m.AnsweredBy = reply.ID
	if to := f.Agents[m.ToID]; to != nil {
		to.Queue = slices.DeleteFunc(to.Queue, func(id string) bool { return id == m.ID })
		f.touch(to)
	}
	f.finish(m.ID, substrat.Answered, "")
}

// settle ends the wait for a request, whether it was answered or not.
func (f *folding) settle(m *Message, answered bool) {
	if from := f.Agents[m.FromID]; from != nil {
		from.Awaits = slices.DeleteFunc(from.Awaits, func(id string) bool { return id == m.ID })
	}
	delete(f.due, m.ID)
	b := f.Broadcasts[m.Broadcast]
	if b == nil || !slices.Contains(b.Open, m.ID) {
		return
	}
	b.Open = slices.DeleteFunc(b.Open, func(id string) bool { return id == m.ID })
	if answered {
		b.Answered = append(b.Answered, m.To)
	} else {
		b.Missing = append(b.Missing, m.To)
	}
}

// finish makes a message final and lets it leave the hot state. A message that already left stays as it is.
func (f *folding) finish(id string, state substrat.MessageState, detail string) {
	m := f.Messages[id]
	if m == nil {
		return
	}
	m.State, m.DoneAt = state, ptr(f.at)
	if detail != "" {
		m.Detail = detail
	}
	if m.Kind == substrat.KindRequest {
		f.settle(m, state == substrat.Answered)
	}
	delete(f.Messages, id)
	delete(f.due, id)
	f.retired = append(f.retired, Retired{Message: &m.Message})
}

func (x *MessageExpired) fold(f *folding) error {
	m := f.Messages[x.ID]
	if m == nil {
		return nil
	}
	if to := f.Agents[m.ToID]; to != nil {
		to.Queue = slices.DeleteFunc(to.Queue, func(id string) bool { return id == x.ID })
		f.touch(to)
	}
	f.finish(x.ID, substrat.Expired, x.Detail)
	return nil
}

func (x *InboxTaken) fold(f *folding) error {
	a, err := f.turn(x.Agent, x.Turn)
	if err != nil {
		return err
	}
	a.Turn.Taken = append(a.Turn.Taken, x.Messages...)
	f.inject(a, x.Turn, x.Messages)
	return nil
}

// inject moves queued messages into a turn.
func (f *folding) inject(a *Agent, turn string, ids []string) {
	for _, id := range ids {
		if m := f.Messages[id]; m != nil {
			m.State, m.Turn, m.InjectedAt = substrat.Injected, turn, ptr(f.at)
			m.Attempts++
		}
	}
	a.Queue = slices.DeleteFunc(a.Queue, func(id string) bool { return slices.Contains(ids, id) })
	f.touch(a)
}

func (x *TurnStarted) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	if a.Turn != nil {
		return substrat.Errorf(substrat.CodeConflict, "turn %s is open", a.Turn.ID)
	}
	a.Turns = x.Number
	a.Turn = &Turn{ID: x.Turn, Number: x.Number, StartedAt: f.at, Prompted: x.Messages, Retry: x.Retry}
	a.RetryAt, a.Failed = zero, false
	f.inject(a, x.Turn, x.Messages)
	return nil
}

func (x *TurnEnded) fold(f *folding) error {
	a, err := f.turn(x.Agent, x.Turn)
	if err != nil {
		return err
	}
	f.retireTurn(a, x)
	a.Turn = nil
	for _, id := range x.Handled {
		f.handled(id)
	}
	for _, id := range x.Dead {
		f.finish(id, substrat.Dead, x.Detail)
	}
	f.requeue(a, x.Requeued)
	a.Attempts, a.Interrupts, a.RetryAt = x.Attempts, x.Interrupts, x.RetryAt
	a.Failed = x.Outcome != substrat.Completed && x.Outcome != substrat.Cancelled && len(x.Requeued) == 0
	a.LastError = ""
	if x.Outcome != substrat.Completed {
		a.LastError = clip(string(x.Class)+": "+x.Detail, keepBriefText)
		a.Completing = nil
	}
	if x.LoseSession {
		a.Session, a.SessionLost = "", true
	}
	for _, id := range a.Children {
		if c := f.Agents[id]; c.StartAfter == x.Turn {
			c.StartAfter = ""
			f.touch(c)
		}
	}
	f.touch(a)
	return nil
}

// handled marks a message done. A request stays until it is answered, if there is still somebody to answer.
func (f *folding) handled(id string) {
	m := f.Messages[id]
	if m == nil {
		return
	}
	if m.Kind == substrat.KindRequest && f.Agents[m.FromID] != nil && slices.Contains(f.Agents[m.FromID].Awaits, id) {
		m.State = substrat.Handled
		return
	}
	f.finish(id, substrat.Handled, "")
}

// requeue puts messages back at the head of the mailbox in their old order.
func (f *folding) requeue(a *Agent, ids []string) {
	var back []string
	for _, id := range ids {
		if m := f.Messages[id]; m != nil {
			m.State = substrat.Queued
			back = append(back, id)
		}
	}
	a.Queue = append(back, a.Queue...)
}
