package codex

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/stored"
)

// Sessions are kept below the CLI's home in sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl, one JSON object a line. Older builds
// wrote the items of the conversation as they are, with a line of the session's data first; newer ones wrap each in
// {"timestamp","type","payload"} and keep, beside the items, the events that they showed, so that texts are there twice.

// History reads and takes over the sessions that Codex keeps. It implements agentcli.Historian and agentcli.Importer.
type History struct{}

const historyTitle = "Codex"

var rolloutName = regexp.MustCompile(`^rollout-(\d{4})-(\d\d)-(\d\d)T[0-9-]+?-([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$`)

// Sessions implements agentcli.Historian.
func (h History) Sessions(ctx context.Context, o agentcli.HistoryOptions) ([]agentcli.StoredSession, error) {
	list, err := h.storedFiles(ctx, o)
	if err != nil {
		return nil, err
	}
	out := list[:0]
	for _, s := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		peekStored(&s)
		if o.Dir == "" || s.Dir == o.Dir || s.Dir != "" && realDir(s.Dir) == realDir(o.Dir) {
			out = append(out, s)
		}
	}
	stored.Newest(out)
	return out, nil
}

func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// storedFiles lists the files, without looking into them.
func (History) storedFiles(ctx context.Context, o agentcli.HistoryOptions) ([]agentcli.StoredSession, error) {
	root, err := o.Place("CODEX_HOME", ".codex")
	if err != nil {
		return nil, err
	}
	var out []agentcli.StoredSession
	for _, top := range []string{"sessions", "archived_sessions"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(at string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return stored.Unreadable(at, err)
			}
			if m := rolloutName.FindStringSubmatch(d.Name()); m != nil && !d.IsDir() {
				out = append(out, storedAt(at, m[4]))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func storedAt(path, id string) agentcli.StoredSession {
	s := agentcli.StoredSession{Provider: "codex", ID: id, Path: path}
	if st, err := os.Stat(path); err == nil {
		s.UpdatedAt = st.ModTime().UTC().Truncate(time.Millisecond)
	}
	return s
}

// peekStored fills in what the beginning of a file says.
func peekStored(s *agentcli.StoredSession) {
	known := false
	look := func(line []byte) {
		if l, ok := readStored(line); ok {
			known = true
			l.describe(s)
		}
	}
	if err := stored.Peek(s.Path, look, func([]byte) {}); err != nil {
		s.Problem = stored.Reason(s.Path, err)
	} else if !known {
		s.Problem = "nothing in it has the known form"
	}
}

// find gives a session by its id, the beginning of it, or the path of its file.
func (h History) find(ctx context.Context, o agentcli.HistoryOptions, id string) (agentcli.StoredSession, error) {
	if strings.HasSuffix(id, ".jsonl") {
		if _, err := os.Stat(id); err != nil {
			return agentcli.StoredSession{}, stored.Unreadable(id, err)
		}
		name := strings.TrimSuffix(filepath.Base(id), ".jsonl")
		if m := rolloutName.FindStringSubmatch(filepath.Base(id)); m != nil {
			name = m[4]
		}
		return storedAt(id, name), nil
	}
	list, err := h.storedFiles(ctx, o)
	if err != nil {
		return agentcli.StoredSession{}, err
	}
	return stored.Pick(historyTitle, "codex", id, list)
}

// Load implements agentcli.Historian.
func (h History) Load(ctx context.Context, o agentcli.HistoryOptions, id string, yield func(agentcli.Message) error) (agentcli.StoredSession, error) {
	s, err := h.find(ctx, o, id)
	if err != nil {
		return s, err
	}
	r := &storedReader{session: &s, items: map[storedText]int{}, join: agentcli.Joiner{Yield: yield}}
	if _, err := stored.Lines(ctx, s.Path, r.count); err != nil {
		return s, err
	}
	damage, err := stored.Lines(ctx, s.Path, r.line)
	if err != nil {
		return s, err
	}
	if err := r.flush(); err != nil {
		return s, err
	}
	if err := r.join.Flush(); err != nil {
		return s, err
	}
	s.Messages, s.Problem = r.join.Count, damage.String()
	if !r.known {
		return s, stored.Foreign(s.Path, historyTitle)
	}
	return s, nil
}

// Import implements agentcli.Importer. The workspace is no part of where Codex looks.
func (History) Import(_ context.Context, from agentcli.StoredSession, _ string) ([]agentcli.File, error) {
	m := rolloutName.FindStringSubmatch(filepath.Base(from.Path))
	if m == nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot take over %s: it is not called as Codex calls its sessions", from.Path).
			WithHint("rollout-TIME-ID.jsonl")
	}
	data, err := stored.Whole(from.Path, true)
	if err != nil {
		return nil, err
	}
	at := path.Join(".codex/sessions", m[1], m[2], m[3], m[0])
	return []agentcli.File{{Root: agentcli.InHome, Path: at, Data: data, KeepExisting: true}}, nil
}

// storedEnvelope is a line of a file of either format: a wrapped one has a payload.
type storedEnvelope struct {
	Timestamp time.Time       `json:"timestamp"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
}

// storedLine is a line, unwrapped.
type storedLine struct {
	at    time.Time
	outer string // session_meta, turn_context, response_item, event_msg, compacted
	item  storedItem
	raw   []byte
}

// readStored takes a line of either format.
func readStored(line []byte) (storedLine, bool) {
	var e storedEnvelope
	if json.Unmarshal(line, &e) != nil {
		return storedLine{}, false
	}
	l := storedLine{at: e.Timestamp.UTC(), outer: e.Type, raw: line}
	body := e.Payload
	if len(body) == 0 {
		body, l.outer = line, "response_item"
	}
	if json.Unmarshal(body, &l.item) != nil {
		return storedLine{}, false
	}
	if len(e.Payload) == 0 && e.Type == "" {
		l.outer = "session_meta"
		return l, l.item.ID != ""
	}
	return l, true
}
