package engine

import (
	"context"
	"path/filepath"
	"time"

	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/workspace"
)

// overlaps watches for agents that change the same file of one repository, in whatever worktree or directory each of them
// works. What was told is the teams' to remember; here is only what saves asking git again.
type overlaps struct {
	// turn lets one look at a time, so that git does not take the processor from the agents. It holds one.
	turn chan struct{}
	// changed has what is known of each agent that lives; told the pairs that were told since the daemon started, by file.
	changed map[string]changes
	told    map[told]struct{}
}

// changes are what one agent changed: files relative to the top of the repository. repo is empty if it is in none.
type changes struct {
	repo  string
	files map[string]struct{}
}

// told is one file that two agents changed, with the smaller id first.
type told struct{ one, other, repo, file string }

// neighbour is an agent that lives.
type neighbour struct {
	team, id, path string
	// above is who is told of it: its parent, empty for the user.
	above  string
	living team.Living
	// recent are the files that its last turns named.
	recent []string
}

// overlapTime bounds one look, filesMost the files of one agent that are looked at.
const (
	overlapTime = 2 * time.Minute
	filesMost   = 2000
)

func newOverlaps() *overlaps {
	return &overlaps{turn: make(chan struct{}, 1), changed: map[string]changes{}, told: map[told]struct{}{}}
}

// watchOverlap looks, after a turn was recorded, at what its agent changed. It holds up nobody.
func (e *Engine) watchOverlap(ctx context.Context, r *runner, a *attempt, files []string) {
	if a == nil || a.living.Tree == nil && len(files) == 0 || a.living.ReadOnly {
		return
	}
	e.wg.Go(func() {
		select {
		case e.overlaps.turn <- struct{}{}:
		case <-ctx.Done():
			return
		}
		defer func() { <-e.overlaps.turn }()
		ctx, cancel := context.WithTimeout(ctx, overlapTime)
		defer cancel()
		if err := e.compareChanges(ctx, r.agent, files); err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("cannot see whether agents change the same files", "agent", a.path, "error", err)
		}
	})
}

// compareChanges tells of the files that an agent and others changed. The caller has the turn.
func (e *Engine) compareChanges(ctx context.Context, agent string, files []string) error {
	all := e.neighbours()
	e.overlaps.forget(all)
	self, ok := all[agent]
	if !ok {
		return nil
	}
	mine, err := e.lookAt(ctx, self, files, true)
	if err != nil || mine.repo == "" {
		return err
	}
	for id, other := range all {
		if id == agent || ctx.Err() != nil {
			continue
		}
		theirs, err := e.lookAt(ctx, other, other.recent, false)
		if err == nil && len(e.overlaps.untold(self, mine, other, theirs)) > 0 {
			// What was merged or taken back since its last turn is no longer its.
			theirs, err = e.lookAt(ctx, other, nil, true)
		}
		if err != nil {
			e.cfg.Log.Warn("cannot see what an agent changed", "agent", other.path, "error", err)
			continue
		}
		if shared := e.overlaps.untold(self, mine, other, theirs); len(shared) > 0 {
			if err := e.tellOverlap(ctx, self, other, mine.repo, shared); err != nil {
				return err
			}
		}
	}
	return nil
}

// neighbours are all agents that live.
func (e *Engine) neighbours() map[string]neighbour {
	out := map[string]neighbour{}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, s := range e.teams {
		for id, a := range s.Agents {
			n := neighbour{team: s.Team, id: id, path: s.Path(id), above: a.Parent, living: s.Living(id)}
			for _, b := range a.Recent {
				n.recent = append(n.recent, b.Files...)
			}
			out[id] = n
		}
	}
	return out
}

// lookAt says what an agent changed: of a worktree what git says, asked again if fresh; elsewhere what its turns named, to
// which files are added.
func (e *Engine) lookAt(ctx context.Context, n neighbour, files []string, fresh bool) (changes, error) {
	known, seen := e.overlaps.changed[n.id]
	if seen && !fresh {
		return known, nil
	}
	now := changes{files: map[string]struct{}{}}
	if n.living.Tree != nil {
		now.repo, _ = workspace.Main(n.living.Tree.Repo)
		if !exists(n.living.Base) {
			return now, nil // no turn yet
		}
		list, err := workspace.Changed(ctx, treePlace(n.living))
		if err != nil {
			return now, err
		}
		for _, f := range list[:min(len(list), filesMost)] {
			now.files[f] = struct{}{}
		}
		e.overlaps.changed[n.id] = now
		return now, nil
	}
	if !seen {
		files = append(files[:len(files):len(files)], n.recent...)
	}
	dir := n.living.Dir()
	top, ok := workspace.Repo(dir)
	if ok {
		now.repo, _ = workspace.Main(dir)
		for f := range known.files {
			now.files[f] = struct{}{}
		}
		for _, f := range files {
			if f, ok := within(top, dir, f); ok && len(now.files) < filesMost {
				now.files[f] = struct{}{}
			}
		}
	}
	e.overlaps.changed[n.id] = now
	return now, nil
}

// within makes a file that a turn named relative to the top of the work tree that dir is in. The top is resolved, so the
// directory is too.
func within(top, dir, file string) (string, bool) {
	if filepath.IsAbs(file) {
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return "", false
		}
		file = rel
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(top, filepath.Join(real, file))
	return rel, err == nil && filepath.IsLocal(rel)
}

// untold are the files that two agents changed and nobody was told of since the daemon started.
func (o *overlaps) untold(a neighbour, mine changes, b neighbour, theirs changes) []string {
	var out []string
	if mine.repo != theirs.repo {
		return nil
	}
	for f := range mine.files {
		if _, both := theirs.files[f]; !both {
			continue
		}
		if _, was := o.told[pairOf(a.id, b.id, mine.repo, f)]; !was {
			out = append(out, f)
		}
	}
	return out
}

func pairOf(a, b, repo, file string) told { return told{min(a, b), max(a, b), repo, file} }

// forget drops what is known of agents that ended.
func (o *overlaps) forget(living map[string]neighbour) {
	for id := range o.changed {
		if _, lives := living[id]; !lives {
			delete(o.changed, id)
		}
	}
	for t := range o.told {
		_, one := living[t.one]
		if _, other := living[t.other]; !one || !other {
			delete(o.told, t)
		}
	}
}

// tellOverlap tells whoever is above the two agents, once if that is the same. Which of the two it then is told of does not
// depend on whose turn it was, because the team of that one remembers it.
func (e *Engine) tellOverlap(ctx context.Context, a, b neighbour, repo string, files []string) error {
	if b.id < a.id {
		a, b = b, a
	}
	pairs := [][2]neighbour{{a, b}, {b, a}}
	if a.above == b.above {
		pairs = pairs[:1]
	}
	for _, p := range pairs {
		_, err := e.Do(ctx, p[0].team, team.Meta{}, team.WarnOverlap{
			ID: e.NewID(), Agent: p[0].id, Other: p[1].id, OtherPath: p[1].path, Repo: repo, Files: files,
		})
		if err != nil {
			return err
		}
	}
	for _, f := range files {
		e.overlaps.told[pairOf(a.id, b.id, repo, f)] = struct{}{}
	}
	return nil
}
