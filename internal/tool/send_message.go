package tool

import (
	"context"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

type sendArgs struct {
	Recipient string `json:"recipient" jsonschema:"name of your parent, a sibling or a child; USER for the person, if you are the root"`
	Text      string `json:"text" jsonschema:"what to say"`
	Sync      *bool  `json:"sync,omitempty" jsonschema:"ask for a reply, which comes as your next message; default true"`
	ReplyTo   string `json:"reply_to,omitempty" jsonschema:"id of the request this answers"`
}

func (sendArgs) shape(s *jsonschema.Schema) {
	s.Properties["sync"].Types, s.Properties["sync"].Type = nil, "boolean"
}

func sendMessage(ctx context.Context, c *call, in sendArgs) (any, error) {
	if strings.EqualFold(in.Recipient, substrat.User) {
		in.Recipient = substrat.User
	}
	return c.do(ctx, team.Send{
		ID: c.host.NewID(), Recipient: in.Recipient, Text: in.Text, Sync: in.Sync == nil || *in.Sync, ReplyTo: in.ReplyTo,
	})
}
