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
	Limit  int // 0 means 50; at most 200
}

// Taken answers Take.
type Taken struct {
	Messages []InboxMessage `json:"messages"`
	// More counts the messages that matched and were left: over the limit, or more text than one message may hold.
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
	a, err := d.caller()
	if err != nil {
		return nil, err
	}
	limit, room := c.Limit, d.Limits.TextBytes
	if limit <= 0 {
		limit = 50
	}
	limit = min(limit, 200)
	answer := Taken{Messages: []InboxMessage{}}
	var ids []string
	for _, id := range a.Queue {
		m := d.Messages[id]
		if c.Kind != "" && m.Kind != c.Kind || c.Sender != "" && !m.isFrom(c.Sender) {
			continue
		}
		// What follows a message that was left is left too: an agent reads its mail in order.
		room -= len(m.Text)
		if len(ids) == limit || answer.More > 0 || room < 0 && len(ids) > 0 {
			answer.More++
			continue
		}
		ids = append(ids, id)
		answer.Messages = append(answer.Messages, InboxMessage{
			From: m.sender(), Text: m.Text, MessageID: id, Kind: m.Kind, ReplyTo: m.ReplyTo,
			AgeS: max(0, int64(d.At.Sub(m.CreatedAt).Seconds())),
		})
	}
	if len(ids) > 0 && a.Turn != nil && !d.Actor.Operator {
		d.add(&InboxTaken{Agent: a.ID, Turn: a.Turn.ID, Messages: ids})
	}
	return answer, nil
}

// sender is the sender's bare name, as its neighbours know it.
func (m *Message) sender() string { return lastName(m.From) }

// lastName is the bare name at the end of a path.
func lastName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// isFrom reports whether an agent that names a sender means this one. Agents' names are exact, as in routing; USER and
// system nobody else may be called in any case.
func (m *Message) isFrom(name string) bool {
	if m.From == substrat.User || m.From == substrat.System {
		return strings.EqualFold(m.From, name)
	}
	return m.sender() == name
}
