package tool

import (
	"context"
	"maps"

	"substrat.dev/substrat/internal/team"
)

type nameArgs struct {
	Name string `json:"name" jsonschema:"name of your parent, a sibling or a child"`
}

func inspectAgent(ctx context.Context, c *call, in nameArgs) (any, error) {
	var out team.Inspection
	err := c.host.Look(ctx, c.caller.Team, func(s *team.State) (err error) {
		out, err = s.Inspect(c.caller.Agent, in.Name)
		out.Metadata = maps.Clone(out.Metadata) // the state must not be read once Look is over
		return err
	})
	return out, err
}
