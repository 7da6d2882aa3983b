package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/guard"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/workspace"
)

func (e *Engine) guardOptions() (protect bool, o guard.Options) {
	protect, o.Allow = e.cfg.Rules.Guard()
	return protect, o
}

// guard adds to a profile what keeps its process from writing what would be obeyed: in its workspace, in what is shown there
// to be written to, and in the repository of a worktree. Where something is mounted already, that decides. The places are
// held for as long as what holder is the directory of.
func (e *Engine) guard(p *sandbox.Profile, l team.Living, links []team.Mount, holder string) error {
	protect, options := e.guardOptions()
	if !protect || l.ReadOnly {
		return nil
	}
	taken := map[string]bool{}
	for _, b := range slices.Concat(p.WorkspaceConfig, p.Binds) {
		at := b.At
		if at == "" {
			at = b.Host
		}
		taken[at] = true
	}
	shown := []sandbox.Bind{{Host: p.Workspace, At: p.Workspace}}
	for _, m := range links {
		// A link may show a file.
		if st, err := os.Stat(m.Base); err == nil && st.IsDir() && !m.ReadOnly {
			shown = append(shown, sandbox.Bind{Host: m.Base, At: filepath.Join(p.Workspace, m.At)})
		}
	}
	for _, s := range shown {
		places, err := guard.Places(s.Host, options)
		if err != nil {
			return err
		}
		if err := e.guardPlaces(p, s, places, taken, holder); err != nil {
			return err
		}
	}
	if l.Tree == nil {
		return nil
	}
	repo, err := workspace.Show(treePlace(l))
	if err != nil {
		return err
	}
	places, err := guard.TreePlaces(repo.Git, repo.Own)
	if err != nil {
		return err
	}
	return e.guardPlaces(p, sandbox.Bind{Host: repo.Git, At: repo.Git}, places, taken, holder)
}

// guardPlaces adds the places of one directory, which is shown at s.At.
func (e *Engine) guardPlaces(p *sandbox.Profile, s sandbox.Bind, places []guard.Place, taken map[string]bool, holder string) error {
	for _, place := range places {
		at := filepath.Join(s.At, filepath.FromSlash(place.Rel))
		if taken[at] {
			continue
		}
		host, err := e.guardPlace(s.Host, place, holder)
		if err != nil {
			return err
		}
		p.Binds = append(p.Binds, sandbox.Bind{Host: host, At: at, Write: place.Write})
	}
	return nil
}

// guardPlace makes what has to be there for a place, and tells what is shown there. Without a holder somebody only wants to know.
func (e *Engine) guardPlace(dir string, p guard.Place, holder string) (host string, err error) {
	host = filepath.Join(dir, filepath.FromSlash(p.Rel))
	switch {
	case holder == "" && (p.Own || p.Make == guard.MakeFile):
		return host, nil
	case holder == "":
		return filepath.Join(e.cfg.Home, "empty"), nil
	}
	if p.Make == guard.MakeFile {
		return host, guard.MakeEmpty(dir, p.Rel)
	}
	if p.Own {
		return host, nil
	}
	// Also one that is there is held: it may be what another turn made.
	if err := e.holdDir(spot{dir, filepath.FromSlash(p.Rel)}, holder); err != nil {
		return "", err
	}
	empty := filepath.Join(e.cfg.Home, "empty")
	return empty, wrapIO("make an empty directory", os.MkdirAll(empty, 0o700))
}

// watchedFile, in the directory of a turn or of a live process, keeps what the files that are obeyed looked like before.
const watchedFile = "watched.json"

// watchTime bounds one look at a workspace.
const watchTime = 3 * time.Second

// watchFrom looks at the workspace before a process that could write there is started. What a process that already lives did
// since is not to be taken for what was there before, so the first look stays.
func (r *runner) watchFrom(ctx context.Context, a *attempt) {
	file := filepath.Join(r.holdsFrom(a), watchedFile)
	if a.living.ReadOnly || exists(file) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	s, err := guard.Take(ctx, a.agent.Dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = keepSnapshot(file, s)
	}
	if err != nil {
		// The turn is not held up by it: the mounts are the wall, this is the look behind it.
		r.e.cfg.Log.Warn("cannot look at the workspace before a turn", "turn", r.turn, "error", err)
	}
}

