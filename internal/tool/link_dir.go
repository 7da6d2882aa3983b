package tool

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"substrat.dev/substrat/internal/team"
)

type linkArgs struct {
	Workspace string `json:"workspace" jsonschema:"where it is to appear: a workspace of yours, or CHILD/NAME"`
	SourceDir string `json:"source_dir" jsonschema:"a directory of the workspace you live in"`
	TargetDir string `json:"target_dir" jsonschema:"where it appears in the other workspace"`
	Mode      string `json:"mode,omitempty" jsonschema:"rw (default) or ro"`
}

func (linkArgs) shape(s *jsonschema.Schema) { oneOf(s, "mode", "rw", "ro") }

func linkDir(ctx context.Context, c *call, in linkArgs) (any, error) {
	return c.do(ctx, team.LinkDir{Workspace: in.Workspace, At: in.TargetDir, Dir: in.SourceDir, ReadOnly: in.Mode == "ro"})
}

type linkFromArgs struct {
	Source    string `json:"source" jsonschema:"the workspace it comes from, any that list_workspaces shows"`
	SourceDir string `json:"source_dir,omitempty" jsonschema:"a directory in it; default all of it"`
	TargetDir string `json:"target_dir" jsonschema:"where it appears"`
	Workspace string `json:"workspace,omitempty" jsonschema:"in which workspace it appears; default the one you live in, if it is yours"`
	Mode      string `json:"mode,omitempty" jsonschema:"rw (default) or ro; what is your parent's is always ro"`
}

func (linkFromArgs) shape(s *jsonschema.Schema) { oneOf(s, "mode", "rw", "ro") }

func linkFrom(ctx context.Context, c *call, in linkFromArgs) (any, error) {
	return c.do(ctx, team.LinkDir{Workspace: in.Workspace, At: in.TargetDir, Source: in.Source, Dir: in.SourceDir, ReadOnly: in.Mode == "ro"})
}

type unlinkArgs struct {
	Workspace string `json:"workspace,omitempty" jsonschema:"the workspace it appears in; default the one you live in"`
	TargetDir string `json:"target_dir" jsonschema:"where it appears"`
}

func unlinkDir(ctx context.Context, c *call, in unlinkArgs) (any, error) {
	return c.do(ctx, team.UnlinkDir{Workspace: in.Workspace, At: in.TargetDir})
}
