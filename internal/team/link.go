package team

import (
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// LinkDir shows a directory in a workspace, from the agent's next turn on. A link that was at the same place is replaced.
type LinkDir struct {
	// Workspace is where it appears, At the path in it; empty for the workspace the caller lives in.
	Workspace string
	At        string
	// Source is the workspace that Dir is in; empty for where the caller lives.
	Source   string
	Dir      string
	ReadOnly bool
	// Host is a directory on the host that a person links instead.
	Host string
}

// UnlinkDir takes a link away.
type UnlinkDir struct {
	Workspace string
	At        string
}

const linksMost = 64

func (c LinkDir) decide(d *decision) (any, error) {
	to, err := d.linkTarget(c.Workspace)
	if err != nil {
		return nil, err
	}
	for _, p := range []string{c.At, c.Dir} {
		if err := checkInside(p); err != nil {
			return nil, err
		}
	}
	at := filepath.Clean(c.At)
	if c.At == "" || at == "." {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot link over the whole workspace").WithHint("name a directory in it")
	}
	if first, _, _ := strings.Cut(at, "/"); strings.EqualFold(first, ".cursor") || strings.EqualFold(first, ".git") || d.Actor.Agent != "" && configuration(at) {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot link over %s: it is configuration", at)
	}
	link := Link{At: at, Dir: filepath.Clean("./" + c.Dir), ReadOnly: c.ReadOnly}
	if err := d.linkSource(c, &link); err != nil {
		return nil, err
	}
	if link.Source == to.ID {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot link a workspace into itself")
	}
	for _, l := range to.Links {
		if l.At != at && (strings.HasPrefix(l.At, at+"/") || strings.HasPrefix(at, l.At+"/")) {
			return nil, substrat.Errorf(substrat.CodeConflict, "cannot link at %s: there is a link at %s", at, l.At)
		}
	}
	if len(to.Links) >= linksMost {
		return nil, substrat.Errorf(substrat.CodeLimit, "cannot link: the workspace has %d links, which is the limit", linksMost)
	}
	d.add(&DirLinked{Workspace: to.ID, Link: link})
	return Status{"linked"}, nil
}

// linkTarget finds the workspace that a link is to appear in, which the caller must be able to change.
func (d *decision) linkTarget(ref string) (*Workspace, error) {
	if ref == "" {
		a, err := d.caller()
		if err != nil {
			return nil, err
		}
		if w := d.Workspaces[a.Workspace]; w != nil && w.Owner == a.ID {
			return w, nil
		}
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot link: the workspace you live in is not yours to change").
			WithHint("ask your parent to link it, or name a workspace of yours")
	}
	w, may, err := d.workspaceOf(ref)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot change workspace %s: it is your parent's", ref)
	}
	return w, nil
}

// linkSource says where what is linked comes from. What may only be read stays so.
func (d *decision) linkSource(c LinkDir, l *Link) error {
	if c.Host != "" {
		if d.Actor.Agent != "" || !filepath.IsAbs(c.Host) {
			return substrat.Errorf(substrat.CodeForbidden, "cannot link %.80q: only the user links directories of the host", c.Host)
		}
		l.Host = c.Host
		return nil
	}
	if c.Source == "" {
		a, err := d.caller()
		if err != nil {
			return err
		}
		l.ReadOnly = l.ReadOnly || a.Role == substrat.Reviewer
		if a.Workspace == "" {
			l.Host = a.Dir
		} else {
			l.Source = a.Workspace
			l.ReadOnly = l.ReadOnly || d.Workspaces[a.Workspace].ReadOnly
		}
		return nil
	}
	w, may, err := d.workspaceOf(c.Source)
	if err != nil {
		return err
	}
	l.Source, l.ReadOnly = w.ID, l.ReadOnly || !may || w.ReadOnly
	return nil
}

func (c UnlinkDir) decide(d *decision) (any, error) {
	w, err := d.linkTarget(c.Workspace)
	if err != nil {
		return nil, err
	}
	at := filepath.Clean("./" + c.At)
	if !slices.ContainsFunc(w.Links, func(l Link) bool { return l.At == at }) {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot unlink %.80q: there is no link", c.At)
	}
	d.add(&DirUnlinked{Workspace: w.ID, At: at})
	return Status{"unlinked"}, nil
}

// SetEnv sets the environment that turns in a workspace begin with.
type SetEnv struct {
	Workspace string
	Env       *substrat.WorkspaceEnv
}

func (c SetEnv) decide(d *decision) (any, error) {
	w, err := d.linkTarget(c.Workspace)
	if err != nil {
		return nil, err
	}
	if c.Env != nil {
		if err := checkInside(c.Env.Dir); err != nil {
			return nil, err
		}
	}
	d.add(&WorkspaceEnvSet{Workspace: w.ID, Env: c.Env})
	return Status{"set"}, nil
}

// DirLinked means: a workspace shows a directory from elsewhere.
type DirLinked struct {
	Workspace string `json:"workspace"`
	Link      Link   `json:"link"`
}

// DirUnlinked means: it does not any more.
type DirUnlinked struct {
	Workspace string `json:"workspace"`
	At        string `json:"at"`
}

// WorkspaceEnvSet means: turns in a workspace begin with this environment, or with none of its own.
type WorkspaceEnvSet struct {
	Workspace string                 `json:"workspace"`
	Env       *substrat.WorkspaceEnv `json:"env"`
}

// Type implements Fact.
func (*DirLinked) Type() string { return "workspace.linked" }

// Type implements Fact.
func (*DirUnlinked) Type() string { return "workspace.unlinked" }

// Type implements Fact.
func (*WorkspaceEnvSet) Type() string { return "workspace.env_set" }

func (f *folding) workspace(id string) (*Workspace, error) {
	if w := f.Workspaces[id]; w != nil {
		return w, nil
	}
	return nil, substrat.Errorf(substrat.CodeNotFound, "no workspace %s", id)
}

func (x *DirLinked) fold(f *folding) error {
	w, err := f.workspace(x.Workspace)
	if err != nil {
		return err
	}
	if x.Link.Source != "" && f.Workspaces[x.Link.Source] == nil {
		return substrat.Errorf(substrat.CodeNotFound, "no workspace %s to link from", x.Link.Source)
	}
	w.Links = append(slices.DeleteFunc(slices.Clone(w.Links), func(l Link) bool { return l.At == x.Link.At }), x.Link)
	return nil
}

func (x *DirUnlinked) fold(f *folding) error {
	w, err := f.workspace(x.Workspace)
	if err != nil {
		return err
	}
	w.Links = slices.DeleteFunc(slices.Clone(w.Links), func(l Link) bool { return l.At == x.At })
	if len(w.Links) == 0 {
		w.Links = nil
	}
	return nil
}

func (x *WorkspaceEnvSet) fold(f *folding) error {
	w, err := f.workspace(x.Workspace)
	if err != nil {
		return err
	}
	w.Env = x.Env
	return nil
}
