// Package editor makes a team one agent inside an editor: it speaks the Agent Client Protocol as an agent does, and the
// daemon's API as any user does. A prompt goes to the team's root; what the root says and does, and what the others are
// at, comes as updates; what anybody of the team needs a person for goes to the editor's user.
//
// It translates. It decides nothing about teams, keeps nothing that a restart would miss, and starts no agent's process.
package editor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// Options say which team an editor talks to.
type Options struct {
	// Agent is a root that exists; empty makes one for each session.
	Agent string
	// New is what such a root is made of; name and directory are filled in.
	New     substrat.NewAgent
	Version string
	Log     *slog.Logger
}

// Serve speaks to the editor until it closes the connection or ctx ends.
func Serve(ctx context.Context, c *client.Client, o Options, in io.Reader, out io.Writer) error {
	s := &server{c: c, o: o, sessions: map[acp.SessionId]*session{}}
	// The connection reads as soon as it is made; nothing is to come before we know it.
	known := make(chan struct{})
	s.conn = acp.NewAgentSideConnection(s, out, gated{in, known})
	s.conn.SetLogger(o.Log)
	close(known)
	select {
	case <-s.conn.Done():
	case <-ctx.Done():
	}
	return nil
}

// gated reads once it may.
type gated struct {
	io.Reader
	open <-chan struct{}
}

// Read implements io.Reader.
func (g gated) Read(b []byte) (int, error) {
	<-g.open
	return g.Reader.Read(b)
}

// server is the agent's side of one connection.
type server struct {
	c    *client.Client
	o    Options
	conn *acp.AgentSideConnection

	mu       sync.Mutex
	sessions map[acp.SessionId]*session
}

// session is one root agent that the editor talks to.
type session struct {
	*server
	id   acp.SessionId
	root string
	// prompts go one at a time.
	prompting sync.Mutex
	// unanswered is the item that the next prompt is the answer to, "" for none.
	unanswered string
}

// refusal turns an error of the daemon's into one that the editor shows.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if substrat.CodeOf(err) == substrat.CodeUnavailable {
		text = "the Substrat daemon is not running: start it with `substrat daemon start`, then try again"
	}
	return &acp.RequestError{Code: -32603, Message: text}
}

// Initialize implements acp.Agent.
func (s *server) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	title := "Substrat"
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "substrat", Title: &title, Version: s.o.Version},
		AuthMethods:     []acp.AuthMethod{},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:         true,
			PromptCapabilities:  acp.PromptCapabilities{EmbeddedContext: true},
			SessionCapabilities: acp.SessionCapabilities{List: &acp.SessionListCapabilities{}, Resume: &acp.SessionResumeCapabilities{}, Close: &acp.SessionCloseCapabilities{}},
		},
	}, nil
}

// Authenticate implements acp.Agent: there is nothing to log in to.
func (s *server) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

// NewSession implements acp.Agent.
func (s *server) NewSession(ctx context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if len(p.McpServers) > 0 {
		s.o.Log.Warn("the editor's MCP servers are not handed to agents; configure them in substrat.toml", "servers", len(p.McpServers))
	}
	var a substrat.Agent
	var err error
	if s.o.Agent != "" {
		a, err = s.c.Agent(ctx, s.o.Agent)
		if err == nil && a.Parent != "" {
			err = substrat.Errorf(substrat.CodeInvalid, "%s is not the root of a team", a.Path)
		}
	} else {
		a, err = s.makeRoot(ctx, p.Cwd)
	}
	if err != nil {
		return acp.NewSessionResponse{}, refusal(err)
	}
	return acp.NewSessionResponse{SessionId: s.open(a.ID).id}, nil
}

// namesMost is how many names are tried for a root.
const namesMost = 100

