package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/door"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/tool"
	"substrat.dev/substrat/internal/turn"
)

// runner carries one open turn from its plan to its recorded outcome. It is made for a turn that just started and, the
// same, for one that a dead daemon left: what is on disk says how far it got.
type runner struct {
	e                 *Engine
	team, agent, turn string
	dir               string

	// aside, where set, is what is shown as the directory of the agent's socket outside of its turns: for a person's shell.
	aside string

	cancelled, abandoned chan struct{}
	cancelOnce, endOnce  sync.Once

	// tape is the transcript of a turn on a live process, once there is one.
	tape atomic.Pointer[tape]
}

// attempt is what a runner needs to know about its turn, read from the state once.
type attempt struct {
	agent        team.Agent
	path         string
	prompt       string
	instructions string
	provider     agentcli.Provider
	request      agentcli.Request
	token        string
	// living is where the turn happens; links are what is shown in it, with Base the directory on the host.
	living    team.Living
	links     []team.Mount
	git       []sandbox.Bind // the repository of the worktree it happens in
	walls     Walls
	startedAt time.Time
	live      *agentcli.LiveTurn
	keys      keys
	routes    []door.Route // of keys that stay outside
}

// verdict is how a turn ended, as the runner sees it.
type verdict struct {
	outcome substrat.Outcome
	class   substrat.FailureClass
	detail  string
	result  agentcli.Result
	// account is what the provider's limits are counted on, resetAt when it said that it goes on, cost what the turn cost
	// in millionths of a dollar if priced.
	account string
	resetAt time.Time
	cost    int64
	priced  bool
}

func (e *Engine) newRunner(o openTurn) *runner {
	return &runner{
		e: e, team: o.team, agent: o.agent, turn: o.turn, dir: e.turnDir(o.turn),
		cancelled: make(chan struct{}), abandoned: make(chan struct{}),
	}
}

func (e *Engine) turnDir(id string) string { return filepath.Join(e.cfg.Home, "turns", id) }

// cancel passes on that somebody asked to end the turn.
func (r *runner) cancel() { r.cancelOnce.Do(func() { close(r.cancelled) }) }

// abandon ends the process of a turn whose outcome is recorded already: its agent was terminated.
func (r *runner) abandon() { r.endOnce.Do(func() { close(r.abandoned) }) }

// run returns when the outcome is durable and nothing of the turn lives, or when ctx ends: then the shim goes on alone
// and the next daemon's runner takes over.
func (r *runner) run(ctx context.Context) {
	log := r.e.cfg.Log.With("turn", r.turn, "agent", r.agent)
	a, v, err := r.drive(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		v = verdict{outcome: substrat.FailedTurn, class: classOf(err), detail: err.Error()}
		if v.class == substrat.ClassInterrupted {
			v.outcome = substrat.Interrupted
		}
	}
	// Whoever learns of the outcome finds the workspace as the agent left it, and nothing of ours in it.
	r.e.releaseDirs(r.dir)
	r.heal(ctx, a)
	r.followSession(ctx, v.result.Session)
	r.bill(&v)
	if !r.record(ctx, v) {
		return
	}
	tidy(r.dir)
	r.e.watchOverlap(ctx, r, a, v.result.Files)
	log.Info("turn ended", "outcome", v.outcome, "class", v.class, "detail", clip(r.e.secrets.Shown(v.detail), 300))
}

// classOf classes what kept a turn from running: the provider's own word, or an error of ours.
func classOf(err error) substrat.FailureClass {
	var classed interface{ FailureClass() substrat.FailureClass }
	if errors.As(err, &classed) {
		return classed.FailureClass()
	}
	switch substrat.CodeOf(err) {
	case substrat.CodeNotInstalled:
		return substrat.ClassNotInstalled
	case substrat.CodeUnsupported, substrat.CodeForbidden:
		return substrat.ClassSandbox
	default:
		return substrat.ClassInternal
	}
}

// drive takes the turn to its end.
func (r *runner) drive(ctx context.Context) (a *attempt, v verdict, err error) {
	if a, err = r.prepare(ctx); err != nil {
		return nil, v, err
	}
	if p, ok := a.provider.(agentcli.LiveProvider); ok {
		v, err = r.driveLive(ctx, a, p)
		return a, v, err
	}
	release, err := r.listen(a)
	if err != nil {
		return a, v, err
	}
	defer release()
	t, err := r.process(ctx, a)
	if err != nil {
		return a, v, err
	}
	defer t.Close()
	told := r.followReach(ctx, a, t, r.turn, filepath.Join(r.dir, "run"))
	v, err = r.follow(ctx, a, t)
	told()
	r.flag(ctx, a)
	return a, v, err
}

