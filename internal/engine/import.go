package engine

import (
	"context"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/team"
)

// A person may give an agent a conversation that the CLI keeps elsewhere. That is noted when the agent is created, with the
// file; its copy is placed in the agent's home before the first turn, when it is known where the agent works.

// adopt checks that a new agent's conversation is there, and completes what was given of it.
func (e *Engine) adopt(ctx context.Context, n substrat.NewAgent, c *team.Create) error {
	if n.Session == "" {
		if n.SessionPath != "" {
			return substrat.Errorf(substrat.CodeInvalid, "cannot create %q from %s: its session is not named", n.Name, n.SessionPath)
		}
		return nil
	}
	name := c.Provider
	if name == "" {
		parent, err := e.Agent(ctx, c.Parent)
		if err != nil {
			return err
		}
		name = parent.Provider
	}
	p := e.providers[name]
	history, reads := p.(agentcli.Historian)
	if _, takes := p.(agentcli.Importer); !takes || !reads {
		return substrat.Errorf(substrat.CodeUnsupported, "cannot create %q with a session: provider %s cannot take one over", n.Name, name)
	}
	if n.SessionPath != "" && !filepath.IsAbs(n.SessionPath) {
		return substrat.Errorf(substrat.CodeInvalid, "cannot create %q from %q: not an absolute path", n.Name, n.SessionPath)
	}
	ref := n.Session
	if n.SessionPath != "" {
		ref = n.SessionPath
	}
	s, err := history.Load(ctx, agentcli.HistoryOptions{}, ref, func(agentcli.Message) error { return nil })
	// What we cannot read, because it is encrypted, the CLI can.
	if err != nil && !(s.ID != "" && substrat.CodeOf(err) == substrat.CodeUnsupported) {
		return err
	}
	if n.SessionPath != "" && s.ID != n.Session {
		return substrat.Errorf(substrat.CodeInvalid, "cannot create %q: %s holds session %s, not %.80q", n.Name, s.Path, s.ID, n.Session)
	}
	c.Session, c.SessionPath = s.ID, s.Path
	return nil
}

// importedMark, beside an agent's home, says that its conversation was placed there.
const importedMark = "imported"

// bring places the conversation that the agent was created with in its home, once.
func (r *runner) bring(ctx context.Context, a *attempt) error {
	from := a.agent.SessionPath
	mark := filepath.Join(filepath.Dir(r.e.homeDir(a.agent.ID)), importedMark)
	if from == "" || exists(mark) {
		return nil
	}
	importer, ok := a.provider.(agentcli.Importer)
	if !ok {
		return substrat.Errorf(substrat.CodeInternal, "cannot take over %s: the provider cannot", from)
	}
	dir := a.agent.Dir
	if err := ensureDir(dir); err != nil {
		return err
	}
	if a.agent.Sandbox != substrat.Bubblewrap {
		// In a sandbox the workspace is at its own path, and nothing on the way there is a link.
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
	}
	files, err := importer.Import(ctx, agentcli.StoredSession{Provider: a.agent.Provider, ID: a.agent.Session, Path: from}, dir)
	if err != nil {
		return err
	}
	if err := r.placeInHome(a, files); err != nil {
		return err
	}
	return wrapIO("note that a session was taken over", os.WriteFile(mark, nil, 0o600))
}

// placeInHome writes files below the agent's home.
func (r *runner) placeInHome(a *attempt, files []agentcli.File) error {
	homeDir := r.e.homeDir(a.agent.ID)
	if err := os.MkdirAll(homeDir, 0o700); err != nil {
		return wrapIO("make the agent's home", err)
	}
	home, err := os.OpenRoot(homeDir)
	if err != nil {
		return wrapIO("open the agent's home", err)
	}
	defer home.Close()
	for _, f := range files {
		if f.Root != agentcli.InHome || !filepath.IsLocal(f.Path) {
			return substrat.Errorf(substrat.CodeInternal, "cannot place the file %q: not in the home", f.Path)
		}
		if err := writeIn(home, f); err != nil {
			return err
		}
	}
	return nil
}
