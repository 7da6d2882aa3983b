package team

import (
	"cmp"
	"slices"
	"time"

	"substrat.dev/substrat"
)

func (x *MessageSent) fold(f *folding) error {
	m := x.Message
	if err := f.checkSent(&m); err != nil {
		return err
	}
	m.CreatedAt, m.Seq, m.Attempts, m.Failures, m.Cuts = f.at, f.Seq+1, 0, 0, 0
	if m.ReplyTo != "" && !x.Held {
		f.answer(&m)
	}
	if m.ToID == "" {
		m.State, m.DoneAt = substrat.Delivered, ptr(f.at)
		f.retired = append(f.retired, Retired{Message: &m.Message})
		return nil
	}
	f.Messages[m.ID] = &m
	if x.Held {
		m.State = substrat.Held
	} else {
		f.deliver(&m)
	}
	if m.Kind == substrat.KindRequest {
		f.await(&m)
	}
	return nil
}

// deliver puts a message into its mailbox.
func (f *folding) deliver(m *Message) {
	to := f.Agents[m.ToID]
	m.State = substrat.Queued
	to.Queue = append(to.Queue, m.ID)
	to.Heard = append(to.Heard, Heard{From: m.From, Kind: m.Kind, Text: clip(m.Text, keepBriefText), At: f.at})
	to.Heard = to.Heard[max(0, len(to.Heard)-keepHeard):]
	f.touch(to)
}

// checkSent refuses a message that the state has no place for.
func (f *folding) checkSent(m *Message) error {
	if m.ID == "" || f.Messages[m.ID] != nil {
		return substrat.Errorf(substrat.CodeConflict, "message %q exists", m.ID)
	}
	if m.ToID != "" && f.Agents[m.ToID] == nil {
		return substrat.Errorf(substrat.CodeNotFound, "no agent %s", m.ToID)
	}
	if m.Kind == substrat.KindRequest && (m.ToID == "" || f.Agents[m.FromID] == nil) {
		return substrat.Errorf(substrat.CodeNotFound, "request %s has no sender or no recipient", m.ID)
	}
	if asked := f.Messages[m.ReplyTo]; asked != nil && asked.Kind != substrat.KindRequest {
		return substrat.Errorf(substrat.CodeConflict, "message %s answers %s, which is no request", m.ID, m.ReplyTo)
	}
	return nil
}

