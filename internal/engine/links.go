package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/sandbox"
)

// linked are the binds of what is shown in a workspace: its links, and for a git worktree the repository it belongs to.
func (r *runner) linked(a *attempt) []sandbox.Bind {
	var out []sandbox.Bind
	for _, m := range a.links {
		out = append(out, sandbox.Bind{Host: m.Base, At: filepath.Join(a.agent.Dir, m.At), Write: !m.ReadOnly && !a.living.ReadOnly})
	}
	if t := a.living.Tree; t != nil {
		out = append(out, gitBinds(t.Repo, !a.living.ReadOnly)...)
	}
	return out
}

// gitBinds show the repository of a worktree at its own place, so that git works in the worktree. What git would run on
// the host later, its configuration and its hooks, stays read-only.
func gitBinds(repo string, write bool) []sandbox.Bind {
	git := filepath.Join(repo, ".git")
	if st, err := os.Stat(git); err != nil || !st.IsDir() {
		git = repo // a bare repository
	}
	binds := []sandbox.Bind{{Host: git, At: git, Write: write}}
	for _, name := range []string{"config", "config.worktree", "hooks", "info"} {
		p := filepath.Join(git, name)
		binds = append(binds, sandbox.Bind{Host: p, At: p, Optional: true})
	}
	return binds
}

// holdLinks makes a place for each link for as long as the turn uses it.
func (r *runner) holdLinks(a *attempt) error {
	for _, m := range a.links {
		at := a.agent.Dir
		for part := range strings.SplitSeq(filepath.ToSlash(m.At), "/") {
			at = filepath.Join(at, part)
			if err := r.e.holdDir(at, r.holdsFrom(a)); err != nil {
				return err
			}
		}
	}
	return nil
}

// kept are variables that a captured environment does not change: they are how a turn finds its own things.
var kept = []string{"HOME", "TMPDIR", "USER", "LOGNAME", "GORACE"}

// captured is what an environment changes, and where it stands.
func captured(workspace string, env *substrat.WorkspaceEnv) (set map[string]string, unset []string, dir string) {
	if env == nil {
		return nil, nil, ""
	}
	set = map[string]string{}
	for k, v := range env.Set {
		if !slices.Contains(kept, k) && !strings.HasPrefix(k, "SUBSTRAT_") {
			set[k] = v
		}
	}
	for _, k := range env.Unset {
		if !slices.Contains(kept, k) && !strings.HasPrefix(k, "SUBSTRAT_") {
			unset = append(unset, k)
		}
	}
	// The directory may have gone since; a link in its place is not followed out of the workspace.
	root, err := os.OpenRoot(workspace)
	if err != nil || env.Dir == "" {
		return set, unset, ""
	}
	defer root.Close()
	if st, err := root.Stat(env.Dir); err == nil && st.IsDir() {
		dir = filepath.Join(workspace, env.Dir)
	}
	return set, unset, dir
}
