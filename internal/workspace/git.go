package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"substrat.dev/substrat"
)

const (
	// callTimeout ends one call of git: a checkout of a large repository takes a while, a FIFO in place of a
	// configuration file takes for ever.
	callTimeout = 5 * time.Minute
	// lockPatience is how long another git process may hold a lock before the call gives up.
	lockPatience = 3 * time.Second
	// mostOutput bounds what is read of one call, where the caller names no other bound.
	mostOutput = 16 << 20
	mostStderr = 8 << 10
)

// settings override the repository's configuration in every call. What runs a program is off, and so is what would
// leave a process or a file behind.
var settings = [][2]string{
	{"core.hooksPath", os.DevNull},
	{"core.fsmonitor", "false"},
	{"core.untrackedCache", "false"},
	{"core.splitIndex", "false"},
	{"core.commitGraph", "false"}, // it may be wrong about who is whose ancestor
	{"core.pager", "cat"},
	{"core.editor", "false"},
	{"core.askPass", "false"},
	{"core.sshCommand", "false"},
	{"core.gitProxy", "false"},
	{"core.alternateRefsCommand", "false"},
	{"core.attributesFile", os.DevNull},
	{"core.quotePath", "false"},
	{"core.bigFileThreshold", "16m"}, // larger files count as binary and are not held in memory
	{"credential.helper", ""},
	{"commit.gpgSign", "false"},
	{"tag.gpgSign", "false"},
	{"log.showSignature", "false"},
	{"gpg.program", "false"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"submodule.recurse", "false"},
	{"checkout.workers", "1"},
	{"protocol.allow", "never"},
	{"safe.directory", "*"}, // git's worry is the configuration, which is dealt with here
}

// environment is all that git sees of ours.
func environment(extra []string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_EDITOR=false", "GIT_PAGER=cat",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1",
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)),
	}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return append(env, extra...) // of two that are alike the last counts
}

// call is one call of git.
type call struct {
	dir  string   // where it runs
	env  []string // on top of environment
	in   []byte
	most int64 // bound of the output; 0 is mostOutput
	args []string
}

// failure is a call that git ended with an error.
type failure struct {
	args   []string
	exit   int
	stderr string
}

func (f *failure) Error() string {
	text := strings.TrimSpace(f.stderr)
	if text == "" {
		text = fmt.Sprintf("exit status %d", f.exit)
	}
	return fmt.Sprintf("git %s: %s", f.args[0], text)
}

// lockHeld says that another process has a lock of git's.
func (f *failure) lockHeld() bool {
	return strings.Contains(f.stderr, ".lock': File exists")
}

// exited gives the exit status of a failed call, -1 if it is another error.
func exited(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return f.exit
	}
	return -1
}

// errCut says that there was more output than the bound.
var errCut = errors.New("git prints more than is read")

// git runs one call, and again for a while if another git process is in the way.
func git(ctx context.Context, c call) ([]byte, error) {
	deadline := time.Now().Add(lockPatience)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		out, err := gitOnce(ctx, c)
		var f *failure
		if !errors.As(err, &f) || !f.lockHeld() || time.Now().After(deadline) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// gitOnce runs one call. With errCut the output up to the bound is given too.
func gitOnce(ctx context.Context, c call) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeNotInstalled, "cannot work with the repository: git is not installed").
			WithHint("install git with the package manager, and try again")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if c.most == 0 {
		c.most = mostOutput
	}
	out, complaint := &bounded{most: c.most, full: cancel}, &bounded{most: mostStderr}
	cmd := exec.CommandContext(ctx, program, c.args...)
	cmd.Dir, cmd.Env = c.dir, environment(c.env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.in), out, complaint
	cmd.WaitDelay = time.Second
	dieWithParent(cmd)
	// The signal of a parent's death follows the thread that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	switch {
	case out.cut:
		return out.buf.Bytes(), errCut
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, substrat.Errorf(substrat.CodeTimeout, "cannot work with the repository: git %s took too long", c.args[0]).
			WithHint("see whether another git process hangs in %s", c.dir)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		return out.buf.Bytes(), nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.buf.Bytes(), &failure{args: c.args, exit: exit.ExitCode(), stderr: complaint.buf.String()}
	}
	return nil, substrat.Errorf(substrat.CodeInternal, "cannot run git %s: %v", c.args[0], err)
}

// bounded keeps the beginning of what is written and counts the rest as cut. full is told once it is.
type bounded struct {
	buf  bytes.Buffer // not embedded: its ReadFrom would go round the bound
	most int64
	cut  bool
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - int64(b.buf.Len())
	if int64(len(p)) <= room {
		return b.buf.Write(p)
	}
	b.buf.Write(p[:room])
	b.cut = true
	if b.full == nil {
		return len(p), nil
	}
	b.full()
	return int(room), io.ErrShortWrite
}

// line gives the output of a call that prints one line.
func line(out []byte, err error) (string, error) {
	return strings.TrimRight(string(out), "\n"), err
}

// fields splits what git prints with -z.
func fields(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
