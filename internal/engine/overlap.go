package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/workspace"
)

// overlaps watches for agents that change the same file of one repository, in whatever worktree or directory each of them
// works. It lives in memory: it is advice, and what an agent changed before a restart it mostly still has changed after.
type overlaps struct {
	mu sync.Mutex
	// changed has, by repository and file, the agents that changed it; told the pairs that were warned of.
	changed map[string]map[string][]string
	told    map[string]bool
}

// overlapTime bounds how long git may take to say what a worktree changed, filesMost how many files are looked at.
const (
	overlapTime = 30 * time.Second
	filesMost   = 2000
)

// watchOverlap looks, after a turn was recorded, at what its agent changed. It holds up nobody.
func (e *Engine) watchOverlap(ctx context.Context, r *runner, a *attempt, files []string) {
	if a == nil || a.living.Tree == nil && len(files) == 0 || a.living.ReadOnly {
		return
	}
	e.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, overlapTime)
		defer cancel()
		repo, changed, err := changedBy(ctx, a, files)
		if err != nil || repo == "" {
			return
		}
		for other, shared := range e.overlaps.note(repo, r.agent, changed[:min(len(changed), filesMost)]) {
			e.warnOverlap(ctx, r, a.path, other, repo, shared)
		}
	})
}

// changedBy lists what an agent changed, relative to the top of its repository.
func changedBy(ctx context.Context, a *attempt, files []string) (repo string, changed []string, err error) {
	if t := a.living.Tree; t != nil {
		repo, _ = workspace.Main(t.Repo)
		changed, err = workspace.Changed(ctx, workspace.Place{
			Dir: a.living.Base, Tree: &workspace.Tree{Repo: t.Repo, Branch: t.Branch, Base: t.Base},
		})
		return repo, changed, err
	}
	repo, ok := workspace.Repo(a.agent.Dir)
	if !ok {
		return "", nil, nil
	}
	for _, f := range files {
		if !filepath.IsAbs(f) {
			f = filepath.Join(a.agent.Dir, f)
		}
		if rel, err := filepath.Rel(repo, f); err == nil && filepath.IsLocal(rel) {
			changed = append(changed, rel)
		}
	}
	return repo, changed, nil
}

// note enters what an agent changed and gives the files it shares with others that were not warned of yet, by agent.
func (o *overlaps) note(repo, agent string, files []string) map[string][]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed, o.told = map[string]map[string][]string{}, map[string]bool{}
	}
	byFile := o.changed[repo]
	if byFile == nil {
		byFile = map[string][]string{}
		o.changed[repo] = byFile
	}
	// What the agent no longer changes, because it was merged or taken back, is its no more.
	for f, who := range byFile {
		if i := slices.Index(who, agent); i >= 0 && !slices.Contains(files, f) {
			if byFile[f] = slices.Delete(who, i, i+1); len(byFile[f]) == 0 {
				delete(byFile, f)
			}
		}
	}
	shared := map[string][]string{}
	for _, f := range files {
		for _, other := range byFile[f] {
			pair := []string{agent, other}
			slices.Sort(pair)
			key := strings.Join(append(pair, repo, f), "\x00")
			if other != agent && !o.told[key] {
				o.told[key] = true
				shared[other] = append(shared[other], f)
			}
		}
		if !slices.Contains(byFile[f], agent) {
			byFile[f] = append(byFile[f], agent)
		}
	}
	return shared
}

// warnOverlap tells whoever is above the agent, if the other one is still there.
func (e *Engine) warnOverlap(ctx context.Context, r *runner, path, other, repo string, files []string) {
	e.mu.RLock()
	otherPath := ""
	if s := e.teams[e.index.team[other]]; s != nil {
		otherPath = s.Path(other)
	}
	e.mu.RUnlock()
	if otherPath == "" {
		return
	}
	slices.Sort(files)
	text := fmt.Sprintf("%s and %s both changed, in the repository %s: %s", path, otherPath, repo, strings.Join(files[:min(len(files), 10)], ", "))
	if len(files) > 10 {
		text += fmt.Sprintf(" and %d more", len(files)-10)
	}
	_, err := e.Do(ctx, r.team, team.Meta{}, team.Warn{ID: e.NewID(), Agent: r.agent, Text: text})
	if err != nil && ctx.Err() == nil {
		e.cfg.Log.Warn("cannot warn of files that two agents change", "agent", path, "error", err)
	}
}
