// Package cli is the command line: one file for each command. Everything it shows comes from the daemon's API by way of
// the client; only daemon, mcp, doctor and demo reach further. It decides nothing about teams.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/daemon"
	"substrat.dev/substrat/internal/relay"
	"substrat.dev/substrat/internal/render"
)

// Surroundings are what a command has of the world.
type Surroundings struct {
	Getenv   func(string) string
	In       io.Reader
	Out, Err io.Writer
}

// app is one run of the command line. What it prints to Out and Err a terminal can take; raw is for protocols, and for what
// draws the screen itself.
type app struct {
	Surroundings
	raw  io.Writer
	json bool
}

// The exit codes.
const (
	exitOK         = 0
	exitFailure    = 1
	exitUsage      = 2
	exitNotRunning = 3
)

// Run carries out one command line and gives the exit code: 0 done, 1 failed, 2 not understood, 3 no daemon.
func Run(ctx context.Context, args []string, s Surroundings) int {
	if len(args) > 0 && args[0] == "mcp" && !asOperator(args) {
		return relay.Main(ctx, args[1:], s.Getenv, s.In, s.Out, s.Err)
	}
	out, complaints := &render.Safe{To: s.Out}, &render.Safe{To: s.Err}
	a := &app{Surroundings: s, raw: s.Out}
	a.Out, a.Err = out, complaints
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitOK
	if err != nil {
		a.complain(err)
		code = exitCode(err)
	}
	if err := errors.Join(out.Close(), complaints.Close()); err != nil && code == exitOK {
		code = exitFailure
	}
	return code
}

// usageError marks what is wrong with the command line itself.
type usageError struct{ error }

// failed marks a command that has shown its failure already.
type failed struct{ error }

func exitCode(err error) int {
	var usage usageError
	var exit exitWith
	switch {
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &usage):
		return exitUsage
	case substrat.CodeOf(err) == substrat.CodeUnavailable:
		return exitNotRunning
	default:
		return exitFailure
	}
}

// complain tells what failed and what to do.
func (a *app) complain(err error) {
	var shown failed
	var exit exitWith
	if errors.As(err, &shown) || errors.As(err, &exit) {
		return
	}
	e := &substrat.Error{Code: substrat.CodeInternal, Message: err.Error()}
	var usage usageError
	if errors.As(err, &usage) {
		e = &substrat.Error{Code: substrat.CodeInvalid, Message: err.Error(), Hint: "see --help"}
	}
	_ = errors.As(err, &e)
	if a.json {
		data, _ := json.Marshal(map[string]any{"error": e})
		fmt.Fprintln(a.Err, string(data))
		return
	}
	fmt.Fprintln(a.Err, "substrat:", printable(e.Message))
	if e.Hint != "" {
		fmt.Fprintln(a.Err, "hint:", printable(e.Hint))
	}
}

// root assembles the commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "substrat",
		Short: "Run teams of command-line coding agents",
		Long: `Substrat runs teams of command-line coding agents. Each agent has a name, a place in a tree, a sandbox, a mailbox and a
durable history; each turn is one supervised process. A daemon does the work; every other command talks to it.

Agents are named by path (lead/coder), by a bare name that fits only one, or by id.
The daemon's home is $SUBSTRAT_HOME, else ~/.substrat; substrat.toml in it configures slots, limits, budgets and policies.
A daemon that listens on TCP is reached with SUBSTRAT_URL, and SUBSTRAT_API_TOKEN_FILE or SUBSTRAT_API_TOKEN for its token.`,
		Example: `  substrat daemon start
  substrat agent create lead --dir ~/src/project
  substrat send lead "What is in this directory?" --wait
  substrat attach lead`,
		SilenceUsage: true, SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(a.daemonCommand(), a.agentCommand(), a.sendCommand(), a.messageCommand(), a.inboxCommand(), a.attachCommand(), a.logCommand(), a.searchCommand(),
		a.topCommand(), a.upCommand(), a.workspaceCommand(), a.queueCommand(), a.answerCommand(), a.whyCommand(), a.netCommand(), a.sandboxCommand(), a.graphCommand(), a.resumeCommand(), a.budgetCommand(), a.remindCommand(),
		a.runCommand(), a.decodeCommand(), a.providersCommand(), a.acpCommand(), a.sessionCommand(), a.eventsCommand(), a.journalCommand(), a.demoCommand(), a.doctorCommand(), a.mcpCommand(), a.toolCommand(), a.versionCommand())
	return root
}

// exactly refuses another number of arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(n)(cmd, args); err != nil {
			return usageError{fmt.Errorf("%s: %w", cmd.CommandPath(), err)}
		}
		return nil
	}
}

// atMost refuses more arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.MaximumNArgs(n)(cmd, args); err != nil {
			return usageError{fmt.Errorf("%s: %w", cmd.CommandPath(), err)}
		}
		return nil
	}
}

// group is a command that has only commands below it.
func group(use, short string, sub ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())}
		}
		return nil
	}, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(sub...)
	return cmd
}

// home is the daemon's directory.
func (a *app) home() (string, error) { return daemon.Home(a.Getenv) }

// client makes a client of the home's daemon, or of the one at SUBSTRAT_URL.
func (a *app) client() (*client.Client, error) {
	home, err := a.home()
	if url := a.Getenv("SUBSTRAT_URL"); url != "" {
		return a.remote(url, home)
	}
	if err != nil {
		return nil, err
	}
	return client.New(daemon.SocketPath(home)), nil
}

// remote makes a client of a daemon that listens on TCP. Its token is never an argument, which others could see.
func (a *app) remote(url, home string) (*client.Client, error) {
	r := client.Remote{URL: url, Token: a.Getenv("SUBSTRAT_API_TOKEN"), CAFile: a.Getenv("SUBSTRAT_CA_FILE")}
	if r.Token != "" {
		return client.NewRemote(r)
	}
	path := a.Getenv("SUBSTRAT_API_TOKEN_FILE")
	if path == "" && home != "" {
		path = daemon.TokenPath(home)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read the token for %s: %v", url, err).
			WithHint("set SUBSTRAT_API_TOKEN_FILE or SUBSTRAT_API_TOKEN to what substrat daemon token shows where the daemon runs")
	}
	r.Token = strings.TrimSpace(string(data))
	return client.NewRemote(r)
}

// show prints a value as JSON, or lets text print it.
func (a *app) show(v any, text func()) error {
	if !a.json {
		text()
		return nil
	}
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// terminal reports whether a stream is one.
func terminal(stream any) bool {
	if s, ok := stream.(*render.Safe); ok {
		stream = s.To
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func absolute(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	return filepath.Abs(dir)
}