// makeRoot makes a root that is named after the directory.
func (s *server) makeRoot(ctx context.Context, dir string) (substrat.Agent, error) {
	n := s.o.New
	n.Dir = dir
	base := "editor-" + clean(filepath.Base(dir))
	for i := 1; ; i++ {
		n.Name = base
		if i > 1 {
			n.Name = fmt.Sprintf("%s-%d", base, i)
		}
		a, err := s.c.CreateAgent(ctx, n)
		if substrat.CodeOf(err) != substrat.CodeConflict || i >= namesMost {
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
	if out == "" {
		return "project"
	}
	return out[:min(len(out), 40)]
}

func (s *server) open(root string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := acp.SessionId(root)
	if x := s.sessions[id]; x != nil {
		return x
	}
	x := &session{server: s, id: id, root: root}
	s.sessions[id] = x
	return x
}

// find gives a session of the editor's; one of an earlier connection is taken up again.
func (s *server) find(ctx context.Context, id acp.SessionId) (*session, substrat.Agent, error) {
	a, err := s.c.Agent(ctx, string(id))
	if err != nil {
		return nil, a, refusal(err)
	}
	if a.Parent != "" || a.State == substrat.Terminated {
		return nil, a, acp.NewInvalidParams(map[string]string{"error": "no such session: " + string(id)})
	}
	return s.open(a.ID), a, nil
}

// LoadSession implements acp.AgentLoader: what was said so far is told again, then the session goes on.
func (s *server) LoadSession(ctx context.Context, p acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	x, _, err := s.find(ctx, p.SessionId)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	turns, err := s.c.Turns(ctx, x.root, 0)
	if err != nil {
		return acp.LoadSessionResponse{}, refusal(err)
	}
	for _, t := range turns {
		prompted := false
		for _, id := range t.Messages {
			m, err := s.c.Message(ctx, id)
			if err == nil && m.From == substrat.User {
				prompted = true
				x.update(ctx, acp.UpdateUserMessageText(m.Text))
			}
		}
		switch {
		case t.Text == "":
		case prompted:
			x.update(ctx, acp.UpdateAgentMessageText(t.Text))
		default:
			x.update(ctx, acp.UpdateAgentMessageText("\n\n"+t.Text))
		}
	}
	return acp.LoadSessionResponse{}, nil
}

// ResumeSession implements acp.Agent.
func (s *server) ResumeSession(ctx context.Context, p acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	_, _, err := s.find(ctx, p.SessionId)
	return acp.ResumeSessionResponse{}, err
}

// ListSessions implements acp.Agent: every root that lives.
func (s *server) ListSessions(ctx context.Context, p acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	agents, err := s.c.Agents(ctx, false)
	if err != nil {
		return acp.ListSessionsResponse{}, refusal(err)
	}
	out := acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}}
	for _, a := range agents {
		if a.Parent != "" || p.Cwd != nil && *p.Cwd != a.Dir {
			continue
		}
		at := a.CreatedAt.Format(time.RFC3339)
		out.Sessions = append(out.Sessions, acp.SessionInfo{SessionId: acp.SessionId(a.ID), Cwd: a.Dir, Title: acp.Ptr(a.Path), UpdatedAt: &at})
	}
	return out, nil
}

// CloseSession implements acp.Agent: the team goes on.
func (s *server) CloseSession(_ context.Context, p acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, p.SessionId)
	return acp.CloseSessionResponse{}, nil
}

// Cancel implements acp.Agent. The connection ends the prompt's context, which is where it is dealt with.
func (s *server) Cancel(context.Context, acp.CancelNotification) error { return nil }

// SetSessionMode implements acp.Agent: there are none.
func (s *server) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}

// SetSessionConfigOption implements acp.Agent: there are none.
func (s *server) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

// update sends one update. An editor that is gone shows by the end of the connection.
func (x *session) update(ctx context.Context, u acp.SessionUpdate) {
	if err := x.conn.SessionUpdate(context.WithoutCancel(ctx), acp.SessionNotification{SessionId: x.id, Update: u}); err != nil {
		x.o.Log.Warn("cannot send an update", "error", err)
	}
}
