package tool

import (
	"context"

	"substrat.dev/substrat/internal/team"
)

type terminateArgs struct {
	Name   string `json:"name" jsonschema:"name of a child of yours"`
	Reason string `json:"reason" jsonschema:"why; those who waited for it are told, and it stays in the record"`
}

func terminateAgent(ctx context.Context, c *call, in terminateArgs) (any, error) {
	return c.toChild(ctx, in.Name, func(id string) team.Command { return team.Terminate{Agent: id, Reason: in.Reason} })
}

// toChild issues a command about a child of the caller's.
func (c *call) toChild(ctx context.Context, name string, cmd func(id string) team.Command) (any, error) {
	var id string
	err := c.host.Look(ctx, c.caller.Team, func(s *team.State) (err error) {
		id, err = s.Child(c.caller.Agent, name)
		return err
	})
	if err != nil {
		// A repeat of the call that ended the child finds it gone; its answer is kept under the key.
		if answer, ok := c.answered(ctx); ok {
			return answer, nil
		}
		return nil, err
	}
	return c.do(ctx, cmd(id))
}
