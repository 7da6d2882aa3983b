package tool

import (
	"context"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

type spawnArgs struct {
	Name            string            `json:"name" jsonschema:"its name, unique among those you can reach"`
	Instructions    string            `json:"instructions" jsonschema:"what it is to do; it sees them in every turn"`
	Role            string            `json:"role,omitempty" jsonschema:"worker (default), reviewer (read-only workspace) or manager"`
	WorkspaceSubdir string            `json:"workspace_subdir,omitempty" jsonschema:"a directory below your workspace for it to work in; default is your whole workspace"`
	Provider        string            `json:"provider,omitempty" jsonschema:"which agent CLI runs it; default yours"`
	Model           string            `json:"model,omitempty" jsonschema:"which model it uses; default yours"`
	Metadata        map[string]string `json:"metadata,omitempty" jsonschema:"notes to keep with it"`
}

func spawnAgent(ctx context.Context, c *call, in spawnArgs) (any, error) {
	cmd := team.Create{
		ID: c.host.NewID(), Name: in.Name, Instructions: in.Instructions, Role: substrat.Role(in.Role), Subdir: in.WorkspaceSubdir,
		Provider: in.Provider, Model: in.Model, Metadata: in.Metadata,
	}
	if in.Provider != "" {
		network, err := c.host.CheckProvider(in.Provider)
		if err != nil {
			return nil, err
		}
		cmd.Network = network
	}
	return c.do(ctx, cmd)
}

type nameArgs struct {
	Name string `json:"name" jsonschema:"name of your parent, a sibling or a child"`
}

func inspectAgent(ctx context.Context, c *call, in nameArgs) (any, error) {
	var out team.Inspection
	err := c.host.Look(ctx, c.caller.Team, func(s *team.State) (err error) {
		out, err = s.Inspect(c.caller.Agent, in.Name)
		return err
	})
	return out, err
}

type noArgs struct{}

func listChildren(ctx context.Context, c *call, _ noArgs) (any, error) {
	var out struct {
		Children []team.Child `json:"children"`
	}
	err := c.host.Look(ctx, c.caller.Team, func(s *team.State) error {
		out.Children = s.Children(c.caller.Agent)
		return nil
	})
	return out, err
}

type completeArgs struct {
	Result string `json:"result" jsonschema:"what came of your job; your parent gets it"`
}

func complete(ctx context.Context, c *call, in completeArgs) (any, error) {
	return c.do(ctx, team.Complete{Result: in.Result})
}
