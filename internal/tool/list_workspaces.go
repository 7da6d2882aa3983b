package tool

import (
	"context"

	"substrat.dev/substrat/internal/team"
)

type workspaces struct {
	Workspaces []team.Reference `json:"workspaces"`
}

func listWorkspaces(ctx context.Context, c *call, _ noArgs) (any, error) {
	var out workspaces
	err := c.host.Look(ctx, c.caller.Team, func(s *team.State) error {
		out.Workspaces = s.VisibleWorkspaces(c.caller.Agent)
		return nil
	})
	return out, err
}
