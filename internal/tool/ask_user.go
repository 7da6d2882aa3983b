package tool

import (
	"context"

	"substrat.dev/substrat/internal/team"
)

type askArgs struct {
	Question string   `json:"question" jsonschema:"what you need to know, with what a person needs to answer it"`
	Options  []string `json:"options,omitempty" jsonschema:"the answers to choose from; without them any text answers"`
	Multiple bool     `json:"multiple,omitempty" jsonschema:"several options may be chosen; default one"`
}

func askUser(ctx context.Context, c *call, in askArgs) (any, error) {
	return c.do(ctx, team.Ask{ID: c.host.NewID(), Question: in.Question, Options: in.Options, Multiple: in.Multiple})
}
