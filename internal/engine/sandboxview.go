package engine

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/confine"
	"substrat.dev/substrat/internal/door"
	"substrat.dev/substrat/internal/sandbox"
)

// Sandbox tells what the sandbox of an agent's next turn would be. Nothing is made, and no key is fetched.
func (e *Engine) Sandbox(ctx context.Context, ref string) (v substrat.SandboxView, err error) {
	r, a, _, err := e.aside(ctx, ref, "", "")
	if err != nil {
		return v, err
	}
	r.aside = filepath.Join(e.turnDir("TURN"), "sock")
	for _, m := range a.living.Links {
		m.Base = filepath.Join(m.Base, m.Dir)
		a.links = append(a.links, m)
	}
	cmd, err := r.asideCommand(a, false)
	if err != nil {
		return v, err
	}
	v = substrat.SandboxView{
		Agent: a.path, Dir: a.agent.Dir, Network: a.living.Network, Seccomp: confine.SeccompAvailable(), Landlock: confine.LandlockABI(),
		Nested: a.walls.Nested || cmd.Nested, Debug: a.walls.Debug, Profiles: append([]string{}, a.walls.Profiles...), Mounts: []substrat.SandboxMount{},
	}
	there := exists(a.agent.Dir)
	if !there {
		v.Notes = append(v.Notes, "the workspace is made when the first turn starts; what is kept from being written in it is known then")
	} else if a.git, err = gitBinds(a.living); err != nil {
		return v, err
	}
	p := r.profile(a, cmd, r.shownConfig(a, cmd.Files))
	if there && !a.walls.FlagOnly {
		if err := e.guard(&p, a.living, a.links, ""); err != nil {
			return v, err
		}
	}
	if a.walls.FlagOnly {
		v.Notes = append(v.Notes, `files that programs obey are not protected, only told of (config = "flag")`)
	}
	if a.walls.KeyOutside {
		v.Notes = append(v.Notes, "the provider's key stays outside: the egress door adds it to requests, and what is set inside stands for it")
	}
	viewMounts(&v, p)
	sources, _ := e.cfg.Rules.Surroundings(a.agent.Provider)
	v.Keys = slices.Sorted(maps.Keys(sources))
	env := r.environment(a, cmd.Env)
	v.Variables = variableNames(env, p, v.Keys)
	if d := r.door(a, cmd, env); d != nil {
		v.Hosts, v.DeniedHosts, v.Unlisted = sortedUnique(d.Allow), sortedUnique(d.Deny), cmp.Or(d.Default, door.DefaultDeny)
	}
	w := a.walls.Turn
	v.Bounds = substrat.SandboxBounds{
		Memory: w.Memory, Processes: w.Processes, CPUPercent: w.CPUPercent, OpenFiles: w.OpenFiles, Workspace: w.Workspace, Home: w.Home, Tmp: w.Tmp,
		KeptBy: e.cfg.Resources.Mode, Detail: e.cfg.Resources.Detail,
	}
	return v, nil
}

// shownConfig are the configuration directories as a turn would have them.
func (r *runner) shownConfig(a *attempt, files []agentcli.File) []sandbox.Bind {
	var out []sandbox.Bind
	for _, f := range files {
		top, _, _ := strings.Cut(f.Path, "/")
		at := filepath.Join(a.agent.Dir, top)
		if f.Root == agentcli.InWorkspaceConfig && !slices.ContainsFunc(out, func(b sandbox.Bind) bool { return b.At == at }) {
			out = append(out, sandbox.Bind{Host: filepath.Join(r.e.cfg.Home, "agents", a.agent.ID, "config", top), At: at})
		}
	}
	return out
}

func viewMounts(v *substrat.SandboxView, p sandbox.Profile) {
	v.Workspace = substrat.SandboxMount{At: p.Workspace, Host: p.Workspace, Write: !p.WorkspaceReadOnly}
	v.Home = substrat.SandboxMount{At: p.Home.At, Host: p.Home.Host, Write: p.Home.Write}
	if p.Dir != "" {
		v.Dir = p.Dir
	}
	for _, b := range slices.Concat(p.WorkspaceConfig, p.Binds) {
		if _, err := os.Stat(b.Host); b.Optional && err != nil {
			continue
		}
		v.Mounts = append(v.Mounts, substrat.SandboxMount{At: cmp.Or(b.At, b.Host), Host: b.Host, Write: b.Write})
	}
	slices.SortStableFunc(v.Mounts, func(a, b substrat.SandboxMount) int { return strings.Compare(a.At, b.At) })
}

// variableNames are the names alone: what stands behind them may be secret.
func variableNames(env []string, p sandbox.Profile, keys []string) []string {
	names := append(slices.Collect(maps.Keys(p.Set)), keys...)
	for _, x := range env {
		name, _, _ := strings.Cut(x, "=")
		names = append(names, name)
	}
	return slices.DeleteFunc(sortedUnique(names), func(n string) bool { return slices.Contains(p.Unset, n) })
}

func sortedUnique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
