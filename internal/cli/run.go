package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/providers"
	"substrat.dev/substrat/internal/render"
)

// runFlags are those of run.
type runFlags struct {
	provider, command, resume, model, mode, dir, home, instructions, config, search string
	force, quiet, full, raw, partial, exec                                          bool
	args, mcp                                                                       []string
	wall, silence                                                                   time.Duration
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run [PROMPT…]", Short: "Run one prompt with an agent CLI, here and now, without a daemon",
		Long: `Run one prompt with an agent CLI, here and now: no daemon, no team, no sandbox. The agent works in the current directory
with your login and your rights, under the CLI's own rules unless --mode says otherwise. Without PROMPT, or with -, it is
read from the input. With --json each event is a line; the last has "type":"result", the text and the outcome.

Whatever the agent started is gone when the command ends, also after Ctrl-C. Exit code 0 if the turn completed, else 1.`,
		Example: `  substrat run --provider cursor "What does this program do?"
  substrat run --provider claude --mode force --json "Mend the tests" > events.ndjson
  substrat run --resume 6b5e… "And now the docs"
  git diff | substrat run --quiet --mode ask -`,
		Args: cobra.ArbitraryArgs,
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.provider, "provider", "p", "", "which CLI; the first that is installed if not given (substrat providers lists them)")
	flags.StringVar(&f.command, "command", "", "the command of a provider that runs any, as one string split at spaces")
	flags.StringVar(&f.resume, "resume", "", "the conversation to go on with, by its id")
	flags.StringVarP(&f.model, "model", "m", "", "which model, in the CLI's words")
	flags.StringVar(&f.mode, "mode", "", "default (the CLI's own rules), force (everything without asking), plan or ask (change nothing)")
	flags.BoolVarP(&f.force, "force", "f", false, "the same as --mode force")
	flags.StringVarP(&f.dir, "dir", "C", "", "where to work, instead of the current directory")
	flags.StringVar(&f.home, "home", "", "a private home for the agent, instead of yours")
	flags.StringVar(&f.instructions, "instructions", "", "standing instructions beside the prompt")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "an MCP server, NAME=COMMAND or NAME=URL; may be given again")
	flags.StringArrayVar(&f.args, "arg", nil, "a further argument for the CLI; may be given again")
	flags.StringVar(&f.config, "config", "", "models, accounts and fallbacks of CLIs by the adapter contract, as their JSON file has them")
	flags.BoolVar(&f.exec, "allow-exec", false, "let a CLI by the adapter contract run commands through the tool exec")
	flags.StringVar(&f.search, "search-endpoint", "", "where its tool web_search asks: an address with {query} in it")
	flags.DurationVar(&f.wall, "timeout", 0, "the longest it may take (default 2h)")
	flags.DurationVar(&f.silence, "silence", 0, "the longest it may print nothing (default 30m)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print the final text only")
	flags.BoolVar(&f.full, "full", false, "leave nothing out: reasoning, notices, whole outputs")
	flags.BoolVar(&f.partial, "partial", false, "with --json, the pieces of a text as they come, not each text whole")
	flags.BoolVar(&f.raw, "raw", false, "with --json, the CLI's own frame beside each event")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		prompt, err := a.prompt(args)
		if err != nil {
			return err
		}
		o, err := f.options(prompt)
		o.Partial = f.partial || !a.json
		if err != nil {
			return err
		}
		p, clear, err := a.runProvider(cmd.Context(), f, &o)
		if err != nil {
			return err
		}
		defer clear()
		if len(args) > 0 && terminal(a.In) && terminal(a.Err) {
			o.Ask = a.askTerminal
		}
		return a.runPrompt(cmd.Context(), p, o, f)
	}
	return cmd
}

// runProvider finds the provider, with what it needs beside the prompt.
func (a *app) runProvider(ctx context.Context, f runFlags, o *agentcli.Options) (p agentcli.Provider, clear func(), err error) {
	clear = func() {}
	if f.config != "" {
		p, err = a.configured(f, o)
	} else {
		p, clear, err = a.chooseProvider(ctx, f.provider)
	}
	if err == nil && p.Info().Name == "turnjson" {
		o.Tools, err = a.contractTools(f, o.Dir)
	}
	return p, clear, err
}

// prompt is what was said on the command line, or comes on the input.
func (a *app) prompt(args []string) (string, error) {
	if len(args) > 0 && (len(args) > 1 || args[0] != "-") {
		return strings.Join(args, " "), nil
	}
	if len(args) == 0 && terminal(a.In) {
		return "", usageError{errors.New("there is no prompt")}
	}
	data, err := io.ReadAll(io.LimitReader(a.In, promptMost+1))
	switch {
	case err != nil:
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot read the prompt: %v", err)
	case len(data) > promptMost:
		return "", substrat.Errorf(substrat.CodeTooLarge, "cannot take the prompt: it is over %d MB", promptMost>>20)
	case len(strings.TrimSpace(string(data))) == 0:
		return "", usageError{errors.New("the prompt is empty")}
	}
	return string(data), nil
}

