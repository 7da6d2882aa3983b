package tool

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat/internal/team"
)

type createWorkspaceArgs struct {
	Name     string `json:"name" jsonschema:"its name, unique among your workspaces"`
	Network  bool   `json:"network,omitempty" jsonschema:"agents in it have the network; only if you have it yourself"`
	ViewOf   string `json:"view_of,omitempty" jsonschema:"show (a part of) this workspace instead of making a directory"`
	Subdir   string `json:"subdir,omitempty" jsonschema:"which part of view_of"`
	Mode     string `json:"mode,omitempty" jsonschema:"rw (default) or ro"`
	Worktree bool   `json:"worktree,omitempty" jsonschema:"make it a git worktree, on a branch of its own, of the repository you work in"`
}

func (createWorkspaceArgs) shape(s *jsonschema.Schema) { oneOf(s, "mode", "rw", "ro") }

func createWorkspace(ctx context.Context, c *call, in createWorkspaceArgs) (any, error) {
	cmd := team.CreateWorkspace{
		ID: c.host.NewID(), Name: in.Name, Network: in.Network, ViewOf: in.ViewOf, Subdir: in.Subdir, ReadOnly: in.Mode == "ro",
	}
	if in.ViewOf == "" {
		if err := c.host.PlaceWorkspace(ctx, c.caller, in.Worktree, &cmd); err != nil {
			return nil, err
		}
	}
	return c.do(ctx, cmd)
}

type refArgs struct {
	Name string `json:"name" jsonschema:"the workspace: NAME for yours, CHILD/NAME for a child's"`
}

func deleteWorkspace(ctx context.Context, c *call, in refArgs) (any, error) {
	return c.do(ctx, team.DeleteWorkspace{Ref: in.Name})
}
