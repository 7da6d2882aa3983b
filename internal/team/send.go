package team

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// Send is one message. From an agent, Recipient is a neighbour's name or USER, Sync asks for a reply, and ReplyTo names
// the request that this answers instead; from USER, To is the recipient's id and the others are not looked at.
type Send struct {
	ID        string
	To        string
	Recipient string
	Text      string
	Sync      bool
	ReplyTo   string
}

// SendAll is one message to all siblings or all children of the calling agent, each of whom is asked to reply. It reaches
// all of them or, if one cannot take it, none.
type SendAll struct {
	ID   string
	Text string
	To   string // "siblings" (the default) or "children"
}

// SentAll answers SendAll.
type SentAll struct {
	Status         string `json:"status"` // "sent"
	MessageID      string `json:"message_id"`
	RecipientCount int    `json:"recipient_count"`
}

func (c Send) decide(d *decision) (any, error) {
	if err := d.checkText(c.Text); err != nil {
		return nil, err
	}
	if c.ID == "" || d.Messages[c.ID] != nil {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot send: the message's id is in use")
	}
	if d.Actor.Agent == "" {
		return d.sendFromUser(c)
	}
	from, err := d.caller()
	if err != nil {
		return nil, err
	}
	if c.Recipient == substrat.User {
		return d.sendToUser(from, c)
	}
	to := d.neighbour(from, c.Recipient)
	if to == nil {
		return nil, d.unreachable(from, c.Recipient)
	}
	if c.ReplyTo != "" {
		return d.sendReply(from, to, c)
	}
	m := d.compose(from, to, c.ID, c.Text)
	if err := d.checkChain(m); err != nil {
		return nil, err
	}
	if err := d.checkQueue(to); err != nil {
		return nil, err
	}
	if c.Sync {
		m.Kind, m.Deadline = substrat.KindRequest, ptr(d.At.Add(d.Limits.ReplyDeadline))
	}
	state := d.send(m)
	return substrat.Sent{Status: "sent", MessageID: m.ID, WaitingForReply: m.Kind == substrat.KindRequest, State: state}, nil
}

// sendReply answers a request. Replies pass the hop limit and a full mailbox: nobody is left waiting.
func (d *decision) sendReply(from, to *Agent, c Send) (any, error) {
	if err := d.checkReply(from, to, c.ReplyTo); err != nil {
		return nil, err
	}
	m := d.compose(from, to, c.ID, c.Text)
	m.Kind, m.ReplyTo = substrat.KindReply, c.ReplyTo
	// One that was not in a prompt yet is answered out of its turn: the chain still goes through it.
	if asked := d.Messages[c.ReplyTo]; m.Hops <= asked.Hops {
		m.Cause, m.Hops = asked.ID, asked.Hops+1
	}
	return substrat.Sent{Status: "sent", MessageID: m.ID, State: d.send(m)}, nil
}

func (d *decision) sendFromUser(c Send) (any, error) {
	to := d.Agents[c.To]
	if to == nil {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot send: no such agent")
	}
	if err := d.checkQueue(to); err != nil {
		return nil, err
	}
	m := Message{ToID: to.ID, Message: substrat.Message{
		ID: c.ID, Team: d.Team, From: substrat.User, To: d.Path(to.ID), Kind: substrat.KindUser, Text: c.Text,
	}}
	d.send(m)
	return substrat.Sent{Status: "sent", MessageID: c.ID, State: substrat.Queued}, nil
}

// sendToUser never waits: the person answers when they like, and the answer is the agent's next message. It passes the
// hop limit: it wakes no agent, and it is how the user learns that a chain was cut.
func (d *decision) sendToUser(from *Agent, c Send) (any, error) {
	if from.Parent != "" {
		return nil, substrat.Errorf(substrat.CodeUnreachable, "cannot send to USER: only the root of a team may").
			WithHint("write to your parent %s, who can pass it on", d.Agents[from.Parent].Name)
	}
	d.send(d.compose(from, nil, c.ID, c.Text))
	return substrat.Sent{Status: "sent", MessageID: c.ID, State: substrat.Delivered}, nil
}

