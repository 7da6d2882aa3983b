// Package editor makes a team one agent inside an editor: it speaks the Agent Client Protocol as an agent does, and the
// daemon's API as any user does. A prompt goes to the team's root; what the root says and does, and what the others are
// at, comes as updates; what anybody of the team needs a person for goes to the editor's user.
//
// It translates. It decides nothing about teams, keeps nothing that a restart would miss, and starts no agent's process.
package editor

import (
	"context"
	"io"
	"log/slog"
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

// leaving is how long Serve waits for what is under way when the connection has ended.
const leaving = 5 * time.Second

// Serve speaks to the editor until it closes the connection or ctx ends. The teams go on.
func Serve(ctx context.Context, c *client.Client, o Options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{c: c, o: o, ctx: ctx, sessions: map[acp.SessionId]*session{}}
	// The connection reads as soon as it is made; nothing is to come before we know it.
	known := make(chan struct{})
	s.conn = acp.NewAgentSideConnection(s, out, gated{in, known})
	s.conn.SetLogger(o.Log)
	close(known)
	select {
	case <-s.conn.Done():
	case <-ctx.Done():
	}
	cancel()
	select {
	case <-s.left():
	case <-time.After(leaving): // an editor that neither reads nor hangs up
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
	// ctx ends with the connection.
	ctx context.Context

	mu       sync.Mutex
	sessions map[acp.SessionId]*session
	prompts  sync.WaitGroup
	leaving  bool
}

// enter counts a prompt that is under way; none begins once the connection has ended.
func (s *server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving {
		return false
	}
	s.prompts.Add(1)
	return true
}

// left is closed when no prompt is under way any more.
func (s *server) left() <-chan struct{} {
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.prompts.Wait()
	}()
	return done
}

// gone reports whether the editor has ended the connection, rather than a prompt.
func (s *server) gone() bool {
	select {
	case <-s.conn.Done():
		return true
	default:
		return s.ctx.Err() != nil
	}
}

// The protocol's codes of errors.
const (
	codeInvalid  = -32602
	codeInternal = -32603
	codeNotFound = -32002
)

// refusal turns an error of the daemon's into one that the editor shows.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	code, text := substrat.CodeOf(err), err.Error()
	out := &acp.RequestError{Code: codeInternal, Message: text, Data: map[string]any{"code": code}}
	switch code {
	case substrat.CodeUnavailable:
		out.Message = "the Substrat daemon is not running: start it with `substrat daemon start`, then try again"
	case substrat.CodeInvalid, substrat.CodeTooLarge:
		out.Code = codeInvalid
	case substrat.CodeNotFound, substrat.CodeTerminated:
		out.Code = codeNotFound
	}
	return out
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

// Cancel implements acp.Agent: the session's prompts end, with the turns of the team.
func (s *server) Cancel(_ context.Context, p acp.CancelNotification) error {
	s.mu.Lock()
	x := s.sessions[p.SessionId]
	s.mu.Unlock()
	if x != nil {
		x.cancel()
	}
	return nil
}

// SetSessionMode implements acp.Agent: there are none.
func (s *server) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}

// SetSessionConfigOption implements acp.Agent: there are none.
func (s *server) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}
