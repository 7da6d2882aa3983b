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

// guarding is what Rules may say of the files in workspaces that programs obey. Without it they are protected.
type guarding interface {
	// Guard says whether they are protected, and which of them agents may write all the same.
	Guard() (protect bool, allow []string)
}

func (e *Engine) guardOptions() (protect bool, o guard.Options) {
	if g, ok := e.cfg.Rules.(guarding); ok {
		protect, o.Allow = g.Guard()
		return protect, o
	}
	return true, o
}

// guarded are the binds that keep an agent from writing what would be obeyed in its workspace, and in what is shown in it to
// be written to. Where something is mounted already, that decides. The places are held for as long as holder is.
func (e *Engine) guarded(dir string, l team.Living, links []team.Mount, taken []sandbox.Bind, holder string) ([]sandbox.Bind, error) {
	protect, options := e.guardOptions()
	if !protect || l.ReadOnly {
		return nil, nil
	}
	shown := []sandbox.Bind{{Host: dir, At: dir}}
	for _, m := range links {
		if !m.ReadOnly {
			shown = append(shown, sandbox.Bind{Host: m.Base, At: filepath.Join(dir, m.At)})
		}
	}
	var out []sandbox.Bind
	for _, s := range shown {
		// A link may show a file.
		if st, err := os.Stat(s.Host); err != nil || !st.IsDir() {
			continue
		}
		places, err := guard.Places(s.Host, options)
		if err != nil {
			return nil, err
		}
		for _, p := range places {
			at := filepath.Join(s.At, filepath.FromSlash(p.Rel))
			if slices.ContainsFunc(taken, func(b sandbox.Bind) bool { return b.At == at || b.At == "" && b.Host == at }) {
				continue
			}
			host, err := e.guardPlace(s.Host, p, holder)
			if err != nil {
				return nil, err
			}
			out = append(out, sandbox.Bind{Host: host, At: at, Write: p.Write})
		}
	}
	return out, nil
}

// guardPlace makes what has to be there for a place, and tells what is shown there.
func (e *Engine) guardPlace(dir string, p guard.Place, holder string) (host string, err error) {
	host = filepath.Join(dir, filepath.FromSlash(p.Rel))
	if p.Make == guard.MakeFile {
		return host, guard.MakeEmpty(dir, p.Rel)
	}
	if p.Own {
		return host, nil
	}
	// Also one that is there is held: it may be what another turn made.
	if err := e.holdDir(host, holder); err != nil {
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