func (d *decision) unreachable(from *Agent, name string) error {
	return substrat.Errorf(substrat.CodeUnreachable, "cannot send to %.80q: no parent, sibling or child of that name", name).
		WithHint("you can reach: %s", strings.Join(d.reachable(from), ", "))
}

func (d *decision) checkText(text string) error {
	switch {
	case len(text) > d.Limits.TextBytes:
		return substrat.Errorf(substrat.CodeTooLarge, "cannot send %d bytes: a message holds at most %d", len(text), d.Limits.TextBytes).
			WithHint("put it in a file of the workspace and send the path")
	case strings.TrimSpace(text) == "":
		return substrat.Errorf(substrat.CodeInvalid, "cannot send an empty message")
	case !utf8.ValidString(text):
		return substrat.Errorf(substrat.CodeInvalid, "cannot send text that is not UTF-8")
	}
	return nil
}

func (d *decision) checkQueue(to *Agent) error {
	if len(to.Queue) < d.Limits.QueueLen {
		return nil
	}
	return substrat.Errorf(substrat.CodeLimit, "cannot send to %s: its mailbox holds %d messages, which is the limit", to.Name, len(to.Queue)).
		WithHint("wait until it has worked some off")
}

// checkReply refuses a reply to something that is not the replier's to answer.
func (d *decision) checkReply(from, to *Agent, id string) error {
	m := d.Messages[id]
	if m == nil || m.Kind != substrat.KindRequest || m.ToID != from.ID {
		return substrat.Errorf(substrat.CodeConflict, "cannot reply to message %.80s: it is not a request that waits for your answer", id).
			WithHint("it may have been answered, or have expired; send without reply_to")
	}
	if m.FromID != to.ID {
		return substrat.Errorf(substrat.CodeInvalid, "cannot reply to message %s to %s: it came from %s", id, to.Name, m.From)
	}
	return nil
}

// compose makes an agent's message, with its place in the chain of causes. to is nil for USER.
func (d *decision) compose(from, to *Agent, id, text string) Message {
	cause, hops := chain(from)
	m := Message{FromID: from.ID, Message: substrat.Message{
		ID: id, Team: d.Team, From: d.Path(from.ID), To: substrat.User, Kind: substrat.KindNotification,
		Text: text, Cause: cause, Hops: hops,
	}}
	if to != nil {
		m.ToID, m.To = to.ID, d.Path(to.ID)
	}
	return m
}

// checkChain refuses a message that continues too long a chain.
func (d *decision) checkChain(m Message) error {
	if m.Hops > d.Limits.Hops {
		return d.tooManyHops("send")
	}
	return nil
}

// EndOfChain marks the refusal of what would make a chain of messages longer than it may be.
type EndOfChain struct{ refusal *substrat.Error }

func (e EndOfChain) Error() string { return e.refusal.Error() }

// Unwrap gives the refusal itself.
func (e EndOfChain) Unwrap() error { return e.refusal }

func (d *decision) tooManyHops(what string) error {
	return EndOfChain{substrat.Errorf(substrat.CodeLimit, "cannot %s: this chain of messages is %d long, which is the limit", what, d.Limits.Hops).
		WithHint("end your turn; the user has to continue from here")}
}

// chain finds the longest chain of messages that the agent's open turn continues, and the next place in it.
func chain(from *Agent) (cause string, hops int) {
	if from.Turn == nil {
		return "", 1
	}
	return from.Turn.Cause, from.Turn.Hops + 1
}

