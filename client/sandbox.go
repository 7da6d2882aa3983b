package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"

	"substrat.dev/substrat"
)

// Sandbox tells what the sandbox of an agent's next turn would be.
func (c *Client) Sandbox(ctx context.Context, ref string) (substrat.SandboxView, error) {
	return call[substrat.SandboxView](ctx, c, http.MethodGet, agentPath(ref, "/sandbox"), nil, nil)
}

// ShellAsk is what to run in an agent's sandbox.
type ShellAsk struct {
	// Argv is the command; empty means a shell.
	Argv []string `json:"argv,omitempty"`
	// Keys gives it what the configuration gives the agent's provider.
	Keys bool `json:"keys,omitempty"`
	// Terminal says that it has a terminal, Term what kind.
	Terminal bool   `json:"terminal,omitempty"`
	Term     string `json:"term,omitempty"`
}

// Shell has the daemon ready an agent's sandbox for a command of the caller's, on the same machine. The daemon sends one line of JSON,
// what to start, and keeps the sandbox ready until the connection is closed; what it sends after that, or its end, means that it is
// stopping and that the command has to end.
func (c *Client) Shell(ctx context.Context, ref string, ask ShellAsk) (*Lease, error) {
	if c.socket == "" {
		return nil, substrat.Errorf(substrat.CodeForbidden, "a shell in a sandbox is for the machine that the daemon runs on").
			WithHint("there, by the daemon's socket: unset SUBSTRAT_URL")
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot encode the request: %v", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1"+agentPath(ref, "/shell"), bytes.NewReader(body))
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make the request: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	in := bufio.NewReader(conn)
	err = req.Write(conn)
	var res *http.Response
	if err == nil {
		res, err = http.ReadResponse(in, req)
	}
	if !stop() || err != nil {
		_ = conn.Close()
		return nil, transport(ctx, err)
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		defer conn.Close()
		defer res.Body.Close()
		return nil, readProblem(res)
	}
	return &Lease{conn, in}, nil
}

// Lease is a sandbox that the daemon keeps ready, as the connection over which it says so.
type Lease struct {
	net.Conn
	in *bufio.Reader
}

// Read implements io.Reader.
func (l *Lease) Read(p []byte) (int, error) { return l.in.Read(p) }

// Return tells the daemon that the command has ended. It hangs up when nothing is left of it.
func (l *Lease) Return() error {
	if half, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return l.Close()
}
