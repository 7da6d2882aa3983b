package tool

import (
	"context"

	"substrat.dev/substrat/internal/team"
)

type subscribeArgs struct {
	Name       string `json:"name" jsonschema:"name of your parent, a sibling or a child"`
	Transition string `json:"transition" jsonschema:"as in busy->idle; the states are idle, busy, waiting, gated, failed, terminated, or * for any"`
	Once       bool   `json:"once,omitempty" jsonschema:"only the first time; default every time"`
}

func subscribe(ctx context.Context, c *call, in subscribeArgs) (any, error) {
	return c.do(ctx, team.Subscribe{ID: c.host.NewID(), Name: in.Name, Transition: in.Transition, Once: in.Once})
}

type unsubscribeArgs struct {
	SubscriptionID string `json:"subscription_id" jsonschema:"what subscribe answered"`
}

func unsubscribe(ctx context.Context, c *call, in unsubscribeArgs) (any, error) {
	return c.do(ctx, team.Unsubscribe{ID: in.SubscriptionID})
}