// send adds a message, the item of one that a rule holds, and the summary of a broadcast whose last request it settles.
func (d *decision) send(m Message) substrat.MessageState {
	d.hold(&m)
	held := m.Item != "" && m.Kind != substrat.KindAnswer
	d.add(&MessageSent{Message: m, Held: held})
	if m.Kind == substrat.KindRequest {
		d.noteCycle(&m)
	}
	if held {
		return substrat.Held
	}
	if m.ReplyTo != "" {
		d.settle(m.ReplyTo, m.Kind == substrat.KindReply)
	}
	return substrat.Queued
}

// settle notes that a request needs no more waiting; if it was the last of a broadcast, one message says who answered.
func (d *decision) settle(id string, answered bool) {
	if _, done := d.settled[id]; done {
		return
	}
	d.settled[id] = answered
	m := d.Messages[id]
	if m == nil || d.Broadcasts[m.Broadcast] == nil {
		return
	}
	b := d.Broadcasts[m.Broadcast]
	if _, ok := d.left[m.Broadcast]; !ok {
		d.left[m.Broadcast] = len(b.Open)
	}
	if d.left[m.Broadcast]--; d.left[m.Broadcast] > 0 {
		return
	}
	d.add(&BroadcastClosed{ID: m.Broadcast})
	if from := d.Agents[b.From]; from != nil {
		d.send(Message{ToID: from.ID, Message: substrat.Message{
			ID: derive(m.Broadcast, "summary"), Team: d.Team, From: substrat.System, To: d.Path(from.ID), Kind: substrat.KindNotification,
			Text: d.summary(m.Broadcast, b), Hops: m.Hops + 1,
		}})
	}
}

// summary says who answered a broadcast and who did not, this decision included.
func (d *decision) summary(id string, b *Broadcast) string {
	yes, no := slices.Clone(b.Answered), slices.Clone(b.Missing)
	for _, open := range b.Open {
		if to := d.Messages[open].To; d.settled[open] {
			yes = append(yes, to)
		} else {
			no = append(no, to)
		}
	}
	return broadcastSummary(id, yes, no)
}

func broadcastSummary(id string, yes, no []string) string {
	text := fmt.Sprintf("Broadcast %s is settled: %d of %d answered.", id, len(yes), len(yes)+len(no))
	if len(yes) > 0 {
		text += "\nAnswered: " + strings.Join(yes, ", ")
	}
	if len(no) > 0 {
		text += "\nDid not answer: " + strings.Join(no, ", ")
	}
	return text
}

// notice adds a message from the system to an agent. With replyTo it takes the place of a reply.
func (d *decision) notice(to *Agent, id, replyTo, text string, hops int) {
	d.send(Message{ToID: to.ID, Message: substrat.Message{
		ID: id, Team: d.Team, From: substrat.System, To: d.Path(to.ID), Kind: substrat.KindError, Text: text, ReplyTo: replyTo, Hops: hops,
	}})
}

func (c SendAll) decide(d *decision) (any, error) {
	if err := d.checkText(c.Text); err != nil {
		return nil, err
	}
	from, err := d.caller()
	if err != nil {
		return nil, err
	}
	if c.ID == "" || d.Broadcasts[c.ID] != nil {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot broadcast: its id is in use")
	}
	var to []*Agent
	switch c.To {
	case "", "siblings":
		to = d.siblings(from)
	case "children":
		for _, id := range from.Children {
			to = append(to, d.Agents[id])
		}
	default:
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot broadcast to %.40q", c.To).WithHint(`"siblings" or "children"`)
	}
	for _, a := range to {
		m := d.compose(from, a, derive(c.ID, a.ID), c.Text)
		if err := d.checkChain(m); err != nil {
			return nil, err
		}
		if err := d.checkQueue(a); err != nil {
			return nil, err
		}
		m.Kind, m.Broadcast, m.Deadline = substrat.KindRequest, c.ID, ptr(d.At.Add(d.Limits.ReplyDeadline))
		d.send(m)
	}
	return SentAll{Status: "sent", MessageID: c.ID, RecipientCount: len(to)}, nil
}
