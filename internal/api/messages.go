package api

import (
	"context"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/engine"
)

type sendInput struct {
	RefInput
	Body struct {
		Text string `json:"text" doc:"what to say"`
	}
}

func (s *server) sendMessage(ctx context.Context, in *sendInput) (*body[substrat.Sent], error) {
	sent, err := s.Engine.Send(ctx, in.Ref, in.Body.Text)
	return &body[substrat.Sent]{sent}, err
}

type messagesInput struct {
	Agent string `query:"agent" maxLength:"1024" doc:"only messages from or to this agent"`
	Inbox bool   `query:"inbox" doc:"only messages to USER"`
	After string `query:"after" maxLength:"1024" doc:"the cursor an earlier answer gave as next"`
	Limit int    `query:"limit" minimum:"0" maximum:"1000" doc:"default 1000"`
}

type messageList struct {
	Messages []substrat.Message `json:"messages"`
	// Next is the cursor to go on from, empty at the end.
	Next string `json:"next"`
}

func (s *server) listMessages(ctx context.Context, in *messagesInput) (*body[messageList], error) {
	list, next, err := s.Engine.Messages(ctx, engine.MessageQuery{Agent: in.Agent, Inbox: in.Inbox, After: in.After, Limit: in.Limit})
	if list == nil {
		list = []substrat.Message{}
	}
	return &body[messageList]{messageList{list, next}}, err
}

// IDInput names a message or a turn.
type IDInput struct {
	ID string `path:"id" maxLength:"128"`
}

func (s *server) getMessage(ctx context.Context, in *IDInput) (*body[substrat.Message], error) {
	m, err := s.Engine.Message(ctx, in.ID)
	return &body[substrat.Message]{m}, err
}

type waitInput struct {
	IDInput
	Wait string `query:"wait" maxLength:"32" doc:"how long to wait, as 30s or 2m; at most 5m, default 30s"`
}

// waitMost bounds one wait. A client that wants longer asks again.
const waitMost = 5 * time.Minute

func (s *server) waitMessage(ctx context.Context, in *waitInput) (*body[engine.Receipt], error) {
	wait := 30 * time.Second
	if in.Wait != "" {
		d, err := time.ParseDuration(in.Wait)
		if err != nil || d < 0 {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot wait for %.40q: not a duration", in.Wait).WithHint("as in 30s or 2m")
		}
		wait = min(d, waitMost)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	r, err := s.Engine.Receipt(ctx, in.ID)
	return &body[engine.Receipt]{r}, err
}
