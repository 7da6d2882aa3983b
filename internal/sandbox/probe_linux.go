package sandbox

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// probeTimeout bounds each program that Probe runs.
const probeTimeout = 10 * time.Second

// Probe looks at what a sandbox needs and makes a trivial one. It takes some ten milliseconds and leaves nothing.
func Probe(ctx context.Context) Report {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	bwrap, finding := probeBwrap(ctx)
	r := Report{Findings: []Finding{finding}}
	if bwrap != "" {
		r.Findings = append(r.Findings, probeRun(ctx, bwrap))
	}
	r.Findings = append(r.Findings, probeUserns(), probeAppArmor())
	r.CanSandbox = true
	for _, f := range r.Findings {
		r.CanSandbox = r.CanSandbox && (f.OK || !f.Required)
	}
	return r
}

func probeBwrap(ctx context.Context) (string, Finding) {
	f := Finding{Name: "bubblewrap", Required: true}
	path, err := findBwrap()
	if err != nil {
		f.Detail, f.Remedy = err.Error(), "install the package bubblewrap (0.5 or newer), not setuid"
		return "", f
	}
	out, err := run(ctx, path, "--version")
	if err != nil {
		f.Detail, f.Remedy = path+" --version: "+err.Error(), "reinstall the package bubblewrap"
		return "", f
	}
	f.OK, f.Detail = true, strings.TrimSpace(out)+" at "+path+", not setuid"
	return path, f
}

// probeRun makes the sandbox that turns get, without a workspace. What goes wrong in it is the answer that counts.
func probeRun(ctx context.Context, bwrap string) Finding {
	f := Finding{Name: "sandbox", Required: true}
	args := append(isolation(false, false), systemMounts("", false, 0)...)
	args = append(args, "--remount-ro", "/", "--chdir", "/", "--", "true")
	if _, err := run(ctx, bwrap, args...); err != nil {
		f.Detail = "a trivial sandbox failed: " + err.Error()
		f.Remedy = "allow unprivileged user namespaces for bwrap (see the findings below); in a container, run it with a seccomp profile that allows unshare and mount"
		return f
	}
	f.OK, f.Detail = true, "a trivial sandbox ran"
	return f
}

// run starts a program from a locked thread, because --die-with-parent follows the thread that started it.
func run(ctx context.Context, path string, args ...string) (string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil && stderr.Len() > 0 {
		err = &runError{err: err, text: strings.TrimSpace(stderr.String())}
	}
	return stdout.String(), err
}

type runError struct {
	err  error
	text string
}

func (e *runError) Error() string { return e.text + " (" + e.err.Error() + ")" }

func (e *runError) Unwrap() error { return e.err }

// CanPin says whether bwrap mounts directories that were opened for it (--bind-fd): 0.10 and newer, and where it was taken back.
func CanPin(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	path, err := findBwrap()
	if err != nil {
		return false
	}
	help, err := run(ctx, path, "--help")
	return err == nil && strings.Contains(help, "--ro-bind-fd")
}
