package team

import (
	"fmt"
	"strings"

	"substrat.dev/substrat"
)

// Gatekeeper is the rule that holds messages between agents for a person: it answers with the name of the rule that
// holds one, or "".
type Gatekeeper func(m *substrat.Message) (rule string)

// hold makes an item of a message that a rule holds. The message exists and is durable; it is in no mailbox.
func (d *decision) hold(m *Message) {
	if d.Keep == nil || m.FromID == "" || m.ToID == "" {
		return
	}
	rule := d.Keep(&m.Message)
	if rule == "" {
		return
	}
	m.Item = derive(m.ID, "held")
	d.open(d.Agents[m.ToID], Item{Item: substrat.Item{
		ID: m.Item, Kind: substrat.ItemMessage, Message: m.ID, Options: []string{"release", "reject"},
		Text: fmt.Sprintf("%s to %s (%s), held by %s:\n%s", m.From, m.To, m.Kind, rule, clip(m.Text, 4000)),
	}})
}

// decideHeld releases a held message, with another text if one was given, or rejects it and tells its sender.
func (d *decision) decideHeld(x *Item, chosen, text, by string) {
	m := d.Messages[x.Message]
	if m == nil {
		return
	}
	if chosen != "reject" {
		d.add(&MessageReleased{ID: m.ID, Text: text, By: by})
		if m.ReplyTo != "" {
			d.settle(m.ReplyTo, m.Kind == substrat.KindReply)
		}
		return
	}
	why := fmt.Sprintf("rejected by %s", by)
	if t := strings.TrimSpace(text); t != "" {
		why += ": " + t
	}
	d.add(&MessageRejected{ID: m.ID, Detail: why})
	from := d.Agents[m.FromID]
	if from == nil {
		return
	}
	replyTo := ""
	if m.Kind == substrat.KindRequest {
		replyTo = m.ID
		d.settle(m.ID, false)
	}
	d.notice(from, derive(m.ID, "rejected"), "", fmt.Sprintf("Message %s to %s was not delivered: it was %s.", m.ID, lastName(m.To), why), m.Hops+1)
	if asked := d.Messages[m.ReplyTo]; replyTo == "" && asked != nil && m.Kind == substrat.KindReply {
		if to := d.Agents[asked.FromID]; to != nil {
			d.notice(to, derive(m.ID, "no-reply"), asked.ID, fmt.Sprintf("No reply from %s to message %s: it was held back.", lastName(m.From), asked.ID), m.Hops+1)
		}
	}
}

// MessageReleased means: a held message goes its way, with another text if Text is not empty.
type MessageReleased struct {
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
	By   string `json:"by"`
}

// MessageRejected means: a held message is not delivered.
type MessageRejected struct {
	ID     string `json:"id"`
	Detail string `json:"detail"`
}

// Type implements Fact.
func (*MessageReleased) Type() string { return "message.released" }

// Type implements Fact.
func (*MessageRejected) Type() string { return "message.rejected" }

func (x *MessageReleased) fold(f *folding) error {
	m, err := f.held(x.ID)
	if err != nil {
		return err
	}
	m.Detail = "released by " + x.By
	if x.Text != "" {
		m.Text, m.Detail = x.Text, "edited and released by "+x.By
	}
	m.Seq = f.Seq + 1
	if m.ReplyTo != "" {
		f.answer(m)
	}
	f.deliver(m)
	return nil
}

func (x *MessageRejected) fold(f *folding) error {
	m, err := f.held(x.ID)
	if err != nil {
		return err
	}
	f.finish(m.ID, substrat.Dead, x.Detail)
	return nil
}

func (f *folding) held(id string) (*Message, error) {
	m := f.Messages[id]
	if m == nil || m.State != substrat.Held {
		return nil, substrat.Errorf(substrat.CodeNotFound, "no held message %s", id)
	}
	return m, nil
}