const promptMost = 16 << 20

func (f runFlags) options(prompt string) (agentcli.Options, error) {
	o := agentcli.Options{
		Prompt: prompt, Session: f.resume, Model: f.model, Mode: agentcli.Mode(f.mode), Dir: f.dir, Home: f.home, Instructions: f.instructions, Args: f.args,
		Program: strings.Fields(f.command), Environ: os.Environ(), Explain: true,
		Limits: agentcli.Limits{Wall: f.wall, Silence: f.silence},
	}
	switch {
	case f.force && f.mode != "" && o.Mode != agentcli.ModeForce:
		return o, usageError{errors.New("--force and --mode contradict each other")}
	case f.force:
		o.Mode = agentcli.ModeForce
	}
	switch o.Mode {
	case "", agentcli.ModeDefault, agentcli.ModeForce, agentcli.ModePlan, agentcli.ModeAsk:
	default:
		return o, usageError{fmt.Errorf("there is no mode %q: default, force, plan or ask", f.mode)}
	}
	for _, text := range f.mcp {
		name, what, ok := strings.Cut(text, "=")
		words := strings.Fields(what)
		if !ok || name == "" || len(words) == 0 {
			return o, usageError{fmt.Errorf("--mcp takes NAME=COMMAND or NAME=URL, not %q", text)}
		}
		server := agentcli.MCPServer{Name: name, Command: words[0], Args: words[1:]}
		if strings.HasPrefix(what, "http://") || strings.HasPrefix(what, "https://") {
			server = agentcli.MCPServer{Name: name, URL: what}
		}
		o.MCP = append(o.MCP, server)
	}
	return o, nil
}

// chooseProvider finds the provider of that name; without one, the first real one that is installed. Clear removes what
// was made for it.
func (a *app) chooseProvider(ctx context.Context, name string) (p agentcli.Provider, clear func(), err error) {
	simulator, clear := "cursor-agent", func() {}
	if name == "sim" {
		dir, err := os.MkdirTemp("", "substrat-sim-")
		if err != nil {
			return nil, nil, substrat.Errorf(substrat.CodeStorage, "cannot make a directory: %v", err)
		}
		clear = func() { _ = os.RemoveAll(dir) }
		simulator = filepath.Join(dir, "cursor-agent")
		exe, err := os.Executable()
		if err == nil {
			err = os.Symlink(exe, simulator)
		}
		if err != nil {
			clear()
			return nil, nil, substrat.Errorf(substrat.CodeStorage, "cannot prepare the simulator: %v", err)
		}
	}
	all := providers.All(a.Getenv, simulator)
	if name == "" {
		for _, p := range all {
			if prober, ok := p.(agentcli.Prober); ok && p.Info().Name != "sim" && !p.Info().NeedsProgram && prober.Probe(ctx).Installed {
				return p, clear, nil
			}
		}
		return nil, nil, substrat.Errorf(substrat.CodeNotInstalled, "no agent CLI is installed").WithHint("substrat providers says how to get one; --provider sim is built in")
	}
	if p, err = providers.Find(all, name); err != nil {
		clear()
		return nil, nil, err
	}
	return p, clear, nil
}

// runPrompt runs it and shows it.
func (a *app) runPrompt(ctx context.Context, p agentcli.Provider, o agentcli.Options, f runFlags) error {
	out := a.transcript(render.Options{Full: f.full})
	began := time.Now()
	tools := 0
	result, err := agentcli.Do(ctx, p, o, func(e agentcli.Event) error {
		if e.Type == agentcli.EventToolEnd {
			tools++
		}
		switch {
		case a.json:
			line, err := agentcli.Line(e, f.raw)
			if err == nil {
				_, err = a.Out.Write(line)
			}
			return err
		case !f.quiet:
			out.Event(e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case a.json:
	case f.quiet:
		fmt.Fprintln(a.Out, printable(result.Text))
		if result.Outcome != substrat.Completed {
			fmt.Fprintf(a.Err, "substrat: the turn %s: %s: %s\n", result.Outcome, result.Class, printable(result.Detail))
		}
	default:
		ended := time.Now()
		out.Ended(substrat.Turn{
			StartedAt: began, EndedAt: &ended, Outcome: result.Outcome, Class: result.Class, Detail: result.Detail, ToolCalls: tools, Usage: result.Usage,
		})
		if result.Session != "" {
			fmt.Fprintf(a.Err, "go on with: substrat run --provider %s --resume %s\n", p.Info().Name, printable(result.Session))
		}
	}
	if result.Outcome != substrat.Completed {
		return failed{errors.New("the turn did not complete")}
	}
	return nil
}
