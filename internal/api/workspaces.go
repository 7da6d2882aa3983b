package api

import (
	"context"

	"substrat.dev/substrat"
)

// WorkspaceInput names a workspace.
type WorkspaceInput struct {
	Ref string `path:"ref" maxLength:"1024" doc:"an id, AGENT/NAME or AGENT/../NAME, escaped as one segment"`
}

type workspacesInput struct {
	Agent string `query:"agent" maxLength:"1024" doc:"only those of this agent's team"`
}

type workspaceList struct {
	Workspaces []substrat.Workspace `json:"workspaces"`
}

func (s *server) listWorkspaces(ctx context.Context, in *workspacesInput) (*body[workspaceList], error) {
	list, err := s.Engine.Workspaces(ctx, in.Agent)
	return &body[workspaceList]{workspaceList{list}}, err
}

type createWorkspaceInput struct{ Body substrat.NewWorkspace }

func (s *server) createWorkspace(ctx context.Context, in *createWorkspaceInput) (*body[substrat.Workspace], error) {
	w, err := s.Engine.CreateWorkspace(ctx, in.Body)
	return &body[substrat.Workspace]{w}, err
}

func (s *server) getWorkspace(ctx context.Context, in *WorkspaceInput) (*body[substrat.Workspace], error) {
	w, err := s.Engine.Workspace(ctx, in.Ref)
	return &body[substrat.Workspace]{w}, err
}

type deleteWorkspaceInput struct {
	WorkspaceInput
	Force bool `query:"force" doc:"also what is uncommitted or unmerged"`
}

type workspaceDeleted struct {
	Status string `json:"status"`
	// Branch holds commits that are merged nowhere, and was kept.
	Branch string `json:"branch,omitempty"`
}

func (s *server) deleteWorkspace(ctx context.Context, in *deleteWorkspaceInput) (*body[workspaceDeleted], error) {
	kept, err := s.Engine.DeleteWorkspace(ctx, in.Ref, in.Force)
	return &body[workspaceDeleted]{workspaceDeleted{"deleted", kept}}, err
}

func (s *server) diffWorkspace(ctx context.Context, in *WorkspaceInput) (*body[substrat.WorkspaceDiff], error) {
	d, err := s.Engine.DiffWorkspace(ctx, in.Ref)
	return &body[substrat.WorkspaceDiff]{d}, err
}

type mergeInput struct {
	WorkspaceInput
	Body struct {
		Into string `json:"into,omitempty" doc:"a branch; default what the repository has checked out"`
	}
}

func (s *server) mergeWorkspace(ctx context.Context, in *mergeInput) (*body[substrat.WorkspaceMerge], error) {
	m, err := s.Engine.MergeWorkspace(ctx, in.Ref, in.Body.Into)
	return &body[substrat.WorkspaceMerge]{m}, err
}

type linkInput struct {
	WorkspaceInput
	Body substrat.NewLink
}

func (s *server) linkWorkspace(ctx context.Context, in *linkInput) (*body[substrat.Workspace], error) {
	w, err := s.Engine.LinkWorkspace(ctx, in.Ref, in.Body)
	return &body[substrat.Workspace]{w}, err
}

type unlinkInput struct {
	WorkspaceInput
	At string `query:"at" required:"true" maxLength:"1024"`
}

func (s *server) unlinkWorkspace(ctx context.Context, in *unlinkInput) (*body[substrat.Workspace], error) {
	w, err := s.Engine.UnlinkWorkspace(ctx, in.Ref, in.At)
	return &body[substrat.Workspace]{w}, err
}

type envInput struct {
	WorkspaceInput
	Body struct {
		Script string `json:"script" maxLength:"65536" doc:"for a shell in the agents' sandbox; empty forgets the environment"`
	}
}

func (s *server) captureEnv(ctx context.Context, in *envInput) (*body[substrat.Workspace], error) {
	w, err := s.Engine.CaptureEnv(ctx, in.Ref, in.Body.Script)
	return &body[substrat.Workspace]{w}, err
}
