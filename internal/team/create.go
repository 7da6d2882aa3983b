package team

import (
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
)

// Create adds an agent: a root when the state is empty and Parent is "", else a child. It starts nothing.
type Create struct {
	ID     string
	Parent string
	Name   string
	// Provider, Role, Model, Dir, Sandbox, Network, Limits: empty values are inherited from the parent.
	Provider     string
	Role         substrat.Role
	Model        string
	Instructions string
	Dir          string
	// Subdir is a directory below the parent's workspace, for agents that spawn.
	Subdir   string
	Sandbox  substrat.Sandbox
	Network  substrat.Network
	Limits   *substrat.TurnLimits
	Metadata map[string]string
}

// Created answers Create.
type Created struct {
	Status  string `json:"status"` // "created"
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
	Path    string `json:"path"`
}

func (c Create) decide(d *decision) (any, error) {
	if err := CheckName(c.Name); err != nil {
		return nil, err
	}
	a := Agent{
		ID: c.ID, Name: c.Name, Provider: c.Provider, Role: c.Role, Model: c.Model, Instructions: c.Instructions,
		Dir: c.Dir, Sandbox: c.Sandbox, Network: c.Network, Limits: c.Limits, Metadata: c.Metadata,
	}
	path := c.Name
	if d.Actor.Agent != "" {
		c.Parent = d.Actor.Agent
		a.StartAfter = d.Actor.Turn
	}
	if c.Parent == "" && d.Seq > 0 {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot create a second root in a team")
	}
	if c.Parent != "" {
		if err := d.childOf(c, &a); err != nil {
			return nil, err
		}
		path = d.Path(a.Parent) + "/" + a.Name
	}
	switch a.Role {
	case "":
		a.Role = substrat.Worker
	case substrat.Worker, substrat.Reviewer, substrat.Manager:
	default:
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot create %q: no role %.40q", c.Name, a.Role).WithHint("worker, reviewer or manager")
	}
	d.add(&AgentCreated{Agent: a, Path: path})
	return Created{Status: "created", AgentID: c.ID, Name: c.Name, Path: path}, nil
}

// childOf checks the tree's limits and lets the child inherit what it does not name.
func (d *decision) childOf(c Create, a *Agent) error {
	p := d.Agents[c.Parent]
	if p == nil {
		return substrat.Errorf(substrat.CodeNotFound, "cannot create %q: its parent is not in this team", c.Name)
	}
	if p.Completing != nil {
		return substrat.Errorf(substrat.CodeConflict, "cannot create %q: %s is completing", c.Name, p.Name)
	}
	if d.depth(p) >= d.Limits.Depth {
		return substrat.Errorf(substrat.CodeLimit, "cannot create %q: the tree is %d levels deep, which is the limit", c.Name, d.Limits.Depth).
			WithHint("let %s do it itself, or ask its parent for a helper", p.Name)
	}
	if d.Actor.Agent != "" {
		for up := p; up != nil; up = d.Agents[up.Parent] {
			if n := len(d.subtree(up)) - 1; n >= d.Limits.Descendants {
				return substrat.Errorf(substrat.CodeLimit, "cannot create %q: %s has %d agents under it, which is the limit", c.Name, up.Name, n).
					WithHint("end agents that are done (complete), or give the work to one that exists")
			}
		}
	}
	if err := d.checkFree(p, c.Name); err != nil {
		return err
	}
	a.Parent = p.ID
	return a.inherit(p, c.Subdir)
}

// inherit fills what a child does not name from its parent. A child never gets more than its parent has.
func (a *Agent) inherit(p *Agent, subdir string) error {
	if a.Provider == "" {
		a.Provider, a.Network = p.Provider, p.Network
		if a.Model == "" {
			a.Model = p.Model
		}
	}
	if a.Dir == "" {
		a.Dir = p.Dir
	}
	if subdir != "" {
		if !filepath.IsLocal(subdir) || strings.ContainsRune(subdir, 0) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot use %.80q as workspace_subdir: it is not below the workspace", subdir)
		}
		a.Dir = filepath.Join(p.Dir, subdir)
	}
	if a.Sandbox == "" || p.Sandbox == substrat.Bubblewrap && a.Sandbox == substrat.NoSandbox && a.StartAfter != "" {
		a.Sandbox = p.Sandbox
	}
	if a.Limits == nil {
		a.Limits = p.Limits
	}
	return nil
}
