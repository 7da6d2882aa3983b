package tool

import (
	"context"

	"substrat.dev/substrat/internal/team"
)

type childArgs struct {
	Name string `json:"name" jsonschema:"name of a child of yours"`
}

func poke(ctx context.Context, c *call, in childArgs) (any, error) {
	return c.toChild(ctx, in.Name, func(id string) team.Command { return team.Poke{Agent: id} })
}
