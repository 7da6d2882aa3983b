package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/workspace"
)

// deletedPlace is where a workspace was that an agent deleted.
type deletedPlace struct {
	workspace.Place
	team, agent string
}

// clearTime bounds how long the files of one deleted workspace may take to go. What is left then is listed as such.
const clearTime = time.Minute

// clearDeleted removes the files of workspaces that an agent deleted, in the background, as far as nothing is lost: a
// worktree with work in no commit, or on no branch, stays where it is, and whoever is above the agent is told.
func (e *Engine) clearDeleted(places []deletedPlace) {
	for _, p := range places {
		e.wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), clearTime)
			defer cancel()
			// A plain directory was the agent's to delete; force is not for worktrees.
			r, err := workspace.Remove(ctx, p.Place, e.placesDir(), p.Tree == nil)
			if err != nil {
				e.tellLeft(ctx, p, err)
			} else if r.BranchKept != "" {
				e.cfg.Log.Info("the branch of a deleted workspace stays: it is not merged", "branch", r.BranchKept, "repository", p.Tree.Repo)
			}
		})
	}
}

func (e *Engine) tellLeft(ctx context.Context, p deletedPlace, why error) {
	e.cfg.Log.Warn("the files of a deleted workspace stay", "dir", p.Dir, "reason", why)
	text := "A workspace was deleted, but its files stay in " + p.Dir + ": " + why.Error()
	if _, err := e.Do(ctx, p.team, team.Meta{}, team.Warn{ID: e.NewID(), Agent: p.agent, Text: text}); err != nil {
		e.cfg.Log.Warn("nobody could be told of it", "dir", p.Dir, "error", err)
	}
}

// leftOver lists what is in the daemon's directory of workspaces. Callers take away what is a workspace.
func (e *Engine) leftOver() []substrat.Workspace {
	entries, err := os.ReadDir(e.placesDir())
	if err != nil {
		return []substrat.Workspace{}
	}
	out := make([]substrat.Workspace, 0, len(entries))
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, ".") && entry.IsDir() {
			out = append(out, substrat.Workspace{ID: name, Name: name, Ref: name, Dir: e.workspaceDir(name), Left: true})
		}
	}
	return out
}

// withoutKnown takes out what only looked left over: caller holds mu.
func (e *Engine) withoutKnown(list []substrat.Workspace) []substrat.Workspace {
	return slices.DeleteFunc(list, func(w substrat.Workspace) bool { return w.Left && e.knows(w.ID) })
}

// knows says whether a workspace is some team's: caller holds mu.
func (e *Engine) knows(id string) bool {
	for _, s := range e.teams {
		if s.Workspaces[id] != nil {
			return true
		}
	}
	return false
}

// leftAt finds what is left over under a name.
func (e *Engine) leftAt(ref string) (dir string, ok bool) {
	list := e.leftOver()
	e.mu.RLock()
	defer e.mu.RUnlock()
	ok = slices.ContainsFunc(list, func(w substrat.Workspace) bool { return w.ID == ref }) && !e.knows(ref)
	return e.workspaceDir(ref), ok
}

// removeLeft removes what is left over. Which repository a worktree is of, only the state knew: what the files in it say
// of that may be an agent's word.
func (e *Engine) removeLeft(dir string, force bool) error {
	if exists(filepath.Join(dir, ".git")) && !force {
		return substrat.Errorf(substrat.CodeConflict, "cannot remove %s: it is a git worktree that belongs to no workspace any more", dir).
			WithHint("look what is in it; git worktree remove in its repository keeps what is not saved, --force deletes the directory")
	}
	_, err := workspace.Remove(context.Background(), workspace.Place{Dir: dir}, e.placesDir(), force)
	return err
}

// sweepPlaces finishes what a dead daemon was deleting.
func (e *Engine) sweepPlaces() {
	if err := workspace.ClearRemoved(e.placesDir()); err != nil {
		e.cfg.Log.Warn("cannot clear up deleted workspaces", "error", err)
	}
}
