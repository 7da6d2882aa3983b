package cursor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// probeMost is how long one of the CLI's own commands may take when it is looked at.
const probeMost = 10 * time.Second

// loginRemedy tells how to get an account.
const loginRemedy = "run `cursor-agent login`, or set CURSOR_API_KEY"

// Probe implements agentcli.Prober: it runs the program to learn its version, its login and its models.
func (p *Provider) Probe(ctx context.Context) agentcli.Status {
	if len(p.opts.Command) > 0 {
		return agentcli.Status{Installed: true, Path: p.opts.Command[0], Version: "built in"}
	}
	found, err := detect()
	if err != nil {
		s := agentcli.Status{Problem: err.Error(), Remedy: remedy}
		if e, ok := errors.AsType[*substrat.Error](err); ok {
			s.Problem = e.Message
		}
		return s
	}
	said := version(ctx, found.path)
	s := agentcli.Status{Installed: true, Path: found.path}
	s.Version, _, _ = strings.Cut(said, "\n")
	switch {
	case said == "":
		s.Problem, s.Remedy = "it does not tell its version", "run `"+found.path+" --version` by hand and look at what it prints"
		return s
	case launcherVersion.MatchString(said):
		s.Installed, s.Problem, s.Remedy = false, found.path+" is the editor's launcher, not its agent", remedy
		return s
	case !dateVersion.MatchString(s.Version):
		s.Problem, s.Remedy = "its version does not look like a build of Cursor's CLI: "+s.Version, remedy
		return s
	}
	p.probeAccount(ctx, &s)
	return s
}

// probeAccount fills in who is logged in and what models there are. A key in the environment does not show in the status of
// the login, but the list of models needs either.
func (p *Provider) probeAccount(ctx context.Context, s *agentcli.Status) {
	var account Account
	var unknown, failed error
	var both sync.WaitGroup
	both.Go(func() { account, unknown = p.Account(ctx, runHere) })
	both.Go(func() { s.Models, failed = p.Models(ctx, runHere) })
	both.Wait()
	key := p.opts.Env["CURSOR_API_KEY"] != "" || p.opts.Env["CURSOR_AUTH_TOKEN"] != "" || os.Getenv("CURSOR_API_KEY") != "" || os.Getenv("CURSOR_AUTH_TOKEN") != ""
	why, refused := errors.AsType[*substrat.Error](failed)
	refused = refused && why.Code == substrat.CodeForbidden
	switch {
	case failed == nil && key && account.Login != agentcli.LoggedIn:
		s.Login, s.Account = agentcli.LoggedIn, "API key"
	case refused && key:
		s.Login, s.Problem, s.Remedy = agentcli.LoggedOut, why.Message, "look at the key in CURSOR_API_KEY, or unset it and run `cursor-agent login`"
	case refused, unknown == nil && account.Login == agentcli.LoggedOut:
		s.Login, s.Problem, s.Remedy = agentcli.LoggedOut, "nobody is logged in", loginRemedy
	case unknown == nil:
		s.Login, s.Account = account.Login, account.Email
	case failed == nil:
		s.Login = agentcli.LoggedIn
	default:
		s.Problem, s.Remedy = unknown.Error(), "run `cursor-agent status` by hand and look at what it prints"
	}
}

// printedMost bounds what is kept of a command's output.
const printedMost = 1 << 20

// runHere is the Runner of this process: the user's own surroundings, without a terminal and for a moment only.
func runHere(ctx context.Context, dir string, c agentcli.Command) (agentcli.Exit, error) {
	ctx, cancel := context.WithTimeout(ctx, probeMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	for _, v := range os.Environ() {
		// A key that is there and empty hides a login that would work.
		if v != "CURSOR_API_KEY=" && v != "CURSOR_AUTH_TOKEN=" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "NO_OPEN_BROWSER=1", "NO_COLOR=1")
	for k, v := range c.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out, said capped
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	exit := agentcli.Exit{Stdout: out.Bytes(), Stderr: said.Bytes()}
	ended, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
	case isExit:
		if exit.Code = ended.ExitCode(); exit.Code < 0 {
			exit.Signal = ended.String()
		}
	default:
		return exit, substrat.Errorf(substrat.CodeNotInstalled, "cannot run %s: %v", c.Argv[0], err)
	}
	return exit, nil
}

// capped keeps the beginning of what is written to it.
type capped struct{ bytes.Buffer }

// Write implements io.Writer.
func (c *capped) Write(p []byte) (int, error) {
	if room := printedMost - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
