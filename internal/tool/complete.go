package tool

import (
	"context"

	"substrat.dev/substrat/internal/team"
)

type completeArgs struct {
	Result string `json:"result" jsonschema:"what came of your job; your parent gets it"`
}

func complete(ctx context.Context, c *call, in completeArgs) (any, error) {
	return c.do(ctx, team.Complete{Result: in.Result})
}
