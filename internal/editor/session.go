package editor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// session is one root agent that the editor talks to.
type session struct {
	*server
	id   acp.SessionId
	root string
	// prompting is held by the one prompt that is under way.
	prompting chan struct{}
	// closed ends with the session: the editor wants to hear no more of it.
	closed chan struct{}

	// The rest belongs to the prompt that is under way, or to the request that loads the session.

	// told are the open questions that want a text, oldest first; the next prompt is the answer to the first.
	told []question
	// waits are the open items for whose answer a process waits in its turn, with the turn.
	waits map[string]string
	// at is how far the root's turns were shown.
	at client.StreamPos

	mu      sync.Mutex
	running map[*call]bool
}

// question is one that the next prompt may answer.
type question struct{ id, agent, text string }

// call is a prompt that waits or is under way.
type call struct {
	once      sync.Once
	cancelled chan struct{}
}

func (c *call) cancel() { c.once.Do(func() { close(c.cancelled) }) }

func (x *session) begin() *call {
	c := &call{cancelled: make(chan struct{})}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.running[c] = true
	return c
}

func (x *session) end(c *call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.running, c)
}

func (x *session) cancel() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for c := range x.running {
		c.cancel()
	}
}

func (s *server) open(root string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := acp.SessionId(root)
	if x := s.sessions[id]; x != nil {
		return x
	}
	x := &session{server: s, id: id, root: root, prompting: make(chan struct{}, 1), closed: make(chan struct{}), waits: map[string]string{}, running: map[*call]bool{}}
	s.sessions[id] = x
	return x
}

// find gives a session of the editor's; one of an earlier connection is taken up again.
func (s *server) find(ctx context.Context, id acp.SessionId) (*session, substrat.Agent, error) {
	a, err := s.c.Agent(ctx, string(id))
	if err == nil {
		err = rootOnly(a)
	}
	if err != nil {
		return nil, a, refusal(err)
	}
	return s.open(a.ID), a, nil
}

// rootOnly refuses an agent that no session can be.
func rootOnly(a substrat.Agent) error {
	switch {
	case a.Parent != "":
		return substrat.Errorf(substrat.CodeInvalid, "cannot talk to %s: it is not the root of a team", a.Path)
	case a.State == substrat.Terminated:
		return substrat.Errorf(substrat.CodeTerminated, "cannot talk to %s: it has ended", a.Path)
	}
	return nil
}

func (s *server) ignoreServers(servers []acp.McpServer) {
	if len(servers) > 0 {
		s.o.Log.Warn("the editor's MCP servers are not handed to agents; configure them in substrat.toml", "servers", len(servers))
	}
}

// NewSession implements acp.Agent.
func (s *server) NewSession(ctx context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	s.ignoreServers(p.McpServers)
	if s.o.Agent != "" {
		_, a, err := s.find(ctx, acp.SessionId(s.o.Agent))
		return acp.NewSessionResponse{SessionId: acp.SessionId(a.ID)}, err
	}
	a, err := s.makeRoot(ctx, p.Cwd)
	if err != nil {
		return acp.NewSessionResponse{}, refusal(err)
	}
	return acp.NewSessionResponse{SessionId: s.open(a.ID).id}, nil
}

// namesMost is how many names are tried for a root.
const namesMost = 1000

// makeRoot makes a root that is named after the directory.
func (s *server) makeRoot(ctx context.Context, dir string) (substrat.Agent, error) {
	if !filepath.IsAbs(dir) {
		return substrat.Agent{}, substrat.Errorf(substrat.CodeInvalid, "cannot work in %q: the session's directory has to be absolute", dir)
	}
	n := s.o.New
	n.Dir = dir
	base := "editor-" + clean(filepath.Base(dir))
	for i := 1; ; i++ {
		n.Name = base
		if i > 1 {
			n.Name = fmt.Sprintf("%s-%d", base, i)
		}
		a, err := s.c.CreateAgent(ctx, n)
		if substrat.CodeOf(err) != substrat.CodeNameTaken || i >= namesMost {
			return a, err
		}
	}
}

// clean makes a name that agents may have of one that directories may have.
func clean(name string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	out = strings.Trim(out, "-_")
	out = strings.TrimRight(out[:min(len(out), 40)], "-_")
	if out == "" {
		return "project"
	}
	return out
}

