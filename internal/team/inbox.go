package team

import (
	"strings"

	"substrat.dev/substrat"
)

// Take gives an agent the messages that came since its turn began, and injects them into the turn. An operator only
// looks: there is no turn to inject them into.
type Take struct {
	// Sender and Kind filter; both must match. Empty matches all.
	Sender string
	Kind   substrat.MessageKind
	Limit  int // 0 means 50
}

// Taken answers Take.
type Taken struct {
	Messages []InboxMessage `json:"messages"`
	// More counts the messages that matched and were left because of the limit.
	More int `json:"more,omitempty"`
}

// InboxMessage is a message as an agent reads it: From is the sender's name.
type InboxMessage struct {
	From      string               `json:"from"`
	Text      string               `json:"text"`
	MessageID string               `json:"message_id"`
	Kind      substrat.MessageKind `json:"kind"`
	ReplyTo   string               `json:"reply_to,omitempty"`
	AgeS      int64                `json:"age_s"`
}

func (c Take) decide(d *decision) (any, error) {
	a := d.Agents[d.Actor.Agent]
	limit := c.Limit
	if limit <= 0 || limit > 200 {
		limit = 50
	}
	answer := Taken{Messages: []InboxMessage{}}
	var ids []string
	for _, id := range a.Queue {
		m := d.Messages[id]
		if c.Kind != "" && m.Kind != c.Kind || c.Sender != "" && !strings.EqualFold(m.sender(), c.Sender) {
			continue
		}
		if len(ids) == limit {
			answer.More++
			continue
		}
		ids = append(ids, id)
		answer.Messages = append(answer.Messages, InboxMessage{
			From: m.sender(), Text: m.Text, MessageID: id, Kind: m.Kind, ReplyTo: m.ReplyTo,
			AgeS: int64(d.At.Sub(m.CreatedAt).Seconds()),
		})
	}
	if len(ids) > 0 && a.Turn != nil && !d.Actor.Operator {
		d.add(&InboxTaken{Agent: a.ID, Turn: a.Turn.ID, Messages: ids})
	}
	return answer, nil
}

// sender is the sender's bare name, as its neighbours know it.
func (m *Message) sender() string {
	return m.From[strings.LastIndexByte(m.From, '/')+1:]
}
