package tool

import (
	"context"

	"substrat.dev/substrat/internal/team"
)

func gate(ctx context.Context, c *call, in childArgs) (any, error) {
	return c.toChild(ctx, in.Name, func(id string) team.Command { return team.Gate{Agent: id, Down: true} })
}

func ungate(ctx context.Context, c *call, in childArgs) (any, error) {
	return c.toChild(ctx, in.Name, func(id string) team.Command { return team.Gate{Agent: id} })
}

func permitTurn(ctx context.Context, c *call, in childArgs) (any, error) {
	return c.toChild(ctx, in.Name, func(id string) team.Command { return team.Permit{Agent: id} })
}
