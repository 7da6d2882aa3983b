package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/record"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/turn"
)

// liveRun is one turn on a live process.
type liveRun struct {
	r *runner
	a *attempt
	p agentcli.LiveProvider
	s *session
	// tape is the turn's transcript.
	tape *tape
	// served says that the request has the configured MCP servers.
	served bool
	// stopped is set once the turn is to end: from then on its calls are refused.
	stopped atomic.Bool
	// ended says why the turn was ended from outside, if it was.
	ended atomic.Pointer[verdict]
	// ready is what the program was asked, once it has been: before, there is nothing that it could be asked to end.
	ready atomic.Pointer[agentcli.Request]
	// told ends the following of what the process tries to reach.
	told func()
	// asking counts the time in which a person is asked.
	asking stopwatch
}

// restartsMost is how often in a row a process may end in the middle of a turn without having got any further.
const restartsMost = 3

// recordPath is an agent's record: what its program was asked, called and answered.
func (e *Engine) recordPath(agent string) string {
	return filepath.Join(e.cfg.Home, "agents", agent, "record.jsonl")
}

// driveLive takes a turn on a live process to its end. How it ended is in the agent's record before anybody is told.
func (r *runner) driveLive(ctx context.Context, a *attempt, p agentcli.LiveProvider) (verdict, error) {
	s, err := r.e.takeSession(ctx, r.team, r.agent)
	if err != nil {
		return verdict{}, err
	}
	defer func() { r.e.giveSession(ctx, s) }()
	defer func() { r.flag(ctx, a) }()
	s.provider, s.limits = p, a.agent.Limits
	// The socket is opened by whoever has the session: the one before has closed it.
	release, err := r.listen(a)
	if err != nil {
		return verdict{}, err
	}
	defer release()
	if err := os.WriteFile(filepath.Join(r.sockDir(a), tokenFile), []byte(a.token), 0o600); err != nil {
		return verdict{}, wrapIO("write the turn's token", err)
	}
	if s.log == nil {
		if s.log, err = record.Open(r.e.recordPath(r.agent)); err != nil {
			return verdict{}, err
		}
	}
	if end := s.log.End(r.turn); end != nil {
		return verdict{outcome: end.Outcome, class: end.Class, detail: end.Detail, result: end.Result}, nil
	}
	l := &liveRun{r: r, a: a, p: p, s: s, told: func() {}}
	if err := l.begin(); err != nil {
		return verdict{}, err
	}
	defer func() { l.told() }()
	defer l.tape.Close()
	v, own, err := l.run(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.e.endProcess(s) // it may be in the middle of the turn
		}
		return verdict{}, err
	}
	v.result.ToolCalls = len(s.log.Turn(r.turn).Calls)
	end := record.End{Outcome: v.outcome, Class: v.class, Detail: v.detail, Own: own, Result: v.result}
	if err := s.log.Finish(end); err != nil {
		r.e.endProcess(s)
		return verdict{}, err
	}
	if s.t != nil && s.from > rotateBytes {
		r.e.endProcess(s)
	}
	return v, nil
}

// begin enters the turn into the record, unless it is there, and opens its transcript.
func (l *liveRun) begin() error {
	t, tapeSize := l.s.log.Turn(l.r.turn), int64(0)
	live := l.a.request.Live
	if t == nil {
		head := agentcli.PastTurn{ID: live.ID, Number: live.Number, Prompt: l.a.request.Prompt, Retry: live.Retry, Messages: live.Messages}
		if err := l.s.log.Begin(head); err != nil {
			return err
		}
	} else {
		// The mail may have been settled since: the turn goes on with what it began with.
		l.a.request.Prompt, live.Messages, live.Retry = t.Prompt, t.Messages, t.Retry
		if m := l.s.log.Mark(); m != nil {
			tapeSize = m.Tape
		}
	}
	live.Tools, l.a.request.Ask = &liveTools{l}, l.ask
	live.Checkpoint, live.History = l.s.log.Checkpoint(), l.s.log.History
	var err error
	if l.tape, err = openTape(l.r.dir, tapeSize); err == nil {
		l.r.tape.Store(l.tape)
	}
	return err
}

