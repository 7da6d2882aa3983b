package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// version is what --version prints: the date of the build that is imitated, and a suffix no real build has.
const version = "2026.10.01-substratsim"

// Exit codes of the real program.
const (
	exitOK      = 0
	exitRefused = 1
	exitINT     = 130
	exitTERM    = 143
)

// app is one run of the program: what it was given, and how it answers.
type app struct {
	env    environ
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	opts   options
	conf   *config
	space  workspace
}

// Main runs the simulator as if it were the program named argv[0], `cursor-agent` or `agent`, and returns its exit
// code: 0, 1 for every refusal, 130 after SIGINT, 143 after SIGTERM. It handles these two signals itself, so ctx should
// not be one that the caller cancels on them; a cancelled ctx counts as SIGTERM. env is in the form of os.Environ.
//
// Main returns with nothing of its own left running, except after the faults whose point is that something is.
func Main(ctx context.Context, argv []string, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := withSignals(ctx)
	defer stop()
	a := &app{env: newEnviron(env), stdin: stdin, stdout: stdout, stderr: stderr}
	err := a.run(ctx, argv)
	if code, ok := signalled(ctx); ok {
		if code == exitINT {
			fmt.Fprintln(stderr, "Aborting operation...")
		}
		return code
	}
	return a.report(err)
}

// refusal is an error whose text is printed as it stands, because programs match on it, with the code to exit with.
type refusal struct {
	text string
	code int
}

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error {
	return &refusal{text: fmt.Sprintf(format, args...), code: exitRefused}
}

// exit is an error that ends the program with a code and no text.
func exit(code int) error { return &refusal{code: code} }

func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		if r.text != "" {
			fmt.Fprintln(a.stderr, r.text)
		}
		return r.code
	}
	fmt.Fprintln(a.stderr, "Error:", err)
	return exitRefused
}

func (a *app) run(ctx context.Context, argv []string) error {
	if len(argv) > 0 {
		argv = argv[1:]
	}
	opts, err := parseFlags(argv)
	if err != nil {
		return err
	}
	a.opts = opts
	switch {
	case opts.version:
		_, err := fmt.Fprintln(a.stdout, version)
		return err
	case opts.help:
		_, err := io.WriteString(a.stdout, helpText)
		return err
	case opts.listModels:
		return a.cmdModels(ctx, nil)
	}
	if err := a.locate(); err != nil {
		return err
	}
	if cmd, ok := a.command(); ok {
		return cmd(ctx, opts.operands[1:])
	}
	return a.print(ctx, strings.Join(opts.operands, " "))
}

// locate finds the workspace and the configuration. Both come before any check, as commands need them too.
func (a *app) locate() error {
	space, err := findWorkspace(a.opts.workspace)
	if err != nil {
		return err
	}
	a.space = space
	a.conf, err = newConfig(a.env, a.opts.dataDir)
	return err
}
