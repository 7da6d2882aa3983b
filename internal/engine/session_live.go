package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/record"
	"substrat.dev/substrat/internal/schedule"
	"substrat.dev/substrat/internal/turn"
)

// Sessions that hold a live process. There is at most one for an agent, and somebody has it at any time: the runner of the
// agent's turn, or between turns the goroutine that watches it rest and ends it.

// restMost bounds how long a live process rests between turns, where the scheduler does not end it before; the next turn
// starts another.
const restMost = 10 * time.Minute

// rotateBytes is how much a live process may have printed when its turn ends and it is to serve another.
const rotateBytes = 64 << 20

// holder says who has a session.
type holder int

const (
	heldByTurn holder = iota
	resting
	ending
)

// session is one live process with the record of its agent, or the place for one.
type session struct {
	team, agent string
	dir         string
	provider    agentcli.LiveProvider
	limits      *substrat.TurnLimits
	// log is the agent's record, t the process, nil for none. process names it, plan tells what it was started with, and from
	// is how much of what it printed was dealt with. They belong to the holder.
	log     *record.Log
	t       *turn.Turn
	process string
	plan    string
	// greeting is what the provider remembers of the process.
	greeting agentcli.Greeting
	from     int64

	// The rest is guarded by Engine.liveMu.
	holder   holder
	lastUsed time.Time
	wake     context.CancelCauseFunc // ends the rest
	rested   chan struct{}           // closed when the resting goroutine is gone
	released chan struct{}           // closed when the holder lets it go
}

// Why a rest ends.
var (
	errTaken   = errors.New("the agent has a turn")
	errSuspend = errors.New("the session is suspended")
)

func (e *Engine) liveDir(agent string) string { return filepath.Join(e.cfg.Home, "live", agent) }