// run converses with one process after another until the turn has ended. Own says that it was by the program's word.
func (l *liveRun) run(ctx context.Context) (v verdict, own bool, err error) {
	restarts, calls := 0, len(l.s.log.Turn(l.r.turn).Calls)
	for {
		greeted, err := l.process(ctx)
		if err != nil {
			return verdict{}, false, err
		}
		l.told()
		l.told = l.r.followReach(ctx, l.a, l.s.t, l.s.process, filepath.Join(l.s.dir, "run"))
		result, err := l.converse(ctx, greeted)
		if err != nil {
			return verdict{}, false, err
		}
		if result.Terminal {
			if result.Void {
				l.r.e.endProcess(l.s)
			}
			return l.judgeOwn(result), !result.Void, nil
		}
		exit, err := l.buryProcess(ctx)
		if err != nil {
			return verdict{}, false, err
		}
		if n := len(l.s.log.Turn(l.r.turn).Calls); n > calls {
			restarts, calls = 0, n
		}
		restarts++
		if ended := l.ended.Load(); ended != nil || !l.p.Info().Replays || exit.Reason == turn.StartFailed || exit.Reason == turn.Exceeded || restarts > restartsMost {
			return l.judgeEnd(result, exit), false, nil
		}
		_, how := l.p.Diagnose(l.a.request, result, agentcli.Exit{Code: exit.Code, Signal: exit.Signal})
		l.r.e.cfg.Log.Warn("a live process ended in mid-turn and is started again", "agent", l.r.agent, "turn", l.r.turn, "why", how)
		note, _ := json.Marshal(map[string]string{"type": "restart", "message": how})
		l.tape.add(note)
	}
}

// judgeOwn is the outcome by the program's last word. A program that gives up because it was asked to has not failed.
func (l *liveRun) judgeOwn(result agentcli.Result) verdict {
	if ended := l.ended.Load(); ended != nil && result.Outcome == substrat.FailedTurn {
		return verdict{outcome: ended.outcome, class: ended.class, detail: ended.detail, result: result}
	}
	return verdict{outcome: result.Outcome, class: result.Class, detail: result.Detail, result: result}
}

// judgeEnd is the outcome of a turn whose process ended without a word.
func (l *liveRun) judgeEnd(result agentcli.Result, exit lastExit) verdict {
	if ended := l.ended.Load(); ended != nil {
		return verdict{outcome: ended.outcome, class: ended.class, detail: ended.detail, result: result}
	}
	return l.r.judgeExit(l.a, result, exit.Exit, exit.stderr)
}

// process sees to it that there is a process. Greeted says that it knows the agent's history already: it served an earlier
// turn, or this one under a daemon that is gone.
func (l *liveRun) process(ctx context.Context) (greeted bool, err error) {
	if l.s.t == nil {
		if greeted, err = l.adopt(ctx); greeted || err != nil {
			return greeted, err
		}
	}
	l.r.watchFrom(ctx, l.a)
	if !l.served {
		if err := l.r.addServers(ctx, l.a); err != nil {
			return false, err
		}
		l.served = true
	}
	spec, plan, err := l.plan()
	if err != nil {
		return false, err
	}
	if l.s.t != nil {
		if l.s.t.Alive() && l.s.plan == plan {
			return true, nil
		}
		l.r.e.endProcess(l.s)
		// With the old process went what was made in the workspace for it.
		if spec, plan, err = l.plan(); err != nil {
			return false, err
		}
	}
	l.s.process, l.s.plan, l.s.from = "live-"+l.r.e.NewID(), plan, 0
	spec.ID = l.s.process
	if err := l.s.writeIdent(ident{Process: l.s.process, Plan: plan}); err != nil {
		return false, err
	}
	if err := l.r.tellWalls(ctx, l.a); err != nil {
		return false, err
	}
	l.s.t, err = l.r.e.launcher.Start(ctx, filepath.Join(l.s.dir, "run"), spec)
	return false, err
}

