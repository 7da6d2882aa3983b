package claude

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/stored"
)

// Sessions are kept in projects/SLUG/ID.jsonl below the directory of the configuration, one JSON object a line, appended as
// the conversation goes on. Lines form a tree by uuid and parentUuid: where somebody went back and asked anew, the old branch
// stays in the file.

// History reads and takes over the sessions that Claude Code keeps. It implements agentcli.Historian and agentcli.Importer.
type History struct{}

const historyTitle = "Claude Code"

// Slug is the name of a workspace's directory below projects: each character that is neither letter nor digit is a dash.
func Slug(dir string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, dir)
}

// Sessions implements agentcli.Historian.
func (h History) Sessions(ctx context.Context, o agentcli.HistoryOptions) ([]agentcli.StoredSession, error) {
	list, err := h.storedFiles(o)
	if err != nil {
		return nil, err
	}
	out := list[:0]
	for _, s := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		peekStored(&s)
		if o.Dir == "" || s.Dir == "" || Slug(s.Dir) == Slug(o.Dir) {
			out = append(out, s)
		}
	}
	stored.Newest(out)
	return out, nil
}

// storedFiles lists the files, without looking into them. Those of subagents are part of other sessions.
func (History) storedFiles(o agentcli.HistoryOptions) ([]agentcli.StoredSession, error) {
	root, err := o.Place("CLAUDE_CONFIG_DIR", ".claude")
	if err != nil {
		return nil, err
	}
	root = filepath.Join(root, "projects")
	projects, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, stored.Unreadable(root, err)
	}
	var out []agentcli.StoredSession
	for _, p := range projects {
		if o.Dir != "" && p.Name() != Slug(o.Dir) && p.Name() != Slug(realDir(o.Dir)) {
			continue
		}
		files, err := os.ReadDir(filepath.Join(root, p.Name()))
		if err != nil {
			continue // not a directory, or gone by now
		}
		for _, f := range files {
			id, ok := strings.CutSuffix(f.Name(), ".jsonl")
			if ok && !strings.HasPrefix(id, "agent-") && !f.IsDir() {
				out = append(out, storedAt(filepath.Join(root, p.Name(), f.Name()), id))
			}
		}
	}
	return out, nil
}

func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func storedAt(path, id string) agentcli.StoredSession {
	s := agentcli.StoredSession{Provider: "claude", ID: id, Path: path}
	if st, err := os.Stat(path); err == nil {
		s.UpdatedAt = st.ModTime().UTC().Truncate(time.Millisecond)
	}
	return s
}

// peekStored fills in what the beginning and the end of a file say.
func peekStored(s *agentcli.StoredSession) {
	known := false
	look := func(line []byte) {
		var l storedLine
		if json.Unmarshal(line, &l) == nil && l.Type != "" {
			known = true
			l.describe(s)
		}
	}
	if err := stored.Peek(s.Path, look, look); err != nil {
		s.Problem = stored.Reason(s.Path, err)
	} else if !known {
		s.Problem = "nothing in it has the known form"
	}
}

// find gives a session by its id, the beginning of it, or the path of its file.
func (h History) find(o agentcli.HistoryOptions, id string) (agentcli.StoredSession, error) {
	if strings.HasSuffix(id, ".jsonl") {
		if _, err := os.Stat(id); err != nil {
			return agentcli.StoredSession{}, stored.Unreadable(id, err)
		}
		return storedAt(id, strings.TrimSuffix(filepath.Base(id), ".jsonl")), nil
	}
	list, err := h.storedFiles(o)
	if err != nil {
		return agentcli.StoredSession{}, err
	}
	return stored.Pick(historyTitle, "claude", id, list)
}

// Import implements agentcli.Importer.
func (History) Import(_ context.Context, from agentcli.StoredSession, dir string) ([]agentcli.File, error) {
	data, err := stored.Whole(from.Path, true)
	if err != nil {
		return nil, err
	}
	at := path.Join(".claude/projects", Slug(dir), from.ID+".jsonl")
	return []agentcli.File{{Root: agentcli.InHome, Path: at, Data: data, KeepExisting: true}}, nil
}