// takeSession gives an agent's session to the runner of its turn.
func (e *Engine) takeSession(ctx context.Context, team, agent string) (*session, error) {
	for {
		e.liveMu.Lock()
		s := e.sessions[agent]
		if s == nil {
			s = &session{team: team, agent: agent, dir: e.liveDir(agent), released: make(chan struct{})}
			e.sessions[agent] = s
			e.liveMu.Unlock()
			return s, nil
		}
		if s.holder == resting {
			s.holder, s.released = heldByTurn, make(chan struct{})
			wake, rested := s.wake, s.rested
			e.liveMu.Unlock()
			wake(errTaken)
			<-rested
			return s, nil
		}
		released := s.released
		e.liveMu.Unlock()
		select {
		case <-released:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// giveSession takes a session back from a runner. One whose process lives rests; without a process there is none. When the
// daemon stops, the process is left to its shim, for the turn that is still open.
func (e *Engine) giveSession(ctx context.Context, s *session) {
	if alive := s.t != nil && s.t.Alive(); !alive || ctx.Err() != nil {
		e.forgetSession(s, ctx.Err() != nil && (alive || s.t == nil))
		return
	}
	restCtx, wake := context.WithCancelCause(ctx)
	e.liveMu.Lock()
	s.holder, s.lastUsed, s.wake, s.rested = resting, time.Now(), wake, make(chan struct{})
	close(s.released)
	s.released = make(chan struct{})
	e.liveMu.Unlock()
	e.wg.Go(func() { e.rest(restCtx, s) })
}

// forgetSession closes what a session holds and makes room for another. With leave, what lives is left to its shim and the
// next daemon; else nothing lives afterwards, whoever started it.
func (e *Engine) forgetSession(s *session, leave bool) {
	// A directory with a process that could not be ended stays: it is what the next daemon finds it by.
	if !leave && e.endProcess(s) {
		_ = os.RemoveAll(s.dir)
	}
	if s.t != nil {
		_ = s.t.Close()
		s.t = nil
	}
	if s.log != nil {
		_ = s.log.Close()
		s.log = nil
	}
	e.liveMu.Lock()
	delete(e.sessions, s.agent)
	close(s.released)
	e.liveMu.Unlock()
	e.kick()
}

// rest watches a process between turns, until a runner takes the session, or it is time to end it.
func (e *Engine) rest(ctx context.Context, s *session) {
	defer close(s.rested)
	timed, cancel := context.WithTimeout(ctx, max(restMost, e.cfg.Rules.SuspendAfter()))
	defer cancel()
	conn := newLiveConn(timed, s)
	for {
		f, err := conn.ReadFrame(timed)
		if err != nil {
			break
		}
		if reply := s.provider.Stray(f.Data); reply != nil {
			_ = conn.WriteFrame(timed, reply)
		}
	}
	e.liveMu.Lock()
	if s.holder == heldByTurn {
		e.liveMu.Unlock()
		return
	}
	s.holder = ending
	e.liveMu.Unlock()
	e.forgetSession(s, false)
}

// endTime bounds how long the end of a resting process may take.
const endTime = 15 * time.Second

// endProcess ends a session's process, politely at first, and clears up after it; where the session has none in hand, what a
// dead daemon may have left. It is no business of any turn's, so it does not end with the daemon's context. It reports
// whether nothing is left.
func (e *Engine) endProcess(s *session) bool {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err := e.endRun(ctx, s)
	if err != nil {
		e.cfg.Log.Error("cannot end a live process", "agent", s.agent, "error", err)
		return false
	}
	e.releaseDirs(s.dir)
	_ = os.Remove(filepath.Join(s.dir, madeFile))
	return true
}

func (e *Engine) endRun(ctx context.Context, s *session) (err error) {
	if s.t == nil {
		s.t, err = turn.Attach(ctx, filepath.Join(s.dir, "run"))
		if err != nil {
			s.t = nil
			if substrat.CodeOf(err) == substrat.CodeNotFound {
				return nil
			}
			return err
		}
	}
	if err = s.t.End(ctx); err == nil {
		var exit turn.Exit
		exit, err = s.t.Wait(ctx)
		if err == nil && exit.Reason == turn.ShimLost {
			err = turn.Reap(ctx, filepath.Join(s.dir, "run"))
		}
	}
	_ = s.t.Close()
	s.t = nil
	if err != nil {
		return err
	}
	return e.clearLive(ctx, s.agent)
}

// clearLive removes what an ended process leaves, but for what it said on standard error, which is kept for people.
func (e *Engine) clearLive(ctx context.Context, agent string) error {
	dir := e.liveDir(agent)
	_ = os.Rename(filepath.Join(dir, "run", "stderr"), filepath.Join(e.cfg.Home, "agents", agent, "stderr"))
	for {
		err := turn.Remove(filepath.Join(dir, "run"))
		if substrat.CodeOf(err) != substrat.CodeConflict {
			return err
		}
		// The shim of an earlier daemon is no child of ours: it has written its record and is about to exit.
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// ident is what is on disk of a live process beside its turn directory, before anything runs: its name, and the plan it was
// started with.
type ident struct {
	Process string `json:"process"`
	Plan    string `json:"plan"`
	// Greeting is empty until the process has been greeted.
	Greeting agentcli.Greeting `json:"greeting,omitzero"`
}

func (s *session) writeIdent(i ident) error {
	data, err := json.Marshal(i)
	if err != nil {
		return wrapIO("name a live process", err)
	}
	return wrapIO("name a live process", os.WriteFile(filepath.Join(s.dir, "process"), data, 0o600))
}

// readIdent gives the zero ident where there is none.
func (s *session) readIdent() (i ident) {
	data, err := os.ReadFile(filepath.Join(s.dir, "process"))
	if err != nil || json.Unmarshal(data, &i) != nil {
		return ident{}
	}
	return i
}

// Suspend ends the live process of an agent that is in no turn; its next turn starts another, which is told what was
// before. It answers false when there was none to end.
func (e *Engine) Suspend(ref string) (bool, error) {
	_, agent, err := e.resolve(ref)
	if err != nil {
		return false, err
	}
	return e.suspend(agent), nil
}

func (e *Engine) suspend(agent string) bool {
	e.liveMu.Lock()
	s := e.sessions[agent]
	if s == nil || s.holder != resting {
		e.liveMu.Unlock()
		return false
	}
	s.holder = ending
	s.wake(errSuspend)
	e.liveMu.Unlock()
	return true
}

// restingProcesses lists the live processes that belong to no open turn, as the scheduler sees them.
func (e *Engine) restingProcesses() []schedule.Process {
	e.liveMu.Lock()
	defer e.liveMu.Unlock()
	var out []schedule.Process
	for _, s := range e.sessions {
		if s.holder == heldByTurn {
			continue
		}
		p := schedule.Process{Team: s.team, Agent: s.agent, Leaving: s.holder == ending, Since: s.lastUsed}
		if s.provider != nil {
			p.Pool = s.provider.Info().Name
			p.Account = e.cfg.Rules.Account(p.Pool)
		}
		out = append(out, p)
	}
	return out
}

// endStale ends the resting processes of agents that have ended.
func (e *Engine) endStale() {
	for _, s := range e.restingProcesses() {
		e.mu.RLock()
		_, there := e.index.team[s.Agent]
		e.mu.RUnlock()
		if !there {
			e.suspend(s.Agent)
		}
	}
}

// findLive looks at the processes that a dead daemon left. One in an open turn is for that turn's runner; the others are
// ended, and their agents' next turns start new ones.
func (e *Engine) findLive(ctx context.Context) {
	entries, err := os.ReadDir(filepath.Join(e.cfg.Home, "live"))
	if err != nil {
		return
	}
	inTurn := map[string]bool{}
	for _, o := range e.openTurns() {
		inTurn[o.agent] = true
	}
	for _, entry := range entries {
		agent := entry.Name()
		e.adoptDirs(e.liveDir(agent))
		if inTurn[agent] {
			continue
		}
		t, err := turn.Attach(ctx, filepath.Join(e.liveDir(agent), "run"))
		if err != nil {
			if substrat.CodeOf(err) == substrat.CodeNotFound {
				e.releaseDirs(e.liveDir(agent))
				_ = os.RemoveAll(e.liveDir(agent))
				continue
			}
			e.cfg.Log.Error("cannot look at a live process", "agent", agent, "error", err)
			continue
		}
		s := &session{agent: agent, dir: e.liveDir(agent), t: t, holder: ending, released: make(chan struct{})}
		e.liveMu.Lock()
		e.sessions[agent] = s
		e.liveMu.Unlock()
		e.wg.Go(func() { e.forgetSession(s, false) })
	}
}
