package tool

import (
	"context"
	"maps"

	"substrat.dev/substrat/internal/team"
)

type noArgs struct{}

// children answers list_children.
type children struct {
	Children []team.Child `json:"children"`
}

func listChildren(ctx context.Context, c *call, _ noArgs) (any, error) {
	var out children
	err := c.host.Look(ctx, c.caller.Team, func(s *team.State) error {
		out.Children = s.Children(c.caller.Agent)
		for i := range out.Children { // the state must not be read once Look is over
			out.Children[i].Metadata = maps.Clone(out.Children[i].Metadata)
		}
		return nil
	})
	return out, err
}
