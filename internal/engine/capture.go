package engine

import (
	"bytes"
	"context"
	"os"
	"os/exec"
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
	w, err := e.Workspace(ctx, ref)
	if err != nil {
		return w, err
	}
	var env *substrat.WorkspaceEnv
	if script != "" {
		if env, err = e.capture(ctx, w, script); err != nil {
			return w, err
		}
	}
	return e.changeWorkspace(ctx, w.ID, func(id string) (team.Command, error) { return team.SetEnv{Workspace: id, Env: env}, nil })
}

func (e *Engine) capture(ctx context.Context, w substrat.Workspace, script string) (*substrat.WorkspaceEnv, error) {
	ctx, cancel := context.WithTimeout(ctx, captureTime)
	defer cancel()
	home, err := os.MkdirTemp(e.cfg.Home, "capture-")
	if err != nil {
		return nil, wrapIO("make a home for the script", err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	if err := ensureDir(w.Dir); err != nil {
		return nil, err
	}
	before := map[string]string{
		"PATH": searchPath(), "HOME": insideHome, "TMPDIR": "/tmp", "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/sh", "USER": "agent", "LOGNAME": "agent",
	}
	shell := "/bin/sh"
	if _, err := os.Stat("/bin/bash"); err == nil {
		shell = "/bin/bash"
	}
	argv, err := sandbox.Wrap(sandbox.Profile{
		Workspace: w.Dir, WorkspaceReadOnly: w.ReadOnly, Home: sandbox.Bind{Host: home, At: insideHome, Write: true}, Etc: e.etc, HostNetwork: w.Network,
	}, []string{shell, "-c", workspace.CaptureScript(script)})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	for k, v := range before {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	slices.Sort(cmd.Env)
	var out, errs bounded
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot capture the environment: the script failed: %v: %s", err, clip(string(bytes.TrimSpace(errs.data)), 2000))
	}
	return workspace.ParseCapture(out.data, before, w.Dir)
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ data []byte }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.data = append(b.data, p[:min(len(p), max(0, captureMost-len(b.data)))]...)
	return len(p), nil
}