// prepare reads what the turn is about from the state.
func (r *runner) prepare(ctx context.Context) (*attempt, error) {
	a := &attempt{}
	var data standing
	err := r.e.Look(ctx, r.team, func(s *team.State) error {
		agent := s.Agents[r.agent]
		if agent == nil || agent.Turn == nil || agent.Turn.ID != r.turn {
			return errAbandoned
		}
		a.agent, a.path, a.prompt = *agent, s.Path(r.agent), s.Prompt(r.agent)
		data = standingOf(s, agent)
		a.living = s.Living(r.agent)
		a.startedAt = agent.Turn.StartedAt
		view := s.View(r.agent)
		a.request.Agent = &view
		a.live = &agentcli.LiveTurn{ID: r.turn, Number: agent.Turn.Number, Retry: agent.Turn.Retry, Messages: mailOf(s, agent)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if a.instructions, err = r.e.instructions(data); err != nil {
		return nil, err
	}
	if a.agent.Dir, a.links, err = settleIn(ctx, a.living); err != nil {
		return nil, unsettled{err}
	}
	if a.git, err = gitBinds(a.living); err != nil {
		return nil, unsettled{err}
	}
	if a.provider = r.e.providers[a.agent.Provider]; a.provider == nil {
		return nil, substrat.Errorf(substrat.CodeNotInstalled, "cannot run %s: no provider %q", a.path, a.agent.Provider)
	}
	a.walls = r.e.cfg.Rules.Walls(a.path, a.agent.Role, a.agent.Provider)
	if a.token, err = r.token(); err != nil {
		return nil, err
	}
	r.fetchKeys(ctx, a)
	r.fillRequest(a)
	return a, nil
}

// unsettled is why a turn has no workspace.
type unsettled struct{ error }

func (u unsettled) Unwrap() error { return u.error }

// FailureClass classes it.
func (unsettled) FailureClass() substrat.FailureClass { return substrat.ClassWorkspace }

var errAbandoned = errors.New("the turn is no longer open")

// listen opens the agent's own socket for the turn. The directory stays when the daemon goes, so that the next daemon
// can put its socket where the sandbox sees it.
func (r *runner) listen(a *attempt) (release func(), err error) {
	caller := r.caller(a)
	caller.Launch = a.launch
	l, err := tool.Listen(r.sockDir(a), caller, r.e, r.e.cfg.Log)
	if err != nil {
		return nil, err
	}
	return func() { _ = l.Close() }, nil
}

// caller is the agent as its tools see it.
func (r *runner) caller(a *attempt) tool.Caller {
	return tool.Caller{Team: r.team, Agent: r.agent, Turn: r.turn, Token: a.token, Name: a.path, Hide: r.e.hide(a.token), Sandboxes: r.sandboxes(a)}
}

// process starts the turn's process, or attaches to the one that runs or ran.
func (r *runner) process(ctx context.Context, a *attempt) (*turn.Turn, error) {
	dir := filepath.Join(r.dir, "run")
	if _, err := os.Stat(dir); err == nil {
		return turn.Attach(ctx, dir)
	}
	if err := r.addServers(ctx, a); err != nil {
		return nil, err
	}
	if err := r.bring(ctx, a); err != nil {
		return nil, err
	}
	r.watchFrom(ctx, a)
	if err := r.session(ctx, a); err != nil {
		return nil, err
	}
	cmd, err := r.command(a)
	if err != nil {
		return nil, err
	}
	spec, err := r.spec(a, cmd)
	if err != nil {
		return nil, err
	}
	if err := r.tellWalls(ctx, a); err != nil {
		return nil, err
	}
	return r.e.launcher.Start(ctx, dir, spec)
}

// follow converses until the terminal record or the end, and sees to it that nothing is left running.
func (r *runner) follow(ctx context.Context, a *attempt, t *turn.Turn) (verdict, error) {
	done := make(chan struct{})
	watched := make(chan struct{})
	conn := newConn(ctx, t, a.agent.Limits)
	go func() { defer close(watched); r.watch(ctx, a, t, conn, done) }()
	result, err := a.provider.Converse(ctx, conn, a.request, discard)
	if err == nil && result.Terminal {
		err = t.End(ctx)
	}
	var exit turn.Exit
	if err == nil {
		exit, err = t.Wait(ctx)
	}
	close(done)
	<-watched
	if err != nil {
		return verdict{}, err
	}
	if exit.Reason == turn.ShimLost {
		if err := turn.Reap(ctx, filepath.Join(r.dir, "run")); err != nil {
			r.e.cfg.Log.Error("cannot clear up after a lost shim", "turn", r.turn, "error", err)
		}
	}
	return r.judgeExit(a, result, exit, t.StderrTail()), nil
}

func discard(agentcli.Event) error { return nil }

// watch passes cancellation to the process until the turn is over.
func (r *runner) watch(ctx context.Context, a *attempt, t *turn.Turn, conn agentcli.Conn, done <-chan struct{}) {
	select {
	case <-r.cancelled:
	case <-r.abandoned:
	case <-done:
		return
	case <-ctx.Done():
		return
	}
	if polite, ok := a.provider.(agentcli.Interrupter); ok {
		asking, cancel := context.WithTimeout(ctx, interruptGrace)
		defer cancel()
		if polite.Interrupt(asking, conn, a.request) == nil {
			select {
			case <-done:
				return
			case <-asking.Done():
			}
		}
	}
	if err := t.Cancel(ctx); err != nil && ctx.Err() == nil {
		r.e.cfg.Log.Warn("cannot cancel a turn", "turn", r.turn, "error", err)
	}
}

// endedBy tells why the turn was ended from outside, nil if it was not. A stop counts also where the process was asked in its
// CLI's own way, and where it was lost before it was asked.
func (r *runner) endedBy(exit turn.Exit) *verdict {
	select {
	case <-r.cancelled:
		exit.Reason = turn.Cancelled
	default:
	}
	switch exit.Reason {
	case turn.Cancelled:
		return &verdict{outcome: substrat.Cancelled, class: substrat.ClassCancelled, detail: "the turn was stopped"}
	case turn.Wall:
		return &verdict{outcome: substrat.TimedOut, class: substrat.ClassTimeout, detail: "the turn took longer than it may"}
	case turn.Silence:
		return &verdict{outcome: substrat.TimedOut, class: substrat.ClassSilence, detail: "the agent printed nothing for longer than it may"}
	}
	return nil
}

// judgeExit turns what the stream and the process said into the one outcome. A terminal record decides, whatever the
// process did afterwards; without one there is no success. But a CLI that says it failed when it was made to end has not
// failed: such a turn would be tried again.
func (r *runner) judgeExit(a *attempt, result agentcli.Result, exit turn.Exit, stderr []byte) verdict {
	v := verdict{outcome: result.Outcome, class: result.Class, detail: result.Detail, result: result}
	if exit.Reason == turn.Exceeded {
		// Whether it had its last word before it was noticed is chance.
		v.outcome, v.class, v.detail = substrat.FailedTurn, substrat.ClassResources, exit.Err
		return v
	}
	if result.Terminal && result.Outcome != substrat.FailedTurn {
		return v
	}
	if ended := r.endedBy(exit); ended != nil {
		ended.result = result
		return *ended
	}
	if result.Terminal {
		return v
	}
	if why, ok := neverRan(exit.Code, stderr); ok {
		v.outcome, v.class, v.detail = substrat.FailedTurn, substrat.ClassSandbox, why
		return v
	}
	switch exit.Reason {
	case turn.ShimLost:
		v.outcome, v.class, v.detail = substrat.Interrupted, substrat.ClassInterrupted, "the turn was cut off"
	case turn.StartFailed:
		v.outcome, v.class, v.detail = substrat.FailedTurn, substrat.ClassNotInstalled, exit.Err
		if a.agent.Sandbox == substrat.Bubblewrap {
			v.class = substrat.ClassSandbox
		}
	default:
		v.outcome = substrat.FailedTurn
		v.class, v.detail = a.provider.Diagnose(a.request, result, agentcli.Exit{
			Code: exit.Code, Signal: exit.Signal, Stderr: stderr, Stdout: noiseTail(filepath.Join(r.dir, "run", "stdout")),
		})
		if v.class == "" {
			v.outcome = substrat.Completed
		}
	}
	return v
}

// followSession binds the agent to the conversation that its CLI reported, if that is another than the one it was given:
// the next turn goes on where this one was, and the journal shows the change.
func (r *runner) followSession(ctx context.Context, session string) {
	if session == "" {
		return
	}
	_, err := r.e.Do(ctx, r.team, team.Meta{}, team.Bind{Agent: r.agent, Session: session})
	if err != nil && ctx.Err() == nil {
		r.e.cfg.Log.Warn("cannot bind the session of a turn", "turn", r.turn, "error", err)
	}
}

// textMost bounds what a turn's text takes in the journal; the whole is in the spool.
const textMost = 1 << 20

// record makes the outcome durable. An agent that was terminated meanwhile has its outcome already. It answers false
// when the journal had no room: the process is gone, its end is on disk, and the next runner of this turn records it.
func (r *runner) record(ctx context.Context, v verdict) bool {
	_, err := r.e.Do(ctx, r.team, team.Meta{}, team.End{
		Agent: r.agent, Turn: r.turn, Outcome: v.outcome, Class: v.class, Detail: clip(r.e.secrets.Shown(v.detail), 4000), Text: clip(r.e.secrets.Shown(v.result.Text), textMost),
		Usage: v.result.Usage, ToolCalls: v.result.ToolCalls, Files: v.result.Files[:min(len(v.result.Files), 50)],
		Account: v.account, ResetAt: v.resetAt, CostMicros: v.cost, Priced: v.priced,
	})
	if err == nil {
		return true
	}
	switch substrat.CodeOf(err) {
	case substrat.CodeConflict, substrat.CodeNotFound, substrat.CodeTerminated:
		return true
	}
	if ctx.Err() == nil {
		r.e.cfg.Log.Error("cannot record a turn's outcome", "turn", r.turn, "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return false
}
