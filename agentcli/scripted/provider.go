package scripted

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Provider drives programs.
type Provider struct{}

// New makes a provider.
func New() *Provider { return &Provider{} }

// Info implements agentcli.Provider.
func (*Provider) Info() agentcli.Info {
	return agentcli.Info{Name: "scripted", Title: "A program of yours", Resume: true, Live: true, Replays: true, NeedsProgram: true}
}

// helper is the library for Python, which may lie beside a program.
const helper = "substrat_agent.py"

// Command implements agentcli.Provider. A program outside the workspace is shown to the sandbox, and nothing beside it
// but the helper library.
func (*Provider) Command(req agentcli.Request) (agentcli.Command, error) {
	if len(req.Program) == 0 {
		return agentcli.Command{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot run the agent: it has no command").
			WithHint("create it with --command")
	}
	cmd := agentcli.Command{Argv: req.Program, KeepStdin: true, Env: map[string]string{"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}}
	for _, word := range req.Program[:min(2, len(req.Program))] {
		if !filepath.IsAbs(word) || below(word, req.Dir) || system(word) {
			continue
		}
		cmd.Exposes = append(cmd.Exposes, agentcli.Expose{Host: word, Optional: true},
			agentcli.Expose{Host: filepath.Join(filepath.Dir(word), helper), Optional: true})
	}
	return cmd, nil
}

func below(path, dir string) bool {
	return dir != "" && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// system reports whether every sandbox shows a path anyway.
func system(path string) bool {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/etc"} {
		if below(path, dir) {
			return true
		}
	}
	return false
}

// Diagnose implements agentcli.Provider.
func (*Provider) Diagnose(_ agentcli.Request, _ agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	how := fmt.Sprintf("the program ended with code %d before its turn was done", exit.Code)
	if exit.Signal != "" {
		how = "the program was ended by " + exit.Signal + " before its turn was done"
	}
	if tail := strings.TrimSpace(string(exit.Stderr)); tail != "" {
		how += ": " + tail[max(0, len(tail)-2000):]
	}
	return substrat.ClassCrashed, how
}

// Greet implements agentcli.LiveProvider: who the agent is, and what the program did so far.
func (*Provider) Greet(ctx context.Context, conn agentcli.Conn, req agentcli.Request) (agentcli.Greeting, error) {
	h := hello{Type: typeHello, Protocol: Protocol}
	if a := req.Agent; a != nil {
		h.Agent = about{ID: a.ID, Name: a.Name, Path: a.Path, Parent: a.Parent, Role: a.Role, Instructions: a.Instructions, Metadata: a.Metadata}
	}
	h.State = req.Live.Checkpoint
	if err := write(ctx, conn, h); err != nil {
		return agentcli.Greeting{}, err
	}
	return agentcli.Greeting{}, req.Live.History(func(t agentcli.PastTurn) error {
		if t.Calls == nil {
			t.Calls = []agentcli.Call{}
		}
		return write(ctx, conn, history{Type: typeHistory, PastTurn: t})
	})
}

// Interrupt implements agentcli.LiveProvider.
func (*Provider) Interrupt(ctx context.Context, conn agentcli.Conn, req agentcli.Request) error {
	return write(ctx, conn, map[string]string{"type": typeCancel, "id": req.Live.ID})
}

// Stray implements agentcli.LiveProvider: a call between turns is refused.
func (*Provider) Stray(frame []byte) []byte {
	l, ok := parse(frame)
	if !ok || l.Type != typeCall {
		return nil
	}
	out, err := encode(resultLine{Type: typeResult, ID: l.id(), Error: substrat.Errorf(substrat.CodeForbidden, "no turn is open")})
	if err != nil {
		return nil
	}
	return out
}

func write(ctx context.Context, conn agentcli.Conn, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	return conn.WriteFrame(ctx, data)
}
