package team

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Workspace is a named directory that agents can live in. It belongs to whoever made it and outlives the agents in it.
type Workspace struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Owner is an agent's id, empty for the user.
	Owner string `json:"owner,omitempty"`
	// Dir is the directory on the host, empty for a view. Made says that it is the daemon's, and goes with the workspace.
	Dir      string                 `json:"dir,omitempty"`
	Made     bool                   `json:"made,omitempty"`
	ReadOnly bool                   `json:"read_only,omitempty"`
	Network  bool                   `json:"network,omitempty"`
	ViewOf   string                 `json:"view_of,omitempty"`
	Subdir   string                 `json:"subdir,omitempty"`
	Tree     *Tree                  `json:"tree,omitempty"`
	Links    []Link                 `json:"links,omitempty"`
	Env      *substrat.WorkspaceEnv `json:"env,omitempty"`

	CreatedAt time.Time `json:"created_at"`
}

// Tree says that a workspace is a git worktree of a repository, on a branch of its own.
type Tree struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Base   string `json:"base,omitempty"`
}

// Link shows a directory of another workspace, or below a host directory, inside a workspace.
type Link struct {
	At       string `json:"at"`
	Source   string `json:"source,omitempty"`
	Host     string `json:"host,omitempty"`
	Dir      string `json:"dir"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// CreateWorkspace makes a workspace of the caller's: a directory of its own, a view of another workspace, or a worktree.
type CreateWorkspace struct {
	ID   string
	Name string
	// Dir is its host directory. Made says that it is to be made; only a person names one that is there.
	Dir      string
	Made     bool
	Network  bool
	ReadOnly bool
	ViewOf   string // a reference
	Subdir   string
	Tree     *Tree
	// Owner is the agent that a person makes it for, empty for the user.
	Owner string
}

// WorkspaceMade answers CreateWorkspace.
type WorkspaceMade struct {
	Status      string `json:"status"` // "created"
	WorkspaceID string `json:"workspace_id"`
	Name        string `json:"name"`
	Branch      string `json:"branch,omitempty"`
}

// DeleteWorkspace ends a workspace, with the views of it and the links from it.
type DeleteWorkspace struct {
	Ref string // a reference; an id from a person
}

// Deleted answers DeleteWorkspace: what there was, for whoever clears up.
type Deleted struct {
	Status string `json:"status"` // "deleted"
}

// workspacesMost bounds what one team may have.
const workspacesMost = 1000

func (c CreateWorkspace) decide(d *decision) (any, error) {
	owner, err := d.workspaceOwner(c)
	if err != nil {
		return nil, err
	}
	if err := d.checkWorkspace(c, owner); err != nil {
		return nil, err
	}
	w := Workspace{
		ID: c.ID, Name: c.Name, Owner: owner, Dir: c.Dir, Made: c.Made, ReadOnly: c.ReadOnly, Network: c.Network, Subdir: c.Subdir, Tree: c.Tree,
	}
	var of *Workspace
	may := true
	if c.ViewOf != "" {
		if of, may, err = d.workspaceOf(c.ViewOf); err != nil {
			return nil, err
		}
		w.ViewOf, w.Dir, w.Made, w.Tree = of.ID, "", false, nil
		w.ReadOnly = w.ReadOnly || of.ReadOnly
	}
	if err := d.narrowWorkspace(c, &w, of, may); err != nil {
		return nil, err
	}
	d.add(&WorkspaceCreated{Workspace: w})
	made := WorkspaceMade{Status: "created", WorkspaceID: w.ID, Name: w.Name}
	if w.Tree != nil {
		made.Branch = w.Tree.Branch
	}
	return made, nil
}

func (d *decision) workspaceOwner(c CreateWorkspace) (string, error) {
	if d.Actor.Agent != "" {
		a, err := d.caller()
		if err != nil {
			return "", err
		}
		if c.Network && !d.reachesNetwork(a) {
			return "", substrat.Errorf(substrat.CodeForbidden, "cannot create workspace %.80q with network: you do not have it", c.Name).
				WithHint("ask the user to create it")
		}
		return a.ID, nil
	}
	if c.Owner != "" && d.Agents[c.Owner] == nil {
		return "", substrat.Errorf(substrat.CodeNotFound, "cannot create workspace %.80q: no such agent", c.Name)
	}
	return c.Owner, nil
}

func (d *decision) checkWorkspace(c CreateWorkspace, owner string) error {
	switch {
	case !nameForm.MatchString(c.Name) || uuidForm.MatchString(c.Name):
		return substrat.Errorf(substrat.CodeInvalid, "cannot use %.80q as a name of a workspace", c.Name).
			WithHint("1 to 63 letters, digits, dots, dashes or underscores, beginning with a letter or digit")
	case c.ID == "" || d.Workspaces[c.ID] != nil:
		return substrat.Errorf(substrat.CodeInternal, "cannot create workspace %q: its id is in use", c.Name)
	case d.ownWorkspace(owner, c.Name) != nil:
		return substrat.Errorf(substrat.CodeNameTaken, "cannot create workspace %q: there is one of that name", c.Name)
	case len(d.Workspaces) >= workspacesMost:
		return substrat.Errorf(substrat.CodeLimit, "cannot create workspace %q: the team has %d, which is the limit", c.Name, workspacesMost)
	case c.Subdir != "" && c.ViewOf == "":
		return substrat.Errorf(substrat.CodeInvalid, "cannot create workspace %q: subdir needs view_of", c.Name)
	case c.ViewOf == "" && !filepath.IsAbs(c.Dir):
		return substrat.Errorf(substrat.CodeInternal, "cannot create workspace %q: it has no directory", c.Name)
	}
	return checkInside(c.Subdir)
}

// checkInside refuses a path that does not stay inside where it belongs. Whether a symbolic link leads out is checked
// when the path is used.
func checkInside(path string) error {
	if path != "" && (!filepath.IsLocal(path) || strings.ContainsRune(path, 0) || clean(path) != path || len(path) > 1024) {
		return substrat.Errorf(substrat.CodeInvalid, "cannot use the path %.80q: it is not below the workspace", path).WithHint("a relative path without ..")
	}
	return nil
}

// ownWorkspace finds a workspace of an owner's by its name.
func (s *State) ownWorkspace(owner, name string) *Workspace {
	for _, w := range s.Workspaces {
		if w.Owner == owner && w.Name == name {
			return w
		}
	}
	return nil
}

// workspaceOf finds what the caller means by a reference: name (its own), child/name, or ../name (its parent's, a root's
// is the user's). Own ones and children's may be changed, the parent's only seen. A person names ids and may change all.
func (d *decision) workspaceOf(ref string) (w *Workspace, may bool, err error) {
	if d.Actor.Agent == "" {
		if w = d.Workspaces[ref]; w == nil {
			return nil, false, substrat.Errorf(substrat.CodeNotFound, "no workspace %.80q", ref).WithHint("substrat workspace ls shows what there is")
		}
		return w, true, nil
	}
	a, err := d.caller()
	if err != nil {
		return nil, false, err
	}
	return d.resolveWorkspace(a, ref)
}

func (s *State) resolveWorkspace(a *Agent, ref string) (w *Workspace, may bool, err error) {
	where, name, scoped := strings.Cut(ref, "/")
	switch {
	case !scoped:
		w, may = s.ownWorkspace(a.ID, ref), true
	case where == "..":
		w = s.ownWorkspace(a.Parent, name)
	default:
		if c := s.child(a, where); c != nil {
			w, may = s.ownWorkspace(c.ID, name), true
		}
	}
	if w == nil {
		return nil, false, substrat.Errorf(substrat.CodeNotFound, "no workspace %.80q that you can see", ref).
			WithHint("yours are NAME, a child's CHILD/NAME, your parent's ../NAME; list_workspaces shows them")
	}
	return w, may, nil
}

// reachesNetwork reports whether an agent's turns have a network.
func (s *State) reachesNetwork(a *Agent) bool {
	w := s.Workspaces[a.Workspace]
	return a.Network.Reaches() > 0 || w != nil && w.Network
}

func (c DeleteWorkspace) decide(d *decision) (any, error) {
	w, may, err := d.workspaceOf(c.Ref)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot delete workspace %s: it is your parent's", c.Ref)
	}
	ids := d.withViews(w.ID)
	var living []string
	for id, a := range d.Agents {
		if slices.Contains(ids, a.Workspace) && a.Workspace != "" {
			living = append(living, d.Path(id))
		}
	}
	if len(living) > 0 {
		slices.Sort(living)
		ref, hint := c.Ref, "wait until they complete, or terminate_agent"
		if d.Actor.Agent == "" {
			ref, hint = d.workspaceView(w).Ref, "wait until they complete; substrat agent rm ends them"
		}
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot delete workspace %s: %s in it, or in a view of it, not ended", ref, lives(living)).
			WithHint("%s", hint)
	}
	d.add(&WorkspaceDeleted{IDs: ids})
	return Deleted{"deleted"}, nil
}

func lives(paths []string) string {
	if len(paths) == 1 {
		return paths[0] + " lives"
	}
	return strings.Join(paths[:min(len(paths), 10)], ", ") + " live"
}

// withViews lists a workspace and the views of it, and of those, and so on.
func (s *State) withViews(id string) []string {
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		var views []string
		for _, v := range s.Workspaces {
			if v.ViewOf == ids[i] {
				views = append(views, v.ID)
			}
		}
		slices.Sort(views)
		ids = append(ids, views...)
	}
	return ids
}

// WorkspaceCreated means: there is a new workspace. Its directory is made before the first turn in it.
type WorkspaceCreated struct {
	Workspace Workspace `json:"workspace"`
}

// WorkspaceDeleted means: these are gone, with the links from them.
type WorkspaceDeleted struct {
	IDs []string `json:"ids"`
}

// Type implements Fact.
func (*WorkspaceCreated) Type() string { return "workspace.created" }

// Type implements Fact.
func (*WorkspaceDeleted) Type() string { return "workspace.deleted" }

func (x *WorkspaceCreated) fold(f *folding) error {
	w := x.Workspace
	if w.ID == "" || f.Workspaces[w.ID] != nil || w.Owner != "" && f.Agents[w.Owner] == nil || w.ViewOf != "" && f.Workspaces[w.ViewOf] == nil {
		return substrat.Errorf(substrat.CodeConflict, "workspace %q cannot be there", w.ID)
	}
	w.CreatedAt = f.at
	f.Workspaces[w.ID] = &w
	return nil
}

func (x *WorkspaceDeleted) fold(f *folding) error {
	for _, id := range x.IDs {
		if f.Workspaces[id] == nil {
			return substrat.Errorf(substrat.CodeNotFound, "no workspace %s", id)
		}
	}
	for _, a := range f.Agents {
		if a.Workspace != "" && slices.Contains(x.IDs, a.Workspace) {
			return substrat.Errorf(substrat.CodeConflict, "agent %s lives in workspace %s", a.ID, a.Workspace)
		}
	}
	for _, id := range x.IDs {
		delete(f.Workspaces, id)
	}
	for _, w := range f.Workspaces {
		w.Links = slices.DeleteFunc(slices.Clone(w.Links), func(l Link) bool { return l.Source != "" && slices.Contains(x.IDs, l.Source) })
		if len(w.Links) == 0 {
			w.Links = nil
		}
	}
	return nil
}

// inherited passes what an agent that has ended owned to whoever was above it.
func (f *folding) inherit(a *Agent) {
	heir := a.Parent
	var left []*Workspace
	for _, w := range f.Workspaces {
		if w.Owner == a.ID {
			left = append(left, w)
		}
	}
	slices.SortFunc(left, func(x, y *Workspace) int { return strings.Compare(x.ID, y.ID) })
	for _, w := range left {
		name := w.Name
		if f.ownWorkspace(heir, name) != nil {
			name = clip63(a.Name + "." + w.Name)
		}
		for f.ownWorkspace(heir, name) != nil {
			name = clip63("x" + name)
		}
		w.Owner, w.Name = heir, name
	}
}

// clip63 keeps a name within what a name may have.
func clip63(name string) string { return strings.TrimRight(name[:min(len(name), 63)], ".-_") }
