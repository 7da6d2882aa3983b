package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/workspace"
)

// captureTime bounds how long the script of an environment may run.
const captureTime = 5 * time.Minute

// captureMost bounds what it may print.
const captureMost = 2 << 20

// CaptureEnv runs a script in a workspace, as the agents there would in their sandbox, and keeps the environment and the
// directory that it leaves: turns in the workspace begin with them. The script may write into the workspace. An empty one
// forgets what was kept.
func (e *Engine) CaptureEnv(ctx context.Context, ref, script string) (substrat.Workspace, error) {
	teamID, id, err := e.findWorkspace(ref)
	if err != nil {
		return substrat.Workspace{}, err
	}
	var env *substrat.WorkspaceEnv
	if script != "" {
		var l team.Living
		if err := e.Look(ctx, teamID, func(s *team.State) error {
			if s.Workspaces[id] == nil {
				return substrat.Errorf(substrat.CodeNotFound, "the workspace was deleted")
			}
			l = s.LivingIn(id)
			return nil
		}); err != nil {
			return substrat.Workspace{}, err
		}
		if env, err = e.capture(ctx, l, script); err != nil {
			return substrat.Workspace{}, err
		}
	}
	return e.changeWorkspace(ctx, id, func(id string) (team.Command, error) { return team.SetEnv{Workspace: id, Env: env}, nil })
}

// capture runs a script where agents live.
func (e *Engine) capture(ctx context.Context, l team.Living, script string) (*substrat.WorkspaceEnv, error) {
	ctx, cancel := context.WithTimeout(ctx, captureTime)
	defer cancel()
	dir, links, err := settleIn(ctx, l)
	if err != nil {
		return nil, err
	}
	git, err := gitBinds(l)
	if err != nil {
		return nil, err
	}
	own, err := os.MkdirTemp(e.cfg.Home, capturePrefix)
	if err != nil {
		return nil, wrapIO("make a home for the script", err)
	}
	defer e.endCapture(own)
	home := filepath.Join(own, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, wrapIO("make a home for the script", err)
	}
	if err := e.holdPlaces(dir, links, own); err != nil {
		return nil, err
	}
	// The search path is that of a turn: what a script puts before it, or takes out, is so for turns.
	before := map[string]string{
		"PATH": insideBin + ":" + searchPath(), "HOME": insideHome, "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/sh", "USER": "agent", "LOGNAME": "agent",
	}
	profile := sandbox.Profile{
		Workspace: dir, WorkspaceReadOnly: l.ReadOnly, Home: sandbox.Bind{Host: home, At: insideHome, Write: true}, Etc: e.etc, HostNetwork: l.Network == substrat.NetworkHost,
		Binds: append(linkBinds(dir, links, l.ReadOnly), git...),
	}
	if err := e.guard(&profile, l, links, own); err != nil {
		return nil, err
	}
	out, err := runCapture(ctx, profile, script, before)
	if l.Tree != nil {
		if _, healErr := workspace.Heal(l.Tree.Repo); err == nil {
			err = healErr
		}
	}
	if err != nil {
		return nil, err
	}
	return workspace.ParseCapture(out, before, dir)
}

func runCapture(ctx context.Context, p sandbox.Profile, script string, env map[string]string) ([]byte, error) {
	shell := "/bin/sh"
	if _, err := os.Stat("/bin/bash"); err == nil {
		shell = "/bin/bash"
	}
	argv, err := sandbox.Wrap(p, []string{shell, "-c", workspace.CaptureScript(script)})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	slices.Sort(cmd.Env)
	var out, errs bounded
	cmd.Stdout, cmd.Stderr = &out, &errs
	// The sandbox ends with the thread that started it, so that thread must not end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	switch err := cmd.Run(); {
	case err == nil:
		return out.data, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, substrat.Errorf(substrat.CodeTimeout, "cannot capture the environment: the script took too long").
			WithHint("it has %v; let an agent do long work in the workspace first", captureTime)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot capture the environment: the script failed: %v: %s", err, clip(string(bytes.TrimSpace(errs.data)), 2000)).
			WithHint("it runs in the agents' sandbox: without your home, and without network unless the workspace has it")
	}
}

// capturePrefix begins the names of directories that scripts have for their time.
const capturePrefix = "capture-"

func (e *Engine) endCapture(dir string) {
	e.releaseDirs(dir)
	_ = os.RemoveAll(dir)
}

// sweepCaptures ends what a dead daemon left: the scripts ended with it.
func (e *Engine) sweepCaptures() {
	dirs, _ := filepath.Glob(filepath.Join(e.cfg.Home, capturePrefix+"*"))
	for _, dir := range dirs {
		e.adoptDirs(dir)
		e.endCapture(dir)
	}
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ data []byte }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.data = append(b.data, p[:min(len(p), max(0, captureMost-len(b.data)))]...)
	return len(p), nil
}
