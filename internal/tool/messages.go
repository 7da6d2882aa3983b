package tool

import (
	"context"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

type sendArgs struct {
	Recipient string `json:"recipient" jsonschema:"name of your parent, a sibling or a child; USER for the person, if you are the root"`
	Text      string `json:"text" jsonschema:"what to say"`
	Sync      *bool  `json:"sync,omitempty" jsonschema:"ask for a reply, which comes as your next message; default true"`
	ReplyTo   string `json:"reply_to,omitempty" jsonschema:"id of the request this answers"`
}

func sendMessage(ctx context.Context, c *call, in sendArgs) (any, error) {
	if strings.EqualFold(in.Recipient, substrat.User) {
		in.Recipient = substrat.User
	}
	return c.do(ctx, team.Send{
		ID: c.host.NewID(), Recipient: in.Recipient, Text: in.Text, Sync: in.Sync == nil || *in.Sync, ReplyTo: in.ReplyTo,
	})
}

type broadcastArgs struct {
	Text string `json:"text" jsonschema:"what to say"`
	To   string `json:"to,omitempty" jsonschema:"siblings (default) or children"`
}

func broadcast(ctx context.Context, c *call, in broadcastArgs) (any, error) {
	return c.do(ctx, team.SendAll{ID: c.host.NewID(), Text: in.Text, To: in.To})
}

type inboxArgs struct {
	Sender string `json:"sender,omitempty" jsonschema:"only messages from this agent, USER or system"`
	Kind   string `json:"kind,omitempty" jsonschema:"only messages of this kind: user, request, notification, reply, result, error, start"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many at the most; default 50"`
}

func checkInbox(ctx context.Context, c *call, in inboxArgs) (any, error) {
	return c.do(ctx, team.Take{Sender: in.Sender, Kind: substrat.MessageKind(in.Kind), Limit: in.Limit})
}

type statusArgs struct {
	MessageID string `json:"message_id" jsonschema:"id of a message you sent or received"`
}

// receipt is what an agent learns of a message.
type receipt struct {
	MessageID  string                `json:"message_id"`
	State      substrat.MessageState `json:"state"`
	From       string                `json:"from"`
	To         string                `json:"to"`
	Turn       string                `json:"turn,omitempty"`
	Attempts   int                   `json:"attempts"`
	AnsweredBy string                `json:"answered_by,omitempty"`
	Detail     string                `json:"detail,omitempty"`
	CreatedAt  string                `json:"created_at"`
	DoneAt     string                `json:"done_at,omitempty"`
}

func messageStatus(ctx context.Context, c *call, in statusArgs) (any, error) {
	m, err := c.host.Message(ctx, in.MessageID)
	var path string
	if err == nil {
		err = c.host.Look(ctx, c.caller.Team, func(s *team.State) error { path = s.Path(c.caller.Agent); return nil })
	}
	if err != nil || m.Team != c.caller.Team || m.From != path && m.To != path {
		return nil, substrat.Errorf(substrat.CodeNotFound, "no message %.80q that you sent or received", in.MessageID)
	}
	r := receipt{
		MessageID: m.ID, State: m.State, From: m.From, To: m.To, Turn: m.Turn, Attempts: m.Attempts, AnsweredBy: m.AnsweredBy,
		Detail: m.Detail, CreatedAt: m.CreatedAt.Format(timeForm),
	}
	if m.DoneAt != nil {
		r.DoneAt = m.DoneAt.Format(timeForm)
	}
	return r, nil
}

const timeForm = "2006-01-02T15:04:05.000Z07:00"
