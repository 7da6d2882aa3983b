package team

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// Create adds an agent: a root when the state is empty and Parent is "", else a child. It starts nothing.
type Create struct {
	ID     string
	Parent string
	Name   string
	// Provider, Model, Dir, Sandbox and Limits are the parent's where they are empty. Network is the provider's. Role is
	// worker where it is empty.
	Provider     string
	Role         substrat.Role
	Model        string
	Instructions string
	Dir          string
	// Subdir is a directory below the parent's workspace, for agents that spawn: they cannot name a Dir.
	Subdir   string
	Sandbox  substrat.Sandbox
	Network  substrat.Network
	Limits   *substrat.TurnLimits
	Metadata map[string]string
	// Workspace is a reference to the workspace it lives in, as its creator names it; a person names an id. Own makes it
	// one of its own, owned by the user.
	Workspace string
	Own       *CreateWorkspace
	// Command is what a scripted agent runs.
	Command []string
	Gated   bool
	Budgets []substrat.Budget
	// Session is a conversation that a person lets it go on with, SessionPath the file it is to be copied from.
	Session, SessionPath string
}

// Created answers Create.
type Created struct {
	Status  string `json:"status"` // "created"
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
	Path    string `json:"path"`
}

func (c Create) decide(d *decision) (any, error) {
	if err := d.checkCreate(c); err != nil {
		return nil, err
	}
	a := Agent{
		ID: c.ID, Name: c.Name, Provider: c.Provider, Role: c.Role, Model: c.Model, Instructions: c.Instructions,
		Dir: c.Dir, Sandbox: c.Sandbox, Network: c.Network, Limits: c.Limits, Metadata: c.Metadata, Command: c.Command, Gated: c.Gated,
		Session: c.Session, SessionPath: c.SessionPath,
	}
	var err error
	if a.Budgets, err = newBudgets(c.Budgets); err != nil {
		return nil, err
	}
	path := c.Name
	if d.Actor.Agent != "" {
		c.Parent = d.Actor.Agent
	}
	if !d.Actor.Operator {
		a.StartAfter = d.Actor.Turn
	}
	if c.Parent == "" && (d.Seq > 0 || c.ID != d.Team) {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot create a second root in a team")
	}
	if c.Parent != "" {
		if err := d.childOf(c, &a); err != nil {
			return nil, err
		}
		path = d.Path(a.Parent) + "/" + a.Name
	}
	if err := d.narrowRole(c, &a); err != nil {
		return nil, err
	}
	if err := checkDoor(a); err != nil {
		return nil, err
	}
	switch a.Role {
	case "":
		a.Role = substrat.Worker
	case substrat.Worker, substrat.Reviewer, substrat.Manager:
	default:
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot create %q: no role %.40q", c.Name, a.Role).WithHint("worker, reviewer or manager")
	}
	if d.Budgets != nil {
		more, err := newBudgets(d.Budgets(path, a.Role))
		if err != nil {
			return nil, err
		}
		a.Budgets = append(a.Budgets, more...)
	}
	if err := d.house(c, &a); err != nil {
		return nil, err
	}
	created := &AgentCreated{Agent: a, Path: path}
	if !d.Actor.Operator {
		created.By = d.Actor.Agent
	}
	d.add(created)
	return Created{Status: "created", AgentID: c.ID, Name: c.Name, Path: path}, nil
}

// house gives a new agent its workspace, if it is to have another than its parent's.
func (d *decision) house(c Create, a *Agent) error {
	switch {
	case c.Own != nil && c.Workspace != "", c.Own != nil && d.Actor.Agent != "":
		return substrat.Errorf(substrat.CodeInvalid, "cannot create %q: a workspace of its own is for a person to give, and instead of another", c.Name)
	case c.Own != nil:
		own := *c.Own
		if left := d.ownWorkspace("", own.Name); left != nil && d.abandoned(left, own.Tree) {
			// The worktree of an agent that has ended is taken up again, with what was left in it.
			a.Workspace, a.Dir, a.Subdir = left.ID, left.Dir, ""
			return nil
		}
		if err := d.checkWorkspace(own, ""); err != nil {
			return err
		}
		d.add(&WorkspaceCreated{Workspace: Workspace{ID: own.ID, Name: own.Name, Dir: own.Dir, Made: own.Made, Tree: own.Tree}})
		a.Workspace, a.Dir, a.Subdir = own.ID, own.Dir, ""
	case c.Workspace != "":
		w, _, err := d.workspaceOf(c.Workspace)
		if err != nil {
			return err
		}
		if err := checkInside(c.Subdir); err != nil {
			return err
		}
		a.Workspace, a.Subdir = w.ID, c.Subdir
		root, sub, _ := d.rootOf(w)
		a.Dir = filepath.Join(root.Dir, sub, c.Subdir)
	}
	return nil
}

// abandoned reports whether a workspace is the same worktree, and nobody lives in it.
func (d *decision) abandoned(w *Workspace, t *Tree) bool {
	if w.Tree == nil || t == nil || w.Tree.Repo != t.Repo || w.Tree.Branch != t.Branch {
		return false
	}
	for _, a := range d.Agents {
		if a.Workspace == w.ID {
			return false
		}
	}
	return true
}

