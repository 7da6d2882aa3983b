package engine

import (
	"context"
	"path/filepath"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/tool"
	"substrat.dev/substrat/internal/turn"
)

// sandboxes tells which sandboxes a turn's processes are in: its own, that of the command that makes its session, and that of
// a process that the agent keeps between turns, and those of a person's shells in the agent's sandbox. It is nil for an agent that has none.
func (r *runner) sandboxes(a *attempt) func() []uint64 {
	if a.agent.Sandbox != substrat.Bubblewrap {
		return nil
	}
	dirs := []string{filepath.Join(r.dir, "run"), filepath.Join(r.dir, "session"), filepath.Join(r.e.liveDir(r.agent), "run")}
	return func() []uint64 {
		var out []uint64
		for _, dir := range dirs {
			if ns, known := turn.PIDNamespace(dir); known {
				out = append(out, ns)
			}
		}
		return append(out, r.e.shells.of(r.agent)...)
	}
}

// Refused implements tool.Host: it is an event of the agent's team.
func (e *Engine) Refused(ctx context.Context, c tool.Caller, why string) {
	if _, err := e.Do(ctx, c.Team, team.Meta{}, team.NoteRefusal{Agent: c.Agent, Turn: c.Turn, Why: why}); err != nil && ctx.Err() == nil {
		e.cfg.Log.Warn("a refusal is not on record", "agent", c.Name, "refusal", why, "error", err)
	}
}