// plan tells what a process is to be started with, and a sum of it: another plan wants another process. The limits of
// a turn are not the process's; it ends by itself only when no daemon comes back for it.
func (l *liveRun) plan() (turn.Spec, string, error) {
	cmd, err := l.r.command(l.a)
	if err != nil {
		return turn.Spec{}, "", err
	}
	spec, err := l.r.spec(l.a, cmd)
	if err != nil {
		return turn.Spec{}, "", err
	}
	spec.Limits.Wall, spec.Limits.Silence, spec.Limits.Alone = 0, 0, spec.Limits.Wall
	about := *l.a.request.Agent
	// A process is told of its servers when it is greeted.
	data, err := json.Marshal([]any{spec.Argv, spec.Env, spec.Dir, l.a.request.MCP, about.Path, about.Role, about.Instructions, about.Model, about.Metadata})
	if err != nil {
		return turn.Spec{}, "", substrat.Errorf(substrat.CodeInternal, "cannot sum up a plan: %v", err)
	}
	sum := sha256.Sum256(data)
	return spec, hex.EncodeToString(sum[:]), nil
}

// adopt takes over the process that a dead daemon left in this turn. Any other is ended: what it was told is not known.
func (l *liveRun) adopt(ctx context.Context) (bool, error) {
	dir := filepath.Join(l.s.dir, "run")
	t, err := turn.Attach(ctx, dir)
	if substrat.CodeOf(err) == substrat.CodeNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.s.t = t
	was, m := l.s.readIdent(), l.s.log.Mark()
	if m == nil || m.Process != was.Process {
		l.r.e.endProcess(l.s)
		return false, nil
	}
	// Ended or not: what it printed is read on from the mark.
	l.s.process, l.s.plan, l.s.greeting, l.s.from = m.Process, was.Plan, was.Greeting, m.From
	live := l.a.request.Live
	live.Resumed, live.Past = m.Asked, l.tape.replay()
	if t.Alive() {
		// A line that the dead daemon did not finish ends here.
		_ = t.Write(ctx, []byte("\n"))
	}
	return true, nil
}

// note records how far the conversation got.
func (l *liveRun) note(asked bool) {
	m := record.Mark{Process: l.s.process, From: l.s.from, Tape: l.tape.length(), Asked: asked}
	if err := l.s.log.Note(m); err != nil {
		l.r.e.cfg.Log.Warn("cannot note how far a turn got", "turn", l.r.turn, "error", err)
	}
}

// converse runs the turn on the session's process.
func (l *liveRun) converse(ctx context.Context, greeted bool) (agentcli.Result, error) {
	conn := newLiveConn(ctx, l.s)
	guarded := make(chan struct{})
	done := make(chan struct{})
	go func() { defer close(guarded); l.guard(ctx, conn, done) }()
	defer func() { close(done); <-guarded }()
	live := l.a.request.Live
	live.Calls = append([]agentcli.Call(nil), l.s.log.Turn(l.r.turn).Calls...)
	if !greeted {
		live.Resumed, live.Past = false, nil
		greeting, err := l.greet(ctx)
		if err != nil && substrat.CodeOf(err) != substrat.CodeConflict && !errors.Is(err, agentcli.EOF) {
			return agentcli.Result{}, err
		}
		conn.goOn(ctx)
		l.s.greeting = greeting
		for _, note := range greeting.Notes {
			l.tape.add([]byte(strings.Join(strings.Fields(note), " "))) // a line of its own, which is no message
		}
		if greeting.Session != "" && greeting.Session != l.a.request.Session {
			l.r.followSession(ctx, greeting.Session)
		}
		if err := l.s.writeIdent(ident{Process: l.s.process, Plan: l.s.plan, Greeting: greeting}); err != nil {
			return agentcli.Result{}, err
		}
	}
	if !live.Resumed {
		l.note(false)
		conn.asked = func() { l.note(true) }
	}
	live.Greeting = l.s.greeting
	conn.tape = l.tape
	l.getReady()
	defer l.ready.Store(nil)
	return l.p.Converse(ctx, conn, l.a.request, discard)
}

// getReady lets the turn be ended politely from here on. The copy is the guard's own.
func (l *liveRun) getReady() {
	asked, turn := l.a.request, *l.a.request.Live
	asked.Live = &turn
	l.ready.Store(&asked)
}

