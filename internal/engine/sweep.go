package engine

import (
	"context"
	"os"
	"path/filepath"

	"substrat.dev/substrat/internal/turn"
)

// sweep goes through the turn directories a dead daemon left. Open turns keep what they use and get a runner in the
// first pass. Of a turn that is not open nothing may live: its outcome is recorded, or it was terminated. Looking for
// those takes as long as there is history, so it does not hold up the start.
func (e *Engine) sweep(ctx context.Context) {
	open := map[string]bool{}
	for _, o := range e.openTurns() {
		open[o.turn] = true
		e.adoptDirs(e.turnDir(o.turn))
	}
	e.wg.Go(func() { e.sweepStrays(ctx, open) })
	e.sweepPlaces()
	e.sweepCaptures()
	e.sweepShells()
}

// sweepStrays ends what lives of turns that were not open when the daemon started. Turns that started since have a runner.
func (e *Engine) sweepStrays(ctx context.Context, open map[string]bool) {
	entries, err := os.ReadDir(filepath.Join(e.cfg.Home, "turns"))
	if err != nil {
		return
	}
	for _, entry := range entries {
		dir := e.turnDir(entry.Name())
		if ctx.Err() != nil {
			return
		}
		if open[entry.Name()] || !unfinished(dir) || e.running(entry.Name()) {
			continue
		}
		e.adoptDirs(dir)
		e.wg.Go(func() {
			for _, sub := range []string{"session", "run"} {
				e.endStray(ctx, filepath.Join(dir, sub))
			}
			tidy(dir)
			e.releaseDirs(dir)
		})
	}
}

// running reports whether a turn has a runner.
func (e *Engine) running(id string) bool {
	e.runMu.Lock()
	defer e.runMu.Unlock()
	return e.runners[id] != nil
}

// unfinished reports whether a turn directory was not tidied. The socket's directory is the first thing in it and the last
// to go.
func unfinished(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "sock"))
	return err == nil
}

// endStray ends the process of a shim directory, if one lives.
func (e *Engine) endStray(ctx context.Context, dir string) {
	if _, err := os.Lstat(dir); err != nil {
		return
	}
	t, err := turn.Attach(ctx, dir)
	if err != nil {
		e.cfg.Log.Error("cannot look at an old turn", "dir", dir, "error", err)
		return
	}
	defer t.Close()
	if t.Alive() {
		err = t.Cancel(ctx)
	}
	exit, waitErr := t.Wait(ctx)
	if err != nil || waitErr != nil || exit.Reason == turn.ShimLost {
		if err := turn.Reap(ctx, dir); err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("cannot clear up after an old turn", "dir", dir, "error", err)
		}
	}
}

// tidy removes what an ended turn no longer needs. What it printed stays: it is the agent's history.
func tidy(dir string) {
	for _, sub := range []string{"session", "run/spec.json", "run/stdin", madeFile, watchedFile, "sock"} {
		_ = os.RemoveAll(filepath.Join(dir, sub))
	}
}
