package engine

import (
	"time"

	"context"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/turn"
)

// session sees to it that the conversation's id is durable before the turn that uses it runs. A provider that makes
// sessions by a command of their own runs it here, supervised like a turn; one that a dead daemon left is taken over.
func (r *runner) session(ctx context.Context, a *attempt) error {
	creator, ok := a.provider.(agentcli.SessionCreator)
	if a.request.Session != "" || !ok {
		return nil
	}
	t, err := r.sessionProcess(ctx, a, creator)
	if err != nil {
		return err
	}
	defer t.Close()
	stdout, exit, err := r.awaitSession(ctx, t)
	if err != nil {
		return err
	}
	id, err := creator.ParseSession(stdout, exit)
	if err != nil {
		return err
	}
	if _, err := r.e.Do(ctx, r.team, team.Meta{}, team.Bind{Agent: r.agent, Session: id}); err != nil {
		return err
	}
	a.request.Session = id
	return nil
}

func (r *runner) sessionProcess(ctx context.Context, a *attempt, creator agentcli.SessionCreator) (*turn.Turn, error) {
	dir := filepath.Join(r.dir, "session")
	if _, err := os.Stat(dir); err == nil {
		return turn.Attach(ctx, dir)
	}
	cmd, err := creator.NewSession(a.request)
	if err != nil {
		return nil, err
	}
	spec, err := r.spec(a, cmd)
	if err != nil {
		return nil, err
	}
	spec.ID = r.turn + "-session"
	spec.Limits.Wall, spec.Limits.Silence = sessionLimit, sessionLimit
	return r.e.launcher.Start(ctx, dir, spec)
}

// awaitSession reads until the process has printed a line and ended. Some builds print the id and do not exit: a first
// line is enough, the rest is clean-up.
func (r *runner) awaitSession(ctx context.Context, t *turn.Turn) ([]byte, agentcli.Exit, error) {
	lines := agentcli.NewLineReader(t.NewReader(ctx), 64<<10)
	var out []byte
	for len(out) < 64<<10 {
		f, err := lines.ReadFrame(ctx)
		if err != nil {
			break
		}
		if out = append(append(out, f.Data...), '\n'); len(f.Data) > 0 {
			break
		}
	}
	if err := t.End(ctx); err != nil {
		return nil, agentcli.Exit{}, err
	}
	exit, err := t.Wait(ctx)
	if err != nil {
		return nil, agentcli.Exit{}, err
	}
	if exit.Reason == turn.ShimLost {
		if err := turn.Reap(ctx, filepath.Join(r.dir, "session")); err != nil {
			return nil, agentcli.Exit{}, err
		}
		// It says nothing of the agent that the process was cut off, unless it had printed what was wanted.
		if len(out) == 0 {
			return nil, agentcli.Exit{}, cutOff{}
		}
	}
	if exit.Reason == turn.StartFailed {
		return nil, agentcli.Exit{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot start the agent: %s", exit.Err)
	}
	if why, ok := neverRan(exit.Code, t.StderrTail()); ok && len(out) == 0 {
		return nil, agentcli.Exit{}, substrat.Errorf(substrat.CodeUnsupported, "%s", why)
	}
	return out, agentcli.Exit{Code: exit.Code, Signal: exit.Signal, Stderr: t.StderrTail()}, nil
}

// cutOff is why there is no session: its process was lost, as a daemon's death at the wrong moment can bring about.
type cutOff struct{}

func (cutOff) Error() string { return "the turn was cut off while its conversation was being made" }

// FailureClass classes it.
func (cutOff) FailureClass() substrat.FailureClass { return substrat.ClassInterrupted }

// sessionLimit bounds the making of a session.
const sessionLimit = time.Minute
