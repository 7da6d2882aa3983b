package team

import (
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// Living is where an agent's next turn takes place: what the state says, before anybody looked at the disk.
type Living struct {
	// Base is a host directory; Subdir the part of it that is the workspace. A symbolic link in Subdir must not lead out.
	Base   string
	Subdir string
	// Made says that Base is to be made if it is not there; Tree that it is a worktree.
	Made     bool
	Tree     *Tree
	ReadOnly bool
	Network  substrat.Network
	Links    []Mount
	Env      *substrat.WorkspaceEnv
}

// Mount is one link: Dir below Base is shown at At below the workspace.
type Mount struct {
	At, Base, Dir string
	Made          bool
	Tree          *Tree
	ReadOnly      bool
}

// Dir is the workspace's directory on the host, symbolic links not looked at.
func (l Living) Dir() string { return filepath.Join(l.Base, l.Subdir) }

// Living tells where an agent lives.
func (s *State) Living(agent string) Living {
	a := s.Agents[agent]
	if s.Workspaces[a.Workspace] == nil {
		return Living{Base: a.Dir, ReadOnly: a.Role == substrat.Reviewer, Network: a.Network}
	}
	l := s.LivingIn(a.Workspace)
	l.Subdir = filepath.Join(l.Subdir, a.Subdir)
	l.ReadOnly = l.ReadOnly || a.Role == substrat.Reviewer
	if a.Network.Reaches() > l.Network.Reaches() {
		l.Network = a.Network
	}
	return l
}

// LivingIn tells how it is to live in a workspace.
func (s *State) LivingIn(workspace string) Living {
	w := s.Workspaces[workspace]
	root, subdir, readOnly := s.rootOf(w)
	l := Living{Base: root.Dir, Subdir: subdir, Made: root.Made, Tree: root.Tree, ReadOnly: readOnly, Network: substrat.NetworkNone, Env: w.Env}
	if w.Network {
		l.Network = substrat.NetworkDoor
	}
	for _, x := range w.Links {
		m := Mount{At: x.At, Base: x.Host, Dir: x.Dir, ReadOnly: x.ReadOnly}
		if src := s.Workspaces[x.Source]; src != nil {
			root, sub, ro := s.rootOf(src)
			m.Base, m.Dir, m.Made, m.Tree, m.ReadOnly = root.Dir, filepath.Join(sub, x.Dir), root.Made, root.Tree, x.ReadOnly || ro
		}
		l.Links = append(l.Links, m)
	}
	return l
}

// rootOf follows views to the workspace that has a directory.
func (s *State) rootOf(w *Workspace) (root *Workspace, subdir string, readOnly bool) {
	readOnly = w.ReadOnly
	for w.ViewOf != "" {
		subdir = filepath.Join(w.Subdir, subdir)
		w = s.Workspaces[w.ViewOf]
		readOnly = readOnly || w.ReadOnly
	}
	return w, subdir, readOnly
}

// WorkspaceViews lists the workspaces of a team as listings show them, in order of creation.
func (s *State) WorkspaceViews() []substrat.Workspace {
	var out []substrat.Workspace
	for _, w := range s.Workspaces {
		out = append(out, s.workspaceView(w))
	}
	slices.SortFunc(out, func(a, b substrat.Workspace) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (s *State) workspaceView(w *Workspace) substrat.Workspace {
	root, subdir, readOnly := s.rootOf(w)
	v := substrat.Workspace{
		ID: w.ID, Name: w.Name, Team: s.Team, Owner: substrat.User, Dir: filepath.Join(root.Dir, subdir), ReadOnly: readOnly, Network: w.Network,
		Subdir: w.Subdir, Env: w.Env, CreatedAt: w.CreatedAt,
	}
	v.Ref = s.Path(s.Team) + "/../" + w.Name
	if w.Owner != "" {
		v.Owner = s.Path(w.Owner)
		v.Ref = v.Owner + "/" + w.Name
	}
	if of := s.Workspaces[w.ViewOf]; of != nil {
		v.ViewOf = of.Name
	}
	if root.Tree != nil {
		v.Repo, v.Branch, v.Base = root.Tree.Repo, root.Tree.Branch, root.Tree.Base
	}
	for _, l := range w.Links {
		from := l.Host
		if src := s.Workspaces[l.Source]; src != nil {
			from = src.Name
		}
		v.Links = append(v.Links, substrat.WorkspaceLink{At: l.At, From: from, Dir: l.Dir, ReadOnly: l.ReadOnly})
	}
	for _, id := range s.Walk() {
		if a := s.Agents[id]; a.Workspace == w.ID {
			v.Residents = append(v.Residents, s.Path(id))
		}
	}
	return v
}

// Reference is a workspace as an agent sees it.
type Reference struct {
	Ref      string   `json:"ref"`
	Mode     string   `json:"mode"` // "rw" or "ro"
	Writable bool     `json:"changeable"`
	Network  bool     `json:"network"`
	ViewOf   string   `json:"view_of,omitempty"`
	Branch   string   `json:"branch,omitempty"`
	Links    []string `json:"links,omitempty"`
	Lives    []string `json:"agents,omitempty"`
	Yours    bool     `json:"you_live_here,omitempty"`
}

// VisibleWorkspaces lists what an agent can name: its own, its children's, its parent's.
func (s *State) VisibleWorkspaces(agent string) []Reference {
	a := s.Agents[agent]
	out := []Reference{}
	if a == nil {
		return out
	}
	for _, v := range s.WorkspaceViews() {
		w := s.Workspaces[v.ID]
		r := Reference{Ref: w.Name, Mode: "rw", Writable: true, Network: w.Network, ViewOf: v.ViewOf, Branch: v.Branch, Yours: a.Workspace == w.ID}
		switch {
		case w.Owner == agent:
		case w.Owner == a.Parent:
			r.Ref, r.Writable = "../"+w.Name, false
		case s.Agents[w.Owner] != nil && s.Agents[w.Owner].Parent == agent:
			r.Ref = s.Agents[w.Owner].Name + "/" + w.Name
		default:
			continue
		}
		if v.ReadOnly {
			r.Mode = "ro"
		}
		for _, l := range v.Links {
			r.Links = append(r.Links, l.At+" <- "+l.From+":"+l.Dir)
		}
		for _, path := range v.Residents {
			r.Lives = append(r.Lives, lastName(path))
		}
		out = append(out, r)
	}
	return out
}

// FindWorkspace finds a workspace by its id, as an agent would write it (for the agent with the given id), or so written
// after an agent's path: lead/coder/src, lead/../src.
func (s *State) FindWorkspace(agent, ref string) (string, error) {
	if s.Workspaces[ref] != nil {
		return ref, nil
	}
	if a := s.Agents[agent]; a != nil {
		if w, _, err := s.resolveWorkspace(a, ref); err == nil {
			return w.ID, nil
		}
	}
	// The longest path of an agent that the reference begins with leaves NAME, CHILD/NAME or ../NAME.
	for i := strings.LastIndexByte(ref, '/'); i > 0; i = strings.LastIndexByte(ref[:i], '/') {
		if a := s.ByPath(ref[:i]); a != nil {
			if w, _, err := s.resolveWorkspace(a, ref[i+1:]); err == nil {
				return w.ID, nil
			}
		}
	}
	return "", substrat.Errorf(substrat.CodeNotFound, "no workspace %.80q", ref).WithHint("substrat workspace ls shows what there is")
}
