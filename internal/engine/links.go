package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/straight"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/workspace"
)

// linked are the binds of what is shown in a workspace: its links, and for a git worktree the repository it belongs to.
func (r *runner) linked(a *attempt) []sandbox.Bind {
	return append(linkBinds(a.agent.Dir, a.links, a.living.ReadOnly), a.git...)
}

func linkBinds(dir string, links []team.Mount, readOnly bool) []sandbox.Bind {
	var out []sandbox.Bind
	for _, m := range links {
		out = append(out, sandbox.Bind{Host: m.Base, At: filepath.Join(dir, m.At), Write: !m.ReadOnly && !readOnly})
	}
	return out
}

// gitBinds show the repository of a worktree at its own place, so that git works in the worktree. What git would run on
// the host later, its configuration and its hooks, stays read-only.
func gitBinds(l team.Living) ([]sandbox.Bind, error) {
	if l.Tree == nil {
		return nil, nil
	}
	s, err := workspace.Show(treePlace(l))
	if err != nil {
		return nil, err
	}
	binds := []sandbox.Bind{{Host: s.Git, At: s.Git, Write: !l.ReadOnly}}
	if !l.ReadOnly {
		binds = append(binds, sandbox.Bind{Host: s.Own, At: s.Own, Write: true})
	}
	for _, p := range s.Guarded {
		binds = append(binds, sandbox.Bind{Host: p, At: p})
	}
	return binds, nil
}

// treePlace is the worktree that an agent lives in.
func treePlace(l team.Living) workspace.Place {
	return workspace.Place{Dir: l.Base, Tree: &workspace.Tree{Repo: l.Tree.Repo, Branch: l.Tree.Branch, Base: l.Tree.Base}}
}

// heal looks, after a turn in a worktree, whether the agent led the repository's git astray, and says so.
func (r *runner) heal(ctx context.Context, a *attempt) {
	if a == nil || a.living.Tree == nil {
		return
	}
	healed, err := workspace.Heal(a.living.Tree.Repo)
	if err == nil && !healed {
		return
	}
	text := fmt.Sprintf("%s tried to lead git in the repository %s to a configuration of its own: .git/commondir was there, and is removed", a.path, a.living.Tree.Repo)
	if err != nil {
		text = fmt.Sprintf("%s tried to lead git in the repository %s to a configuration of its own: %v", a.path, a.living.Tree.Repo, err)
	}
	r.e.cfg.Log.Error(text)
	if _, err := r.e.Do(ctx, r.team, team.Meta{}, team.Warn{ID: r.e.NewID(), Agent: r.agent, Text: text}); err != nil && ctx.Err() == nil {
		r.e.cfg.Log.Warn("cannot warn of it", "agent", a.path, "error", err)
	}
}

// holdLinks makes a place for each link for as long as the turn uses it.
func (r *runner) holdLinks(a *attempt) error {
	return r.e.holdPlaces(a.agent.Dir, a.links, r.holdsFrom(a))
}

// holdPlaces makes a place for each link below dir, until what holder is the directory of is released.
func (e *Engine) holdPlaces(dir string, links []team.Mount, holder string) error {
	for _, m := range links {
		at := ""
		for part := range strings.SplitSeq(filepath.ToSlash(m.At), "/") {
			at = filepath.Join(at, part)
			if err := e.holdDir(spot{dir, at}, holder); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept are variables that a captured environment does not change: they are how a turn finds its own things.
var kept = []string{"HOME", "TMPDIR", "USER", "LOGNAME", "GORACE"}

// captured is what an environment changes, and where it stands.
func captured(workspace, bin string, env *substrat.WorkspaceEnv) (set map[string]string, unset []string, dir string) {
	if env == nil {
		return nil, nil, ""
	}
	set = map[string]string{}
	for k, v := range env.Set {
		if !slices.Contains(kept, k) && !strings.HasPrefix(k, "SUBSTRAT_") {
			set[k] = v
		}
	}
	if path, ok := set["PATH"]; ok {
		set["PATH"] = withBin(bin, path)
	}
	for _, k := range env.Unset {
		if k != "PATH" && !slices.Contains(kept, k) && !strings.HasPrefix(k, "SUBSTRAT_") {
			unset = append(unset, k)
		}
	}
	// The directory may have gone since; a link in its place is not followed out of the workspace.
	root, err := straight.Root(workspace)
	if err != nil || env.Dir == "" {
		return set, unset, ""
	}
	defer root.Close()
	if st, err := root.Stat(env.Dir); err == nil && st.IsDir() {
		dir = filepath.Join(workspace, env.Dir)
	}
	return set, unset, dir
}

// withBin puts the directory of our own programs where a captured search path has it, or first if a script dropped it: a
// turn does not begin without them. Scripts see the sandbox's, agents without a sandbox have theirs elsewhere.
func withBin(bin, path string) string {
	dirs := strings.Split(path, ":")
	i := slices.Index(dirs, insideBin)
	if i < 0 {
		return bin + ":" + path
	}
	dirs[i] = bin
	return strings.Join(dirs, ":")
}
