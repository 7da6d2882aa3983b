package engine

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/workspace"
)

// Workspaces lists the workspaces of all teams, or of the team of one agent.
func (e *Engine) Workspaces(_ context.Context, ref string) ([]substrat.Workspace, error) {
	only := ""
	if ref != "" {
		teamID, _, err := e.resolve(ref)
		if err != nil {
			return nil, err
		}
		only = teamID
	}
	out := []substrat.Workspace{}
	if ref == "" {
		// Before the states are looked at: a directory is made after its workspace.
		out = e.leftOver()
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, s := range e.inOrder() {
		if only == "" || only == s.Team {
			out = append(out, s.WorkspaceViews()...)
		}
	}
	return e.withoutKnown(out), nil
}

// findWorkspace finds a workspace by its id, or as an agent would write it after that agent's path: lead/src (of lead),
// lead/coder/src (of lead/coder), lead/../src (the user's in the team of lead).
func (e *Engine) findWorkspace(ref string) (teamID, id string, err error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	root, _, _ := strings.Cut(ref, "/")
	for _, s := range e.teams {
		if r := s.Root(); s.Workspaces[ref] != nil || r != nil && r.Name == root {
			id, err := s.FindWorkspace("", ref)
			return s.Team, id, err
		}
	}
	return "", "", substrat.Errorf(substrat.CodeNotFound, "no workspace %.80q", ref).
		WithHint("an id, or AGENT/NAME, or AGENT/../NAME for the user's; substrat workspace ls shows what there is")
}

// Workspace shows one workspace.
func (e *Engine) Workspace(ctx context.Context, ref string) (substrat.Workspace, error) {
	teamID, id, err := e.findWorkspace(ref)
	if err != nil {
		return substrat.Workspace{}, err
	}
	return e.workspaceView(ctx, teamID, id)
}

func (e *Engine) workspaceView(ctx context.Context, teamID, id string) (out substrat.Workspace, err error) {
	err = e.Look(ctx, teamID, func(s *team.State) error {
		for _, v := range s.WorkspaceViews() {
			if v.ID == id {
				out = v
				return nil
			}
		}
		return substrat.Errorf(substrat.CodeNotFound, "the workspace was deleted")
	})
	return out, err
}

// CreateWorkspace makes a workspace for a person. Its directory is made at once.
func (e *Engine) CreateWorkspace(ctx context.Context, n substrat.NewWorkspace) (substrat.Workspace, error) {
	teamID, agent, err := e.resolve(n.Agent)
	if err != nil {
		return substrat.Workspace{}, err
	}
	id := e.NewID()
	c := team.CreateWorkspace{ID: id, Name: n.Name, Network: n.Network, ReadOnly: n.ReadOnly, Subdir: n.Subdir, Dir: e.workspaceDir(id), Made: true}
	if n.Own {
		c.Owner = agent
	}
	switch {
	case n.ViewOf != "":
		if _, c.ViewOf, err = e.findWorkspace(n.ViewOf); err != nil {
			return substrat.Workspace{}, err
		}
	case n.Worktree != "":
		if c.Tree, err = worktreeOf(n.Worktree, n.Branch, n.Name); err != nil {
			return substrat.Workspace{}, err
		}
		if c.Tree.Base = n.Base; n.Base == "" {
			if c.Tree.Base, err = workspace.Base(ctx, n.Worktree); err != nil {
				return substrat.Workspace{}, err
			}
		}
	case n.Dir != "":
		if c.Dir, err = checkDir(n.Dir); err != nil {
			return substrat.Workspace{}, err
		}
		c.Made = false
	}
	if _, err := e.Do(ctx, teamID, team.Meta{}, c); err != nil {
		return substrat.Workspace{}, err
	}
	if c.Made && c.ViewOf == "" {
		// What is wrong with a repository is told now, not at the first turn in it.
		if _, err := settlePlace(ctx, c.Dir, "", true, c.Tree); err != nil {
			_, _ = e.Do(ctx, teamID, team.Meta{}, team.DeleteWorkspace{Ref: id})
			return substrat.Workspace{}, err
		}
	}
	return e.workspaceView(ctx, teamID, id)
}

// placeOf is a workspace's own directory on the host, and whether it is the daemon's.
func (e *Engine) placeOf(ctx context.Context, teamID, id string) (p workspace.Place, made bool, err error) {
	err = e.Look(ctx, teamID, func(s *team.State) error {
		w := s.Workspaces[id]
		if w == nil {
			return substrat.Errorf(substrat.CodeNotFound, "the workspace was deleted")
		}
		p, made = workspace.Place{Dir: w.Dir}, w.Made && w.ViewOf == ""
		if w.Tree != nil {
			p.Tree = &workspace.Tree{Repo: w.Tree.Repo, Branch: w.Tree.Branch, Base: w.Tree.Base}
		}
		return nil
	})
	return p, made, err
}

// treeOf is the place of a workspace that is a git worktree.
func (e *Engine) treeOf(ctx context.Context, ref string) (workspace.Place, error) {
	teamID, id, err := e.findWorkspace(ref)
	if err != nil {
		return workspace.Place{}, err
	}
	p, _, err := e.placeOf(ctx, teamID, id)
	if err == nil && p.Tree == nil {
		err = substrat.Errorf(substrat.CodeUnsupported, "%s is no git worktree", ref).WithHint("substrat workspace create --worktree makes one")
	}
	return p, err
}

// DiffWorkspace tells what was done in a git worktree.
func (e *Engine) DiffWorkspace(ctx context.Context, ref string) (substrat.WorkspaceDiff, error) {
	p, err := e.treeOf(ctx, ref)
	if err != nil {
		return substrat.WorkspaceDiff{}, err
	}
	d, err := workspace.Diff(ctx, p)
	if err != nil {
		return substrat.WorkspaceDiff{}, err
	}
	return substrat.WorkspaceDiff{
		Branch: d.Branch, Base: d.Base, Ahead: d.Ahead, Behind: d.Behind, Uncommitted: d.Uncommitted, Files: d.Files, Text: d.Text, Cut: d.Cut,
	}, nil
}

// MergeWorkspace merges a worktree's branch into another, by default the one that the repository has checked out.
func (e *Engine) MergeWorkspace(ctx context.Context, ref, into string) (substrat.WorkspaceMerge, error) {
	p, err := e.treeOf(ctx, ref)
	if err != nil {
		return substrat.WorkspaceMerge{}, err
	}
	m, err := workspace.Merge(ctx, p, into)
	if err != nil {
		return substrat.WorkspaceMerge{}, err
	}
	return substrat.WorkspaceMerge{Into: m.Into, Commit: m.Commit, UpToDate: m.UpToDate, FastForward: m.FastForward, Files: m.Files}, nil
}

// DeleteWorkspace deletes a workspace, and its files if they are the daemon's. Without force, nothing that is uncommitted or
// unmerged goes. It tells the branch that was kept, if one was.
func (e *Engine) DeleteWorkspace(ctx context.Context, ref string, force bool) (kept string, err error) {
	if dir, ok := e.leftAt(ref); ok {
		return "", e.removeLeft(dir, force)
	}
	teamID, id, err := e.findWorkspace(ref)
	if err != nil {
		return "", err
	}
	// Whoever lives there is named before what is not saved: force does not help against them.
	if err := e.Look(ctx, teamID, func(s *team.State) error {
		_, _, err := team.Decide(s, team.Meta{At: time.Now()}, team.DeleteWorkspace{Ref: id})
		return err
	}); err != nil {
		return "", err
	}
	p, made, err := e.placeOf(ctx, teamID, id)
	if err != nil {
		return "", err
	}
	if made && !force {
		if err := workspace.Removable(ctx, p); err != nil {
			return "", err
		}
	}
	if _, err := e.Do(ctx, teamID, team.Meta{}, team.DeleteWorkspace{Ref: id}); err != nil {
		return "", err
	}
	if !made {
		return "", nil
	}
	r, err := workspace.Remove(ctx, p, e.placesDir(), force)
	if err != nil {
		return "", substrat.Errorf(substrat.CodeOf(err), "the workspace is deleted, its files stay in %s: %v", p.Dir, err)
	}
	return r.BranchKept, nil
}

// LinkWorkspace shows a directory in a workspace, from the next turn in it on.
func (e *Engine) LinkWorkspace(ctx context.Context, ref string, n substrat.NewLink) (substrat.Workspace, error) {
	return e.changeWorkspace(ctx, ref, func(id string) (team.Command, error) {
		c := team.LinkDir{Workspace: id, At: n.At, Dir: n.Dir, ReadOnly: n.ReadOnly, Host: n.Host}
		if n.Host != "" {
			var err error
			c.Host, err = checkDir(n.Host)
			return c, err
		}
		_, source, err := e.findWorkspace(n.Source)
		c.Source = source
		return c, err
	})
}

// UnlinkWorkspace takes a link away.
func (e *Engine) UnlinkWorkspace(ctx context.Context, ref, at string) (substrat.Workspace, error) {
	return e.changeWorkspace(ctx, ref, func(id string) (team.Command, error) { return team.UnlinkDir{Workspace: id, At: at}, nil })
}

func (e *Engine) changeWorkspace(ctx context.Context, ref string, cmd func(id string) (team.Command, error)) (substrat.Workspace, error) {
	teamID, id, err := e.findWorkspace(ref)
	if err != nil {
		return substrat.Workspace{}, err
	}
	c, err := cmd(id)
	if err != nil {
		return substrat.Workspace{}, err
	}
	var answer json.RawMessage
	if answer, err = e.Do(ctx, teamID, team.Meta{}, c); err != nil || len(answer) == 0 {
		return substrat.Workspace{}, err
	}
	return e.workspaceView(ctx, teamID, id)
}
