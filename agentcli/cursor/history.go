package cursor

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/stored"
)

// Chats are kept below the directory of the CLI's configuration, in chats/MD5/ID, where MD5 is of the workspace's path:
// store.db with the conversation, meta.json beside it, and prompt_history.json in some builds. A chat without a turn has
// no store.db yet. Sessions held through ACP are in acp-sessions/ID, in the same form.

const (
	chatsDir   = "chats"
	acpDir     = "acp-sessions"
	storeName  = "store.db"
	jsonMost   = 16 << 20
	listedMost = 20_000
	// peekMost is the size over which a listing does not look into a store.
	peekMost = 256 << 20
)

var chatID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{7,127}$`)

// chatMeta is meta.json.
type chatMeta struct {
	CreatedAtMs     json.RawMessage `json:"createdAtMs"`
	UpdatedAtMs     json.RawMessage `json:"updatedAtMs"`
	HasConversation bool            `json:"hasConversation"`
	CWD             string          `json:"cwd"`
	Title           string          `json:"title"`
}

// WorkspaceHash names a workspace's directory among the chats: the MD5 of its path, absolute and without symbolic links.
func WorkspaceHash(dir string) string {
	sum := md5.Sum([]byte(dir))
	return hex.EncodeToString(sum[:])
}

// Sessions implements agentcli.Historian.
func (p *Provider) Sessions(ctx context.Context, o agentcli.HistoryOptions) ([]agentcli.StoredSession, error) {
	dirs, err := p.chatDirs(o, "")
	if err != nil {
		return nil, err
	}
	o.Candidates = append(o.Candidates[:len(o.Candidates):len(o.Candidates)], p.trusted(o)...)
	var out []agentcli.StoredSession
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := p.describeChat(dir, o)
		if o.Dir != "" && s.Dir != "" && !sameDir(s.Dir, o.Dir) {
			continue
		}
		p.peek(ctx, &s)
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b agentcli.StoredSession) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// peek fills in what the store says itself.
func (p *Provider) peek(ctx context.Context, s *agentcli.StoredSession) {
	st, err := os.Lstat(s.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && st.Size() > peekMost {
		return
	}
	store, err := openStore(ctx, s.Path)
	if err != nil {
		s.Problem = stored.Reason(s.Path, err)
		return
	}
	defer store.close()
	store.describe(s)
	ids, err := store.messageIDs(ctx)
	if err != nil {
		s.Problem = stored.Reason(s.Path, err)
	}
	s.Messages = len(ids)
}

// describe fills in what the meta record says.
func (s *chatStore) describe(x *agentcli.StoredSession) {
	x.Mode, x.Model = s.meta.Mode, s.meta.LastUsedModel
	if x.CreatedAt.IsZero() {
		x.CreatedAt = s.meta.CreatedAt
	}
	if (x.Title == "" || x.Title == newAgent) && s.meta.Name != "" && s.meta.Name != newAgent {
		x.Title = s.meta.Name
	}
	if x.Title == "" {
		x.Title = s.meta.Name
	}
}

// newAgent is what the CLI calls a chat that has no name yet.
const newAgent = "New Agent"

// Load implements agentcli.Historian.
func (p *Provider) Load(ctx context.Context, o agentcli.HistoryOptions, id string, yield func(agentcli.Message) error) (agentcli.StoredSession, error) {
	o.Candidates = append(o.Candidates[:len(o.Candidates):len(o.Candidates)], p.trusted(o)...)
	s, err := p.find(o, id)
	if err != nil {
		return s, err
	}
	store, err := openStore(ctx, s.Path)
	if errors.Is(err, fs.ErrNotExist) && busy(filepath.Join(filepath.Dir(s.Path), "meta.json")) {
		return s, nil // made, and never used
	}
	if err != nil {
		return s, err
	}
	defer store.close()
	store.describe(&s)
	ids, err := store.messageIDs(ctx)
	if err != nil {
		return s, err
	}
	named := s.Title != "" && s.Title != newAgent
	join := &agentcli.Joiner{Yield: func(m agentcli.Message) error {
		if !named && m.Role == agentcli.RoleUser && !m.Context {
			s.Title, named = stored.Title(m.Text()), true
		}
		return yield(m)
	}}
	err = store.messages(ctx, ids, join)
	s.Messages = join.Count
	return s, err
}

// messages gives the messages of these ids to a joiner. What comes before an error is good.
func (s *chatStore) messages(ctx context.Context, ids [][32]byte, join *agentcli.Joiner) error {
	total := int64(0)
	for _, raw := range ids {
		id := hex.EncodeToString(raw[:])
		data, err := s.blob(ctx, id)
		if err != nil {
			return errors.Join(join.Flush(), err)
		}
		if total += int64(len(data)); total > totalMost {
			err := substrat.Errorf(substrat.CodeTooLarge, "cannot read all of %s: its messages have over %d GiB", s.path, totalMost>>30)
			return errors.Join(join.Flush(), err)
		}
		m, results, ok := decodeMessage(data)
		if !ok {
			why := s.foreign("its message " + short(id) + " is of no known form")
			if sealed(data) {
				why = s.encrypted()
			}
			return errors.Join(join.Flush(), why)
		}
		if m.ID == "" {
			m.ID = id
		}
		if m.Model == "" && m.Role == agentcli.RoleAssistant {
			m.Model = s.meta.LastUsedModel
		}
		if err := give(join, m, results); err != nil {
			return err
		}
	}
	return join.Flush()
}

// give adds a message, with its results put where they belong. A result without its call is a message of its own.
func give(join *agentcli.Joiner, m agentcli.Message, results []storedPart) error {
	lost := false
	for _, r := range results {
		known, err := join.Result(r.ToolCallID, settleStored(r))
		if err != nil {
			return err
		}
		if !known {
			call := r.call()
			settleStored(r)(call)
			m.Blocks, lost = append(m.Blocks, agentcli.Block{Type: agentcli.BlockTool, Tool: call}), true
		}
	}
	if m.Role == agentcli.RoleTool && !lost && len(m.Blocks) == 0 {
		return nil
	}
	return join.Add(m)
}

// find gives a session by its id, the beginning of it, or the path of its store.
func (p *Provider) find(o agentcli.HistoryOptions, id string) (agentcli.StoredSession, error) {
	if filepath.Base(id) == storeName || strings.ContainsRune(id, filepath.Separator) {
		dir := id
		if filepath.Base(id) == storeName {
			dir = filepath.Dir(id)
		}
		if _, err := os.Lstat(dir); err != nil {
			return agentcli.StoredSession{}, p.notFound(id)
		}
		return p.describeChat(dir, o), nil
	}
	dirs, err := p.chatDirs(o, id)
	if err != nil {
		return agentcli.StoredSession{}, err
	}
	var exact []string
	for _, d := range dirs {
		if filepath.Base(d) == id {
			exact = append(exact, d)
		}
	}
	if len(exact) > 0 {
		dirs = exact
	}
	switch {
	case len(dirs) == 0:
		return agentcli.StoredSession{}, p.notFound(id)
	case len(dirs) > 1:
		return agentcli.StoredSession{}, substrat.Errorf(substrat.CodeAmbiguous, "%q fits %d sessions of %s", id, len(dirs), p.Info().Title).
			WithHint("give the whole id, the workspace, or the path of one: %s", filepath.Join(dirs[0], storeName))
	}
	return p.describeChat(dirs[0], o), nil
}

func (p *Provider) notFound(id string) error {
	return substrat.Errorf(substrat.CodeNotFound, "no session %.120q of %s", id, p.Info().Title).WithHint("substrat session ls --provider cursor shows what is there")
}

// places are where chats are: one directory a chat, in directories of workspaces and of ACP.
func (p *Provider) places(o agentcli.HistoryOptions) (string, error) {
	getenv := o.Getenv
	if getenv == nil && o.Home == "" {
		getenv = os.Getenv
	}
	if getenv != nil && getenv("CURSOR_CONFIG_DIR") == "" && getenv("XDG_CONFIG_HOME") != "" {
		at := filepath.Join(getenv("XDG_CONFIG_HOME"), "cursor")
		if _, err := os.Stat(filepath.Join(at, chatsDir)); err == nil {
			return at, nil
		}
	}
	return o.Place("CURSOR_CONFIG_DIR", ".cursor")
}

// chatDirs lists the directories of chats whose id begins so.
func (p *Provider) chatDirs(o agentcli.HistoryOptions, id string) ([]string, error) {
	root, err := p.places(o)
	if err != nil {
		return nil, err
	}
	projects := []string{filepath.Join(root, acpDir)}
	if o.Dir != "" {
		for _, d := range spellings(o.Dir) {
			projects = append(projects, filepath.Join(root, chatsDir, WorkspaceHash(d)))
		}
	} else {
		list, err := os.ReadDir(filepath.Join(root, chatsDir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, unreadable(filepath.Join(root, chatsDir), err)
		}
		for _, d := range list {
			projects = append(projects, filepath.Join(root, chatsDir, d.Name()))
		}
	}
	var out []string
	for _, project := range projects {
		list, err := os.ReadDir(project)
		if err != nil {
			continue // not a directory, or gone by now
		}
		for _, d := range list {
			if d.IsDir() && chatID.MatchString(d.Name()) && strings.HasPrefix(d.Name(), id) && len(out) < listedMost {
				out = append(out, filepath.Join(project, d.Name()))
			}
		}
	}
	return out, nil
}

// describeChat says what stands around the store.
func (p *Provider) describeChat(dir string, o agentcli.HistoryOptions) agentcli.StoredSession {
	s := agentcli.StoredSession{Provider: p.Info().Name, ID: filepath.Base(dir), Path: filepath.Join(dir, storeName)}
	var m chatMeta
	if readJSON(filepath.Join(dir, "meta.json"), &m) {
		s.Dir, s.Title, s.CreatedAt, s.UpdatedAt = m.CWD, m.Title, millis(m.CreatedAtMs), millis(m.UpdatedAtMs)
	}
	if s.Dir == "" {
		s.Dir = unhash(filepath.Base(filepath.Dir(dir)), append([]string{o.Dir}, o.Candidates...))
	}
	if s.Title == "" {
		s.Title = firstPrompt(filepath.Join(dir, "prompt_history.json"))
	}
	for _, f := range []string{s.Path, s.Path + "-wal"} {
		if st, err := os.Lstat(f); err == nil && (s.UpdatedAt.IsZero() || strings.HasSuffix(f, "-wal")) && st.ModTime().After(s.UpdatedAt) {
			s.UpdatedAt = st.ModTime().UTC().Truncate(time.Millisecond)
		}
	}
	return s
}

// trusted are the workspaces that the CLI was told to trust: the files that say so name them.
func (p *Provider) trusted(o agentcli.HistoryOptions) (dirs []string) {
	root, err := p.places(o)
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(root, "projects", "*", ".workspace-trusted"))
	for _, f := range files[:min(len(files), 1000)] {
		var t struct{ WorkspacePath string }
		if readJSON(f, &t) && filepath.IsAbs(t.WorkspacePath) {
			dirs = append(dirs, t.WorkspacePath)
		}
	}
	return dirs
}

// unhash finds the directory that a name among the chats stands for.
func unhash(name string, candidates []string) string {
	for _, c := range candidates {
		if c == "" {
			continue
		}
		for _, d := range spellings(c) {
			if WorkspaceHash(d) == name {
				return d
			}
		}
	}
	return ""
}

// spellings are the paths a directory may have been known by: without symbolic links, and as given.
func spellings(dir string) []string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = filepath.Clean(dir)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		return []string{real, abs}
	}
	return []string{abs}
}

func sameDir(a, b string) bool {
	for _, x := range spellings(b) {
		if slices.Contains(spellings(a), x) {
			return true
		}
	}
	return false
}

// firstPrompt reads the oldest entry of a list of prompts: strings, or objects with a text.
func firstPrompt(path string) string {
	var list []json.RawMessage
	if !readJSON(path, &list) {
		return ""
	}
	for _, v := range list {
		var text string
		if json.Unmarshal(v, &text) != nil {
			var o struct{ Text, Prompt, Content string }
			_ = json.Unmarshal(v, &o)
			text = first(o.Text, o.Prompt, o.Content)
		}
		if text != "" {
			return stored.Title(text)
		}
	}
	return ""
}

// readJSON reads a small file, if it is there and holds what is expected.
func readJSON(path string, into any) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, jsonMost))
	return err == nil && json.Unmarshal(data, into) == nil
}