func keepSnapshot(file string, s guard.Snapshot) error {
	data, err := json.Marshal(s)
	if err != nil {
		return wrapIO("note what is in the workspace", err)
	}
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return wrapIO("note what is in the workspace", err)
	}
	return wrapIO("note what is in the workspace", os.Rename(file+".new", file))
}

// flag looks, when a turn has ended, whether files were written that are obeyed, and tells the user.
func (r *runner) flag(ctx context.Context, a *attempt) {
	if a.living.ReadOnly || ctx.Err() != nil {
		return
	}
	file := filepath.Join(r.holdsFrom(a), watchedFile)
	data, err := os.ReadFile(file)
	if err != nil {
		return // nothing was started
	}
	var before guard.Snapshot
	if json.Unmarshal(data, &before) != nil || before.Root != a.agent.Dir {
		_ = os.Remove(file)
		return
	}
	timed, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	after, err := guard.Take(timed, before.Root)
	if err != nil {
		r.e.cfg.Log.Warn("cannot look at the workspace after a turn", "turn", r.turn, "error", err)
		return
	}
	r.healLead(before, after)
	if found := r.e.newFindings(before, after); len(found) > 0 {
		if err := r.tellFlagged(ctx, before.Root, found); err != nil {
			if ctx.Err() == nil {
				r.e.cfg.Log.Warn("cannot tell of files that are obeyed", "agent", a.path, "error", err)
			}
			return
		}
	}
	if err := keepSnapshot(file, after); err != nil {
		r.e.cfg.Log.Warn("cannot note what is in the workspace", "turn", r.turn, "error", err)
	}
}

// healLead removes the file that leads git in the workspace's own repository to another configuration. Nothing can be mounted
// over it before, since git takes whatever is there for such a lead.
func (r *runner) healLead(before, after guard.Snapshot) {
	const lead = ".git/commondir"
	_, was := before.Entries[lead]
	if _, is := after.Entries[lead]; !is || was {
		return
	}
	if _, err := workspace.Heal(after.Root); err != nil {
		r.e.cfg.Log.Error("cannot remove a lead to another git configuration", "turn", r.turn, "error", err)
	}
}

// findingsMost bounds what is remembered of what was told.
const findingsMost = 4096

// newFindings are the findings that were not told when the turn of another agent in that place ended.
func (e *Engine) newFindings(before, after guard.Snapshot) []guard.Finding {
	_, options := e.guardOptions()
	e.flaggedMu.Lock()
	defer e.flaggedMu.Unlock()
	if e.flagged == nil || len(e.flagged) > findingsMost {
		e.flagged = map[string]struct{}{}
	}
	return slices.DeleteFunc(options.Drop(guard.Compare(before, after)), func(f guard.Finding) bool {
		now := after.Entries[f.Path]
		key := strings.Join([]string{filepath.Join(after.Root, f.Path), string(f.Change), now.Sum, strconv.FormatInt(now.CTime, 10), strconv.FormatUint(now.Inode, 10)}, "\x00")
		_, told := e.flagged[key]
		e.flagged[key] = struct{}{}
		return told
	})
}

func (r *runner) tellFlagged(ctx context.Context, dir string, found []guard.Finding) error {
	c := team.WarnFlagged{ID: r.e.NewID(), Agent: r.agent, Turn: r.turn, Root: guard.Escape(dir, 400), Others: r.e.alsoIn(r.agent, dir)}
	for _, f := range found {
		c.Files = append(c.Files, team.FlaggedFile{Path: guard.Escape(f.Path, 400), Change: string(f.Change), By: f.By, Does: string(f.Does), Text: f.Text()})
	}
	_, err := r.e.Do(ctx, r.team, team.Meta{}, c)
	if substrat.CodeOf(err) == substrat.CodeTerminated {
		r.e.cfg.Log.Warn("files that programs obey were written by an agent that has ended", "agent", r.agent, "files", c.Files)
		return nil
	}
	return err
}

// alsoIn are the agents with an open turn that could write to a directory as well.
func (e *Engine) alsoIn(agent, dir string) []string {
	var out []string
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, s := range e.teams {
		for id, a := range s.Agents {
			if id == agent || a.Turn == nil {
				continue
			}
			l := s.Living(id)
			other := l.Dir()
			if !l.ReadOnly && (other == dir || strings.HasPrefix(other, dir+"/") || strings.HasPrefix(dir, other+"/")) {
				out = append(out, s.Path(id))
			}
		}
	}
	slices.Sort(out)
	return out
}
