package turnjson

import (
	"slices"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Options configure a provider.
type Options struct {
	// Name is how agents name it; empty means "turnjson".
	Name string
	// Command is the program, Args its arguments.
	Command string
	Args    []string
	// PromptAsArg gives the prompt as the last argument and nothing on stdin, as the official CLI wants it. Without it the
	// turn is written to stdin as one line.
	PromptAsArg bool
	// PromptLimit is how many characters a prompt may have to be an argument; longer ones go to stdin. Zero means 4000. The
	// kernel's own limit holds whatever is said here.
	PromptLimit int
	// DashDash puts "--" before the prompt, for a CLI that takes it. Without it, a prompt that would be read as an option goes
	// to stdin.
	DashDash bool
	// NoApproveMCPs and NoForce leave out --approve-mcps and --force, which the contract adds before a prompt so that nothing
	// waits for a person. --force is left out too for turns that are to change nothing.
	NoApproveMCPs, NoForce bool
	// ModelFlag and ResumeFlag are how the CLI takes a model and a session, such as --model; empty means not at all.
	ModelFlag, ResumeFlag string
	// OneWay closes stdin behind the turn line, for a CLI that reads all of it first. Results of tools then come to it as
	// messages of the next turn, and no cancel reaches it.
	OneWay bool
	// Patience is how long a process may print nothing before its stdin is closed after all: it may be one that reads all of
	// it first, and hears no answer and no cancel then. Zero means five seconds, below zero is for ever.
	Patience time.Duration
	// TextCalls looks for calls that a model prints into its text as <tool_call>{…}</tool_call>.
	TextCalls bool
	// FailUnknownTools fails the turn when the CLI calls a tool that it was not told of. Otherwise the call is answered with
	// an error, and the model can do better.
	FailUnknownTools bool
	// Env is given to the CLI.
	Env map[string]string
	// Network says that the CLI needs the internet.
	Network bool
	// Versions are those of the protocol that are spoken; none means 1.0.
	Versions []string
}

// DefaultPromptLimit is how many characters of a prompt are safe as an argument everywhere.
const DefaultPromptLimit = 4000

// argMost is how long one argument may be under Linux, with its end: 32 pages.
const argMost = 128<<10 - 1

// Provider drives one CLI by the contract.
type Provider struct{ o Options }

// New makes a provider.
func New(o Options) *Provider {
	if o.Name == "" {
		o.Name = "turnjson"
	}
	if o.PromptLimit <= 0 {
		o.PromptLimit = DefaultPromptLimit
	}
	if len(o.Versions) == 0 {
		o.Versions = []string{"1.0"}
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	o.Args, o.Versions = slices.Clone(o.Args), slices.Clone(o.Versions)
	return &Provider{o}
}

// Options gives what the provider was made with, defaults filled in.
func (p *Provider) Options() Options { return p.o }

// Info implements agentcli.Provider.
func (p *Provider) Info() agentcli.Info {
	title := "CLI by the adapter contract"
	if p.o.Name != "turnjson" {
		title += " (" + p.o.Name + ")"
	}
	return agentcli.Info{
		Name: p.o.Name, Title: title, Resume: p.o.ResumeFlag != "", Network: p.o.Network, NeedsProgram: p.o.Command == "",
	}
}

// twoWay reports that the process hears results and a cancel.
func (p *Provider) twoWay() bool { return !p.o.PromptAsArg && !p.o.OneWay }

// argv is the program with its arguments; what a request names as its program stands before what was configured.
func (p *Provider) argv(req agentcli.Request) ([]string, error) {
	argv := slices.Clone(req.Program)
	if len(argv) == 0 {
		if p.o.Command == "" {
			return nil, substrat.Errorf(substrat.CodeNotInstalled, "cannot run the agent: it has no command").
				WithHint("say which program speaks the adapter contract, with --command or in its configuration")
		}
		argv = []string{p.o.Command}
	}
	return append(argv, p.o.Args...), nil
}