// checkCreate checks what is given, whoever the parent is.
func (d *decision) checkCreate(c Create) error {
	if err := CheckName(c.Name); err != nil {
		return err
	}
	if c.ID == "" || d.Agents[c.ID] != nil {
		return substrat.Errorf(substrat.CodeInternal, "cannot create %q: its id is in use", c.Name)
	}
	size := 0
	for _, text := range append(slices.Collect(maps.Keys(c.Metadata)), slices.Collect(maps.Values(c.Metadata))...) {
		if size += len(text); !utf8.ValidString(text) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot create %q: its metadata is not UTF-8", c.Name)
		}
	}
	for _, text := range []string{c.Instructions, c.Provider, c.Model, c.Dir, c.Subdir, c.Session, c.SessionPath} {
		if !utf8.ValidString(text) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot create %q: %.80q is not UTF-8", c.Name, text)
		}
	}
	if max(size, len(c.Instructions)) > d.Limits.TextBytes {
		return substrat.Errorf(substrat.CodeTooLarge, "cannot create %q: its instructions or metadata are over %d bytes", c.Name, d.Limits.TextBytes).
			WithHint("put them in a file of the workspace and name the path")
	}
	return nil
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
	if err := d.checkFree(p, c.Name); err != nil {
		return err
	}
	a.Parent = p.ID
	if d.Actor.Agent != "" {
		if err := d.checkSpawn(p, c); err != nil {
			return err
		}
		// What an agent spawns is contained at least as it is itself, whatever was asked for.
		a.Limits = p.Limits
		if a.Sandbox.Holds() <= p.Sandbox.Holds() {
			a.Sandbox = p.Sandbox
		}
		if a.Sandbox == substrat.Landlock && p.Sandbox == substrat.Landlock && a.Network == substrat.NetworkDoor {
			// There is no door here: a person has chosen for its parent what takes its place.
			a.Network = p.Network
		}
	}
	if c.Workspace != "" || c.Own != nil {
		return a.inherit(p, "")
	}
	return a.inherit(p, c.Subdir)
}

// checkSpawn bounds what an agent may add, so that no team grows, or wakes itself by what it spawns, without end.
func (d *decision) checkSpawn(p *Agent, c Create) error {
	for up := p; up != nil; up = d.Agents[up.Parent] {
		if n := d.below[up.ID]; n >= d.Limits.Descendants {
			return substrat.Errorf(substrat.CodeLimit, "cannot create %q: %s has %d agents under it, which is the limit", c.Name, up.Name, n).
				WithHint("end agents that are done (complete), or give the work to one that exists")
		}
	}
	if n := d.Limits.SpawnsPerMinute; n > 0 {
		recent := slices.DeleteFunc(slices.Clone(d.Spawns), func(t time.Time) bool { return d.At.Sub(t) >= time.Minute })
		if len(recent) >= n {
			return substrat.Errorf(substrat.CodeRateLimited, "cannot create %q: %d agents were spawned in the last minute, which is the limit", c.Name, len(recent)).
				WithHint("try again in %v", (time.Minute - d.At.Sub(recent[len(recent)-n])).Round(time.Second))
		}
	}
	if _, hops := chain(p); hops > d.Limits.Hops {
		return d.tooManyHops("create " + c.Name)
	}
	if c.Network.Reaches() > p.Network.Reaches() {
		return substrat.Errorf(substrat.CodeForbidden, "cannot create %q: provider %s needs the network, which you do not have", c.Name, c.Provider).
			WithHint("ask the user to create it")
	}
	if c.Session != "" || c.SessionPath != "" {
		return substrat.Errorf(substrat.CodeForbidden, "cannot create %q with a session: only the user gives one", c.Name)
	}
	if c.Dir != "" {
		return substrat.Errorf(substrat.CodeForbidden, "cannot create %q in %.80q: only the user names directories", c.Name, c.Dir).
			WithHint("workspace_subdir names a directory below your own workspace")
	}
	return nil
}

// checkDoor refuses an egress door where there is no network namespace for it. What takes its place a person says.
func checkDoor(a Agent) error {
	if a.Sandbox != substrat.Landlock || a.Network != substrat.NetworkDoor {
		return nil
	}
	return substrat.Errorf(substrat.CodeInvalid, "cannot create %q: sandbox landlock has no network namespace, and so no door to hold its network to named hosts", a.Name).
		WithHint("choose: network none, or network host, which leaves the host's whole network open to it")
}

// inherit fills what a child does not name from its parent.
func (a *Agent) inherit(p *Agent, subdir string) error {
	if a.Provider == "" {
		if len(a.Command) == 0 {
			a.Command = p.Command
		}
		a.Provider = p.Provider
		if a.Network == "" {
			a.Network = p.Network
		}
		if a.Model == "" {
			a.Model = p.Model
		}
	}
	if a.Dir == "" {
		a.Dir, a.Workspace, a.Subdir = p.Dir, p.Workspace, p.Subdir
	}
	if subdir != "" {
		a.Subdir = filepath.Join(p.Subdir, subdir)
		if !filepath.IsLocal(subdir) || strings.ContainsRune(subdir, 0) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot use %.80q as workspace_subdir: it is not below the workspace", subdir)
		}
		a.Dir = filepath.Join(p.Dir, subdir)
	}
	if a.Sandbox == "" {
		a.Sandbox = p.Sandbox
	}
	if a.Limits == nil {
		a.Limits = p.Limits
	}
	return nil
}
