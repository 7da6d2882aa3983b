package engine

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/straight"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/tool"
	"substrat.dev/substrat/internal/workspace"
)

// workspaceDir is where a workspace that the daemon makes is.
func (e *Engine) workspaceDir(id string) string { return filepath.Join(e.placesDir(), id) }

// placesDir holds all of them, and nothing else.
func (e *Engine) placesDir() string { return filepath.Join(e.cfg.Home, "workspaces") }

// PlaceWorkspace implements tool.Host. The directory is made before the first turn in it, not here.
func (e *Engine) PlaceWorkspace(ctx context.Context, c tool.Caller, worktree bool, cmd *team.CreateWorkspace) error {
	cmd.Dir, cmd.Made = e.workspaceDir(cmd.ID), true
	if !worktree {
		return nil
	}
	l, path, err := e.livingOf(ctx, c.Team, c.Agent)
	if err != nil {
		return err
	}
	at, err := l.settle(ctx)
	if err != nil {
		return err
	}
	if cmd.Tree, err = worktreeOf(at, "", path+"/"+cmd.Name); err != nil {
		return err
	}
	cmd.Tree.Base, err = workspace.Base(ctx, at)
	return err
}

// houseNew gives an agent that a person creates the workspace they named, or a worktree of its own.
func (e *Engine) houseNew(ctx context.Context, n substrat.NewAgent, teamID string, c *team.Create) (err error) {
	if n.Workspace != "" && n.Worktree {
		return substrat.Errorf(substrat.CodeInvalid, "cannot create %q: it lives in a workspace or has a worktree of its own, not both", n.Name)
	}
	if n.Workspace != "" {
		if c.Parent == "" {
			return substrat.Errorf(substrat.CodeInvalid, "cannot create %q in a workspace: workspaces belong to teams, and it is the first of its own", n.Name).
				WithHint("--dir names its directory; --worktree gives it a git worktree")
		}
		c.Workspace, err = e.workspaceID(ctx, teamID, c.Parent, n.Workspace)
		return err
	}
	if !n.Worktree {
		if n.Branch != "" {
			return substrat.Errorf(substrat.CodeInvalid, "cannot create %q on a branch: only a worktree has one", n.Name).WithHint("--worktree")
		}
		return nil
	}
	dir, path := n.Dir, n.Name
	if c.Parent != "" {
		l, parent, err := e.livingOf(ctx, teamID, c.Parent)
		if err != nil {
			return err
		}
		if path = parent + "/" + n.Name; dir == "" {
			if dir, err = l.settle(ctx); err != nil {
				return err
			}
		}
	}
	if dir == "" {
		return substrat.Errorf(substrat.CodeInvalid, "cannot create %q with a worktree: of which repository?", n.Name).WithHint("--dir names a directory in it")
	}
	tree, err := worktreeOf(dir, n.Branch, path)
	if err != nil {
		return err
	}
	if tree.Base, err = workspace.Base(ctx, dir); err != nil {
		return err
	}
	id := e.NewID()
	c.Own = &team.CreateWorkspace{ID: id, Name: treeName(path), Dir: e.workspaceDir(id), Made: true, Tree: tree}
	return nil
}

// home is where an agent lives.
type home struct{ team.Living }

// settle makes the directory if it is not there, because an agent that had no turn yet may be asked for its repository.
func (h home) settle(ctx context.Context) (dir string, err error) {
	return settlePlace(ctx, h.Base, h.Subdir, h.Made, h.Tree)
}

// livingOf tells where an agent lives, and the agent's path.
func (e *Engine) livingOf(ctx context.Context, teamID, agent string) (h home, path string, err error) {
	err = e.Look(ctx, teamID, func(s *team.State) error {
		if s.Agents[agent] == nil {
			return substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
		}
		h, path = home{s.Living(agent)}, s.Path(agent)
		return nil
	})
	return h, path, err
}

// treeName is what the worktree of an agent is called among the user's workspaces.
func treeName(path string) string {
	name := strings.ReplaceAll(path, "/", ".")
	return strings.Trim(name[max(0, len(name)-63):], ".-_")
}

// workspaceID finds the workspace that a person means: by its id, or as an agent would write it after that agent's path.
// A bare reference is the parent's own.
func (e *Engine) workspaceID(ctx context.Context, teamID, parent, ref string) (id string, err error) {
	err = e.Look(ctx, teamID, func(s *team.State) error {
		id, err = s.FindWorkspace(parent, ref)
		return err
	})
	return id, err
}

// worktreeOf plans a worktree of the repository that a directory is in.
func worktreeOf(dir, branch, path string) (*team.Tree, error) {
	// The first work tree, because others, an agent's for one, may go before this one does.
	repo, ok := workspace.Main(dir)
	if !ok {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make a git worktree: %s is in no git repository", dir).
			WithHint("git init and a first commit make one")
	}
	if branch == "" {
		// Flat, because git has no branch below the name of another.
		branch = "substrat/" + strings.Trim(branchForm.ReplaceAllString(path, "-"), "-.")
	}
	return &team.Tree{Repo: repo, Branch: branch}, nil
}

// branchForm is what a branch's name does not get from an agent's path.
var branchForm = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// settleIn makes the place where a turn happens, and what is linked into it, and tells where that is on the host.
func settleIn(ctx context.Context, l team.Living) (dir string, links []team.Mount, err error) {
	if dir, err = settlePlace(ctx, l.Base, l.Subdir, l.Made, l.Tree); err != nil {
		return "", nil, err
	}
	for _, m := range l.Links {
		source, err := settlePlace(ctx, m.Base, m.Dir, m.Made, m.Tree)
		if err != nil {
			return "", nil, err
		}
		m.Base, m.Dir = source, ""
		links = append(links, m)
	}
	return dir, links, nil
}

// settlePlace makes one directory: base, and sub below it. A symbolic link on the way from base to sub must not lead out
// of base.
func settlePlace(ctx context.Context, base, sub string, made bool, tree *team.Tree) (string, error) {
	p := workspace.Place{Dir: base}
	if tree != nil {
		p.Tree = &workspace.Tree{Repo: tree.Repo, Branch: tree.Branch, Base: tree.Base}
	}
	if made {
		if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
			return "", wrapIO("make the directory of workspaces", err)
		}
		if err := workspace.Ensure(ctx, p); err != nil {
			return "", err
		}
	} else if err := ensureDir(base); err != nil {
		return "", err
	}
	root, err := straight.Root(base)
	if err != nil {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot use the workspace %s: %v", base, err).
			WithHint("a link that was put in its place is not followed; where it is yours, name the directory itself")
	}
	defer root.Close()
	if sub == "" || sub == "." {
		return base, nil
	}
	// A root follows links that stay inside it and no others.
	if err := root.MkdirAll(sub, 0o755); err != nil {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot use %s of the workspace %s: %v", sub, base, err).
			WithHint("a symbolic link must not lead out of the workspace")
	}
	st, err := root.Stat(sub)
	if err != nil || !st.IsDir() {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot use %s of the workspace %s: not a directory inside it", sub, base).
			WithHint("a symbolic link must not lead out of the workspace")
	}
	real, err := filepath.EvalSymlinks(filepath.Join(base, sub))
	if err != nil {
		return "", wrapIO("find the workspace", err)
	}
	// It is looked at by name once more, and may be another by now.
	if real != base && !strings.HasPrefix(real, base+"/") {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot use %s of the workspace %s: a symbolic link leads out of it", sub, base)
	}
	return real, nil
}
