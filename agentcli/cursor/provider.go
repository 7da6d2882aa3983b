package cursor

import (
	"context"
	"errors"
	"io"
	"regexp"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Options configure a provider.
type Options struct {
	// Name is how agents name it; empty means "cursor".
	Name string
	// Command is the program and its first arguments; empty means the installed one, looked for at each turn.
	Command []string
	// Network says that the program needs the internet.
	Network bool
	// Env is given to the program: its API key and endpoint.
	Env map[string]string
}

// Provider drives cursor-agent.
type Provider struct{ opts Options }

// New makes a provider.
func New(o Options) *Provider {
	if o.Name == "" {
		o.Name = "cursor"
	}
	return &Provider{opts: o}
}

// Info implements agentcli.Provider.
func (p *Provider) Info() agentcli.Info {
	title := "Cursor CLI"
	if p.opts.Name != "cursor" {
		title = "Cursor CLI (" + p.opts.Name + ")"
	}
	return agentcli.Info{Name: p.opts.Name, Title: title, Resume: true, MCP: true, Network: p.opts.Network}
}

// Converse implements agentcli.Provider: it decodes until the terminal record. A session that is not the one asked for is
// noted and reported in the result: the host decides what that means for the conversation.
func (p *Provider) Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	d := NewAutoDecoder()
	emit = noteOtherSession(req, emit)
	for {
		f, err := conn.ReadFrame(ctx)
		if errors.Is(err, io.EOF) {
			err := d.finish(emit)
			return d.Result(), err
		}
		if err != nil {
			return d.Result(), err
		}
		if f.Skipped > 0 {
			err = d.Skipped(f.Skipped, f.End, emit)
		} else {
			err = d.Decode(f.Data, f.End, emit)
		}
		if err != nil || d.result.Terminal {
			return d.Result(), err
		}
	}
}

// noteOtherSession adds a notice when the CLI goes on in another conversation than the one it was to resume.
func noteOtherSession(req agentcli.Request, emit func(agentcli.Event) error) func(agentcli.Event) error {
	return func(e agentcli.Event) error {
		if err := emit(e); err != nil || e.Type != agentcli.EventSession || req.Session == "" || e.Session == "" || e.Session == req.Session {
			return err
		}
		return emit(agentcli.Event{
			Type: agentcli.EventNotice, Offset: e.Offset, Session: e.Session,
			Text: "the agent goes on in session " + e.Session + " instead of " + req.Session + ": it may not remember what was before",
		})
	}
}

// uuidLine finds the id that create-chat prints.
var uuidLine = regexp.MustCompile(`(?m)^\s*([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})\s*$`)

// ParseSession implements agentcli.SessionCreator. An id counts whatever the process did after it: build 2026.09.10
// printed it and did not exit.
func (p *Provider) ParseSession(stdout []byte, exit agentcli.Exit) (string, error) {
	if m := uuidLine.FindSubmatch(stdout); m != nil {
		return string(m[1]), nil
	}
	exit.Stdout = stdout
	class, detail := p.Diagnose(agentcli.Request{}, agentcli.Result{}, exit)
	return "", &SessionError{Class: class, Detail: "cannot create a chat: " + detail}
}

// SessionError says why no session could be made.
type SessionError struct {
	Class  substrat.FailureClass
	Detail string
}

// Error gives the detail.
func (e *SessionError) Error() string { return e.Detail }

// FailureClass gives the class of the turn that wanted the session.
func (e *SessionError) FailureClass() substrat.FailureClass { return e.Class }