// await notes that the sender of a request waits for its reply.
func (f *folding) await(m *Message) {
	from := f.Agents[m.FromID]
	from.Awaits = append(from.Awaits, m.ID)
	f.mark(from.ID)
	if m.expires() {
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

// answer settles the request that a reply, or a notice in place of one, belongs to. One that is final stays as it is.
func (f *folding) answer(reply *Message) {
	m := f.Messages[reply.ReplyTo]
	switch {
	case m == nil:
	case reply.Kind == substrat.KindReply:
		m.AnsweredBy = reply.ID
		f.finish(m.ID, substrat.Answered, "")
	case m.State == substrat.Handled: // its turn is over, and its reply was held back
		f.finish(m.ID, substrat.Handled, "no reply was delivered")
	default:
		f.settle(m, false)
	}
}

// settle ends the wait for a request, whether it was answered or not.
func (f *folding) settle(m *Message, answered bool) {
	if from := f.Agents[m.FromID]; from != nil {
		from.Awaits = remove(from.Awaits, m.ID)
		f.mark(from.ID)
	}
	b := f.Broadcasts[m.Broadcast]
	if b == nil {
		return
	}
	open := len(b.Open)
	if b.Open = remove(b.Open, m.ID); len(b.Open) == open {
		return
	}
	if answered {
		b.Answered = append(b.Answered, m.To)
	} else {
		b.Missing = append(b.Missing, m.To)
	}
}

// finish makes a message final and lets it leave the hot state, and the mailbox if it is still in one. A message that
// already left stays as it is.
func (f *folding) finish(id string, state substrat.MessageState, detail string) {
	m := f.Messages[id]
	if m == nil {
		return
	}
	to := f.Agents[m.ToID]
	switch {
	case m.State == substrat.Held && f.Items[m.Item] != nil:
		f.closeItem(f.Items[m.Item], substrat.ItemWithdrawn, nil, substrat.System)
	case to != nil && m.State == substrat.Queued:
		f.dequeue(to, id)
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
	delete(f.handled, id)
	f.retired = append(f.retired, Retired{Message: &m.Message})
}

// dequeue takes a message out of a mailbox. With the last of it goes the reason to wait before the next attempt.
func (f *folding) dequeue(a *Agent, id string) {
	a.Queue = remove(a.Queue, id)
	if len(a.Queue) == 0 && a.Turn == nil {
		a.Attempts, a.Interrupts, a.RetryAt = 0, 0, time.Time{}
	}
	f.touch(a)
}

func (x *MessageExpired) fold(f *folding) error {
	m := f.Messages[x.ID]
	if m == nil || m.Kind != substrat.KindRequest {
		return substrat.Errorf(substrat.CodeNotFound, "no open request %s", x.ID)
	}
	f.finish(x.ID, substrat.Expired, x.Detail)
	return nil
}

func (x *InboxTaken) fold(f *folding) error {
	a, err := f.turn(x.Agent, x.Turn)
	if err != nil {
		return err
	}
	if err := f.checkMail(a, x.Messages, substrat.Queued); err != nil {
		return err
	}
	a.Turn.Taken = append(a.Turn.Taken, x.Messages...)
	f.inject(a, x.Messages)
	return nil
}

func (x *TurnStarted) fold(f *folding) error {
	a, err := f.agent(x.Agent)
	if err != nil {
		return err
	}
	if a.Turn != nil || x.Turn == "" || x.Number <= a.Turns || f.openTurn(x.Turn) != nil {
		return substrat.Errorf(substrat.CodeConflict, "turn %q cannot be number %d of %s", x.Turn, x.Number, a.ID)
	}
	if err := f.checkMail(a, x.Messages, substrat.Queued); err != nil {
		return err
	}
	a.Turns = x.Number
	a.Turn = &Turn{
		ID: x.Turn, Number: x.Number, StartedAt: f.at, Prompted: slices.Clone(x.Messages), Retry: x.Retry, NewSession: a.SessionLost,
		Permitted: a.Gated,
	}
	a.RetryAt, a.Failed, a.GivenUp, a.Permitted = time.Time{}, false, nil, false
	f.withdraw(func(i *Item) bool { return i.AgentID != a.ID || i.Kind != substrat.ItemFailure })
	f.spend(a, substrat.Spent{Turns: 1})
	f.inject(a, x.Messages)
	return nil
}

// checkMail refuses messages that are not an agent's, each once, in the given state.
func (f *folding) checkMail(a *Agent, ids []string, state substrat.MessageState) error {
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		m := f.Messages[id]
		if m == nil || m.ToID != a.ID || m.State != state || seen[id] {
			return substrat.Errorf(substrat.CodeConflict, "message %s is not %s for %s", id, state, a.ID)
		}
		seen[id] = true
	}
	return nil
}

// inject moves queued messages into the open turn.
func (f *folding) inject(a *Agent, ids []string) {
	t := a.Turn
	moved := make(map[string]bool, len(ids))
	for _, id := range ids {
		moved[id] = true
		m := f.Messages[id]
		m.State, m.Turn, m.InjectedAt = substrat.Injected, t.ID, ptr(f.at)
		m.Attempts++
		if t.Cause == "" || m.Hops >= t.Hops {
			t.Cause, t.Hops = id, m.Hops
		}
	}
	a.Queue = slices.DeleteFunc(a.Queue, func(id string) bool { return moved[id] })
	if len(a.Queue) == 0 {
		a.Queue = nil
	}
	f.touch(a)
}

// injected lists the mail of an agent's open turn that is not final yet.
func (s *State) injected(a *Agent) []string {
	var ids []string
	for _, id := range slices.Concat(a.Turn.Prompted, a.Turn.Taken) {
		if m := s.Messages[id]; m != nil && m.State == substrat.Injected && m.Turn == a.Turn.ID {
			ids = append(ids, id)
		}
	}
	return ids
}

func (x *TurnEnded) fold(f *folding) error {
	a, err := f.turn(x.Agent, x.Turn)
	if err != nil {
		return err
	}
	if min(x.Attempts, x.Interrupts) < 0 {
		return substrat.Errorf(substrat.CodeConflict, "turn %s counts below zero", x.Turn)
	}
	mail := slices.Concat(x.Handled, x.Requeued, x.Dead)
	if err := f.checkMail(a, mail, substrat.Injected); err != nil {
		return err
	}
	if n := len(f.injected(a)); n != len(mail) {
		return substrat.Errorf(substrat.CodeConflict, "turn %s held %d messages, not %d", x.Turn, n, len(mail))
	}
	f.retireTurn(a, x)
	f.noteAccount(a.Turn, x)
	f.withdraw(func(i *Item) bool { return i.AgentID != a.ID || !i.Waits })
	if a.Turn.Permitted && len(x.Requeued) > 0 && (x.Spared || x.Outcome == substrat.Interrupted) {
		a.Permitted = true
	}
	a.Turn = nil
	for _, id := range x.Handled {
		f.handle(id)
	}
	for _, id := range x.Dead {
		a.giveUp(f.Messages[id])
		f.finish(id, substrat.Dead, x.why())
	}
	f.requeue(a, x)
	f.rest(a, x)
	for _, id := range a.Children {
		if c := f.Agents[id]; c.StartAfter == x.Turn {
			c.StartAfter = ""
		}
	}
	f.touch(a)
	return nil
}

// rest notes on the agent how its turn ended.
func (f *folding) rest(a *Agent, x *TurnEnded) {
	a.Attempts, a.Interrupts, a.RetryAt = x.Attempts, x.Interrupts, x.RetryAt
	a.Failed = x.Outcome != substrat.Completed && x.Outcome != substrat.Cancelled && len(x.Requeued) == 0
	if x.Outcome == substrat.Completed {
		a.LastError, a.SessionLost = "", false
	} else {
		a.LastError, a.Completing = clip(x.reason(), keepBriefText), nil
	}
	if x.LoseSession {
		a.Session, a.SessionLost = "", true
	}
}

// handle marks a message done. A request stays until it is answered, if there is still somebody to answer.
func (f *folding) handle(id string) {
	m := f.Messages[id]
	if from := f.Agents[m.FromID]; m.Kind == substrat.KindRequest && from != nil && slices.Contains(from.Awaits, id) {
		m.State = substrat.Handled
		f.handled[id] = struct{}{}
		return
	}
	f.finish(id, substrat.Handled, "")
}

// requeue puts messages back into the mailbox, where they were before the turn.
func (f *folding) requeue(a *Agent, x *TurnEnded) {
	for _, id := range x.Requeued {
		m := f.Messages[id]
		m.State = substrat.Queued
		switch {
		case x.Spared:
		case x.Outcome == substrat.Interrupted:
			m.Cuts++
		default:
			m.Failures++
		}
		a.Queue = append(a.Queue, id)
	}
	slices.SortStableFunc(a.Queue, func(p, q string) int { return cmp.Compare(f.Messages[p].Seq, f.Messages[q].Seq) })
}