// LoadSession implements acp.AgentLoader: what was said so far is told again, then the session goes on.
func (s *server) LoadSession(ctx context.Context, p acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	s.ignoreServers(p.McpServers)
	x, _, err := s.find(ctx, p.SessionId)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	turns, err := s.c.Turns(ctx, x.root, 0)
	if err != nil {
		return acp.LoadSessionResponse{}, refusal(err)
	}
	for _, t := range turns {
		x.replay(ctx, t)
	}
	return acp.LoadSessionResponse{}, refusal(x.takeUp(ctx))
}

// replay tells of a turn that was.
func (x *session) replay(ctx context.Context, t substrat.Turn) {
	prompted := false
	for _, id := range t.Messages {
		if m, err := x.c.Message(ctx, id); err == nil && m.From == substrat.User {
			prompted = true
			x.update(acp.UpdateUserMessageText(m.Text))
		}
	}
	text := t.Text
	if t.Outcome != "" && t.Outcome != substrat.Completed {
		text = strings.TrimSpace(text + "\n\n" + fate(t))
	}
	if !prompted && text != "" {
		text = "\n\n" + text
	}
	if text != "" {
		x.update(acp.UpdateAgentMessageText(text))
	}
}

// takeUp tells of the questions that want a text, so that the next prompt can be the answer.
func (x *session) takeUp(ctx context.Context) error {
	select {
	case x.prompting <- struct{}{}:
		defer func() { <-x.prompting }()
	default:
		return nil // the prompt that is under way has told of them
	}
	items, err := x.c.Queue(ctx, false)
	if err != nil {
		return err
	}
	for _, i := range items {
		if i.Team == x.root && len(i.Options) == 0 {
			x.tell(i)
		}
	}
	return nil
}

// ResumeSession implements acp.Agent.
func (s *server) ResumeSession(ctx context.Context, p acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	s.ignoreServers(p.McpServers)
	x, _, err := s.find(ctx, p.SessionId)
	if err == nil {
		err = refusal(x.takeUp(ctx))
	}
	return acp.ResumeSessionResponse{}, err
}

// ListSessions implements acp.Agent: every root that lives, the one that did something last first.
func (s *server) ListSessions(ctx context.Context, p acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	agents, err := s.c.Agents(ctx, false)
	if err != nil {
		return acp.ListSessionsResponse{}, refusal(err)
	}
	type dated struct {
		substrat.Agent
		at time.Time
	}
	var roots []dated
	for _, a := range agents {
		if a.Parent != "" || p.Cwd != nil && *p.Cwd != a.Dir {
			continue
		}
		turns, err := s.c.Turns(ctx, a.ID, 1)
		if err != nil && substrat.CodeOf(err) == substrat.CodeUnavailable {
			return acp.ListSessionsResponse{}, refusal(err)
		}
		roots = append(roots, dated{a, lastActive(a, turns)})
	}
	slices.SortStableFunc(roots, func(a, b dated) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.Path, b.Path)) })
	out := acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}}
	for _, a := range roots {
		out.Sessions = append(out.Sessions, acp.SessionInfo{SessionId: acp.SessionId(a.ID), Cwd: a.Dir, Title: acp.Ptr(a.Path), UpdatedAt: acp.Ptr(a.at.Format(time.RFC3339))})
	}
	return out, nil
}

func lastActive(a substrat.Agent, turns []substrat.Turn) time.Time {
	at := a.CreatedAt
	for _, t := range turns {
		at = t.StartedAt
		if t.EndedAt != nil {
			at = *t.EndedAt
		}
	}
	return at
}

// CloseSession implements acp.Agent: a prompt that is under way ends; the team goes on.
func (s *server) CloseSession(_ context.Context, p acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[p.SessionId]; x != nil {
		close(x.closed)
		delete(s.sessions, p.SessionId)
	}
	return acp.CloseSessionResponse{}, nil
}

// update sends one update. An editor that is gone shows by the end of the connection.
func (x *session) update(u acp.SessionUpdate) {
	if err := x.conn.SessionUpdate(context.Background(), acp.SessionNotification{SessionId: x.id, Update: u}); err != nil && !x.gone() {
		x.o.Log.Warn("cannot send an update", "error", err)
	}
}

// say sends a text of ours, apart from what agents say.
func (x *session) say(format string, args ...any) {
	x.update(acp.UpdateAgentMessageText("\n\n" + fmt.Sprintf(format, args...) + "\n\n"))
}
