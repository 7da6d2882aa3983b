package acp

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Options configure a provider.
type Options struct {
	// Name is how agents name it; empty means "acp". Title is for people.
	Name, Title string
	// Command is the program and its arguments; empty means that each agent brings its own ([agentcli.Request.Program]).
	Command []string
	// AsNamed leaves the program's name as it is, for the search path of where it will run.
	AsNamed bool
	// Env is given to the program: keys and endpoints.
	Env map[string]string
	// AuthMethod is the login to use when the agent asks for one; empty means the only one it offers.
	AuthMethod string
	// ForceModes are the agent's names of modes in which it may write, for [agentcli.ModeForce].
	ForceModes []string
	// BoxedModes come before ForceModes, and BoxedEnv on top of Env, for an agent that runs in a sandbox of ours: what they
	// allow is contained there.
	BoxedModes []string
	// AskArgs make the agent ask before whatever it does ([agentcli.Request.AskFirst]), in place of a mode, for one that does
	// not in those modes.
	AskArgs  []string
	BoxedEnv map[string]string
	// FS offers the agent to read and write files of the workspace through us, Terminals to run commands. Both happen with
	// the rights of this process, so they are for an agent that runs with these rights itself.
	FS, Terminals bool
	// Network says that the program needs the internet, Hosts which of it.
	Network bool
	Hosts   []string
	// Exposes are paths of the host that the program needs to see.
	Exposes []agentcli.Expose
	// Remedy tells how to get the program.
	Remedy string
}

// Provider drives agents that speak the protocol.
type Provider struct{ opts Options }

// New makes a provider.
func New(o Options) *Provider {
	if o.Name == "" {
		o.Name = "acp"
	}
	if o.Title == "" {
		o.Title = "Any agent that speaks ACP"
	}
	return &Provider{opts: o}
}

// Info implements agentcli.Provider.
func (p *Provider) Info() agentcli.Info {
	return agentcli.Info{
		Name: p.opts.Name, Title: p.opts.Title, Resume: true, MCP: true, Network: p.opts.Network, Live: true, Asks: true,
		NeedsProgram: len(p.opts.Command) == 0,
	}
}

// Command implements agentcli.Provider: what to run for the process.
func (p *Provider) Command(req agentcli.Request) (agentcli.Command, error) {
	argv := p.opts.Command
	if len(argv) == 0 {
		argv = req.Program
	}
	if len(argv) == 0 {
		return agentcli.Command{}, substrat.Errorf(substrat.CodeNotInstalled, "cannot run the agent: it has no command").
			WithHint("create it with --command, the program that speaks ACP and its arguments")
	}
	run, exposes := argv[:1], []agentcli.Expose(nil)
	// What a user names for an agent in a sandbox is found there, by the sandbox's search path.
	if (req.Bare || len(p.opts.Command) > 0 || filepath.IsAbs(argv[0])) && !p.opts.AsNamed {
		found, err := p.program(argv[0]).Find(argv[:1])
		if err != nil {
			return agentcli.Command{}, err
		}
		run, exposes = found.Argv, found.Exposes
	}
	if len(argv) > 1 && filepath.IsAbs(argv[1]) {
		exposes = append(exposes, agentcli.Expose{Host: argv[1], Optional: true}) // the script that an interpreter is given
	}
	cmd := agentcli.Command{Env: maps.Clone(p.opts.Env), KeepStdin: true, Network: p.opts.Network, Hosts: p.opts.Hosts, Exposes: append(exposes, p.opts.Exposes...)}
	if !req.Bare && len(p.opts.BoxedEnv) > 0 {
		if cmd.Env == nil {
			cmd.Env = map[string]string{}
		}
		maps.Copy(cmd.Env, p.opts.BoxedEnv)
	}
	cmd.Argv = append(slices.Clone(run), argv[1:]...)
	if p.asksFirst(req) {
		cmd.Argv = append(cmd.Argv, p.opts.AskArgs...)
	}
	cmd.Argv = append(cmd.Argv, req.Args...)
	return cmd, nil
}

// asksFirst reports a turn in which the agent is made to ask by arguments. A mode would undo them.
func (p *Provider) asksFirst(req agentcli.Request) bool {
	return req.AskFirst && req.Mode == agentcli.ModeForce && len(p.opts.AskArgs) > 0
}

// Diagnose implements agentcli.Provider.
func (p *Provider) Diagnose(_ agentcli.Request, partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	how := fmt.Sprintf("the agent ended with code %d before its turn was done", exit.Code)
	if exit.Signal != "" {
		how = "the agent was ended by " + exit.Signal + " before its turn was done"
	}
	tail := strings.TrimSpace(string(exit.Stderr))
	if tail == "" {
		tail = strings.TrimSpace(string(exit.Stdout))
	}
	class := substrat.ClassCrashed
	if tail != "" {
		tail = tail[max(0, len(tail)-2000):]
		how += ": " + strings.ToValidUTF8(tail, "\ufffd")
		if c := classOf(0, tail); partial.Session == "" && c != substrat.ClassAgent {
			class = c
		}
	} else if partial.Session == "" {
		how += " and said nothing: it may not speak ACP; run " + p.byHand() + " and look whether it waits for input"
	}
	return class, how
}

func (p *Provider) byHand() string {
	if len(p.opts.Command) == 0 {
		return "its command"
	}
	return strings.Join(p.opts.Command, " ")
}

// Interrupt implements agentcli.Interrupter. What the agent waits for is answered as cancelled by the host's end of the
// question.
func (p *Provider) Interrupt(ctx context.Context, conn agentcli.Conn, req agentcli.Request) error {
	if req.Live == nil || req.Live.Greeting.Session == "" {
		return substrat.Errorf(substrat.CodeConflict, "there is no session to interrupt")
	}
	line, err := notification("session/cancel", map[string]string{"sessionId": req.Live.Greeting.Session})
	if err != nil {
		return err
	}
	return conn.WriteFrame(ctx, line)
}

// Stray implements agentcli.LiveProvider.
func (p *Provider) Stray(frame []byte) []byte {
	m, ok := parse(frame)
	if !ok || !m.isRequest() {
		return nil
	}
	result, e := strayAnswer(m)
	line, err := response(m.ID, result, e)
	if err != nil {
		return nil
	}
	return line
}
