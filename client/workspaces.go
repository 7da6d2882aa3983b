package client

import (
	"context"
	"net/http"
	"net/url"

	"substrat.dev/substrat"
)

func workspacePath(ref, rest string) string { return "/workspaces/" + url.PathEscape(ref) + rest }

// Workspaces lists the workspaces of all teams, or of an agent's.
func (c *Client) Workspaces(ctx context.Context, agent string) ([]substrat.Workspace, error) {
	q := url.Values{}
	if agent != "" {
		q.Set("agent", agent)
	}
	out, err := call[struct{ Workspaces []substrat.Workspace }](ctx, c, http.MethodGet, "/workspaces", q, nil)
	return out.Workspaces, err
}

// Workspace shows one, named by its id, or as an agent would write it after that agent's path: lead/src, lead/../src.
func (c *Client) Workspace(ctx context.Context, ref string) (substrat.Workspace, error) {
	return call[substrat.Workspace](ctx, c, http.MethodGet, workspacePath(ref, ""), nil, nil)
}

// CreateWorkspace makes a workspace.
func (c *Client) CreateWorkspace(ctx context.Context, n substrat.NewWorkspace) (substrat.Workspace, error) {
	return call[substrat.Workspace](ctx, c, http.MethodPost, "/workspaces", nil, n)
}

// DeleteWorkspace deletes one. Without force nothing uncommitted or unmerged goes; it tells the branch that was kept.
func (c *Client) DeleteWorkspace(ctx context.Context, ref string, force bool) (kept string, err error) {
	q := url.Values{}
	if force {
		q.Set("force", "true")
	}
	out, err := call[struct{ Branch string }](ctx, c, http.MethodDelete, workspacePath(ref, ""), q, nil)
	return out.Branch, err
}

// DiffWorkspace tells what was done in a git worktree.
func (c *Client) DiffWorkspace(ctx context.Context, ref string) (substrat.WorkspaceDiff, error) {
	return call[substrat.WorkspaceDiff](ctx, c, http.MethodGet, workspacePath(ref, "/diff"), nil, nil)
}

// MergeWorkspace merges a worktree's branch into another; empty is what the repository has checked out.
func (c *Client) MergeWorkspace(ctx context.Context, ref, into string) (substrat.WorkspaceMerge, error) {
	return call[substrat.WorkspaceMerge](ctx, c, http.MethodPost, workspacePath(ref, "/merge"), nil, map[string]string{"into": into})
}

// LinkWorkspace shows a directory in a workspace.
func (c *Client) LinkWorkspace(ctx context.Context, ref string, n substrat.NewLink) (substrat.Workspace, error) {
	return call[substrat.Workspace](ctx, c, http.MethodPost, workspacePath(ref, "/links"), nil, n)
}

// UnlinkWorkspace takes a link away.
func (c *Client) UnlinkWorkspace(ctx context.Context, ref, at string) (substrat.Workspace, error) {
	return call[substrat.Workspace](ctx, c, http.MethodDelete, workspacePath(ref, "/links"), url.Values{"at": {at}}, nil)
}

// CaptureEnv runs a script in a workspace and keeps the environment it leaves; an empty script forgets it.
func (c *Client) CaptureEnv(ctx context.Context, ref, script string) (substrat.Workspace, error) {
	return call[substrat.Workspace](ctx, c, http.MethodPut, workspacePath(ref, "/env"), nil, map[string]string{"script": script})
}
