package team

import (
	"cmp"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
)

// Rights never widen down the tree: what an agent spawns, makes or shows may do no more than the agent itself. What is
// asked for beyond that by name is refused; what is left open becomes the narrower.

// writesIn reports whether an agent may change files of a workspace below a subdirectory: of its own and its children's, and
// of the one it lives in, below where it lives. may says that the workspace is its own or a child's.
func (d *decision) writesIn(a *Agent, w *Workspace, subdir string, may bool) bool {
	if w.ReadOnly {
		return false
	}
	if may {
		return true
	}
	inside := func(dir, of string) bool {
		rel, err := filepath.Rel("/"+of, "/"+dir)
		return err == nil && filepath.IsLocal(rel)
	}
	return a.Workspace == w.ID && a.Role != substrat.Reviewer && inside(subdir, a.Subdir)
}

// narrowRole keeps what a reader spawns a reader, unless it lives where the spawner may write.
func (d *decision) narrowRole(c Create, a *Agent) error {
	p := d.Agents[d.Actor.Agent]
	if p == nil {
		return nil
	}
	writes := p.Role != substrat.Reviewer
	if c.Workspace != "" {
		w, may, err := d.workspaceOf(c.Workspace)
		if err != nil {
			return err
		}
		if w.Network && !d.reachesNetwork(p) {
			return substrat.Errorf(substrat.CodeForbidden, "cannot create %q in %s: it has the network, which you do not have", c.Name, c.Workspace).
				WithHint("ask the user to create it")
		}
		writes = w.ReadOnly || d.writesIn(p, w, c.Subdir, may)
	}
	switch {
	case writes || a.Role == substrat.Reviewer:
		return nil
	case a.Role == "" && c.Workspace == "":
		a.Role = substrat.Reviewer
		return nil
	default:
		return substrat.Errorf(substrat.CodeForbidden, "cannot create %q as a %s: you may only read where it would live", c.Name, cmp.Or(a.Role, substrat.Worker)).
			WithHint("make it a reviewer, or give it a workspace of yours")
	}
}

// narrowWorkspace makes a view of what its maker may only read one that may only be read, and refuses a worktree to who may
// not write in the repository.
func (d *decision) narrowWorkspace(c CreateWorkspace, w *Workspace, of *Workspace, may bool) error {
	a := d.Agents[d.Actor.Agent]
	if a == nil {
		return nil
	}
	if of != nil {
		w.ReadOnly = w.ReadOnly || !d.writesIn(a, of, c.Subdir, may)
	}
	if w.Tree != nil && d.Living(a.ID).ReadOnly {
		return substrat.Errorf(substrat.CodeForbidden, "cannot make the worktree %.80q: you may only read the repository", c.Name)
	}
	return nil
}

// configuration reports whether a path leads through a name that programs take for configuration or keep their own in. Agents
// put nothing there for others.
func configuration(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if strings.HasPrefix(part, ".") && part != "." {
			return true
		}
	}
	return false
}