// greet readies a new process. Reading goes on where the greeting ended.
func (l *liveRun) greet(ctx context.Context) (agentcli.Greeting, error) {
	timed, cancel := context.WithTimeout(ctx, agentcli.GreetMost)
	defer cancel()
	greeting, err := l.p.Greet(timed, newLiveConn(timed, l.s), l.a.request)
	if err != nil && timed.Err() != nil && ctx.Err() == nil {
		return greeting, agentcli.GreetTooLong()
	}
	return greeting, err
}

// lastExit is how a process ended, with what it said.
type lastExit struct {
	turn.Exit
	stderr []byte
}

// buryProcess waits for the end of a process that no longer speaks, and clears up after it.
func (l *liveRun) buryProcess(ctx context.Context) (lastExit, error) {
	if err := l.s.t.End(ctx); err != nil {
		return lastExit{}, err
	}
	exit, err := l.s.t.Wait(ctx)
	if err != nil {
		return lastExit{}, err
	}
	out := lastExit{exit, l.s.t.StderrTail()}
	l.told()
	l.told = func() {}
	l.r.e.endProcess(l.s)
	return out, nil
}

// interruptGrace is how long a program may take to end a turn by itself when it was asked to.
const interruptGrace = 5 * time.Second

// guard ends the turn when it is cancelled or takes too long: politely first, then with the process.
func (l *liveRun) guard(ctx context.Context, conn *liveConn, done <-chan struct{}) {
	why := l.awaitEnd(ctx, conn, done)
	if why == nil {
		return
	}
	l.ended.CompareAndSwap(nil, why)
	l.stopped.Store(true)
	select {
	case <-l.r.abandoned:
	default:
		asking, cancel := context.WithTimeout(ctx, interruptGrace)
		defer cancel()
		if asked := l.ready.Load(); asked != nil && l.p.Interrupt(asking, &liveConn{s: l.s}, *asked) == nil {
			select {
			case <-done:
				return
			case <-l.r.abandoned:
			case <-asking.Done():
			}
		}
	}
	if err := l.s.t.Cancel(ctx); err != nil && ctx.Err() == nil {
		l.r.e.cfg.Log.Warn("cannot cancel a turn", "turn", l.r.turn, "error", err)
	}
}

// awaitEnd gives why the turn is to end, nil when it ended by itself.
func (l *liveRun) awaitEnd(ctx context.Context, conn *liveConn, done <-chan struct{}) *verdict {
	limits := turnLimits(l.a.agent.Limits)
	wall := time.NewTimer(time.Until(l.a.startedAt.Add(limits.Wall)))
	defer wall.Stop()
	silence := time.NewTimer(limits.Silence)
	defer silence.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return nil
		case <-l.r.cancelled:
			return &verdict{outcome: substrat.Cancelled, class: substrat.ClassCancelled, detail: "the turn was stopped"}
		case <-l.r.abandoned:
			return &verdict{outcome: substrat.Cancelled, class: substrat.ClassCancelled, detail: "the agent was ended"}
		case <-wall.C:
			asked, _ := l.asking.read(time.Now())
			if left := time.Until(l.a.startedAt.Add(limits.Wall + asked)); left > 0 {
				wall.Reset(left)
				continue
			}
			return &verdict{outcome: substrat.TimedOut, class: substrat.ClassTimeout, detail: "the turn took longer than it may"}
		case <-silence.C:
			since := time.Unix(0, conn.heard.Load())
			if _, asked := l.asking.read(time.Now()); asked.After(since) {
				since = asked
			}
			left := limits.Silence - time.Since(since)
			if left <= 0 {
				return &verdict{outcome: substrat.TimedOut, class: substrat.ClassSilence, detail: "the program printed nothing for longer than it may"}
			}
			silence.Reset(left)
		}
	}
}

// mailOf lists the messages of an agent's open turn.
func mailOf(s *team.State, a *team.Agent) []agentcli.Mail {
	out := []agentcli.Mail{}
	for _, id := range a.Turn.Prompted {
		if m := s.Messages[id]; m != nil {
			from := m.From
			if sender := s.Agents[m.FromID]; sender != nil {
				from = sender.Name
			}
			out = append(out, agentcli.Mail{ID: id, From: from, Kind: m.Kind, Text: m.Text, ReplyTo: m.ReplyTo})
		}
	}
	return out
}
