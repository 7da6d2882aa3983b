package toolrouter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"substrat.dev/substrat"
)

// Job is a command to run: argv, in a directory.
type Job struct {
	Argv []string
	Dir  string
	// Most bounds how much of its output is kept.
	Most int
}

// JobResult is how it ended.
type JobResult struct {
	// Output is standard output and standard error, as they came, up to the bound; Dropped is how many bytes came after.
	Output   string `json:"output"`
	Dropped  int64  `json:"dropped_bytes,omitempty"`
	ExitCode int    `json:"exit_code"`
}

// ExecOptions are for Exec.
type ExecOptions struct {
	// Dir is the workspace. Commands run in it or below.
	Dir string
	// Run does a job: the daemon's runs it in the agent's sandbox. Nil runs it bare, with Env and nothing else of the
	// host's environment, as a process group that ends with the call.
	Run func(ctx context.Context, j Job) (JobResult, error)
	Env []string
	// Timeout bounds a command, by default two minutes. OutputMost bounds its output, by default 64 KiB.
	Timeout    time.Duration
	OutputMost int
}

const execSchema = `{"type":"object","properties":{
"command":{"type":"string","minLength":1,"description":"a line for the shell"},
"argv":{"type":"array","items":{"type":"string"},"minItems":1,"description":"a program and its arguments, instead of command"},
"cwd":{"type":"string","description":"directory to run in, relative to the workspace"}},
"oneOf":[{"required":["command"]},{"required":["argv"]}],"additionalProperties":false}`

// Exec is the tool that runs commands in a workspace. Whoever registers it allows agents to run anything.
func Exec(o ExecOptions) Tool {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.OutputMost <= 0 {
		o.OutputMost = 64 << 10
	}
	if o.Run == nil {
		o.Run = func(ctx context.Context, j Job) (JobResult, error) { return runBare(ctx, j, o.Env) }
	}
	return Tool{
		Name: "exec", Description: "Run a command in the workspace. Answers with its output and exit code.",
		Schema: json.RawMessage(execSchema), Timeout: o.Timeout, OutputMost: 2*o.OutputMost + 1024,
		Run: func(ctx context.Context, args json.RawMessage) (any, error) {
			var in struct {
				Command string   `json:"command"`
				Argv    []string `json:"argv"`
				Cwd     string   `json:"cwd"`
			}
			if err := json.Unmarshal(args, &in); err != nil {
				return nil, err
			}
			dir, err := within(o.Dir, in.Cwd)
			if err != nil {
				return nil, err
			}
			argv := in.Argv
			if len(argv) == 0 {
				argv = []string{"/bin/sh", "-c", in.Command}
			}
			return o.Run(ctx, Job{Argv: argv, Dir: dir, Most: o.OutputMost})
		},
	}
}

// within gives a directory of the workspace, never one outside, whatever links there are.
func within(root, rel string) (string, error) {
	refuse := func(why string) error {
		return substrat.Errorf(substrat.CodeForbidden, "cannot run in %q: %s", rel, why).WithHint("name a directory of the workspace, relative to it")
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", substrat.Errorf(substrat.CodeConflict, "cannot run anything: the workspace is not there")
	}
	if filepath.IsAbs(rel) {
		if rel, err = filepath.Rel(root, rel); err != nil {
			return "", refuse("it is not in the workspace")
		}
	}
	if rel != "" && !filepath.IsLocal(rel) {
		return "", refuse("it is not in the workspace")
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(real, rel))
	if err != nil {
		return "", refuse("it does not exist")
	}
	if dir != real && !strings.HasPrefix(dir, strings.TrimSuffix(real, "/")+"/") {
		return "", refuse("a link leads out of the workspace")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", refuse("it is no directory")
	}
	return dir, nil
}

// killGrace is how long the output of a group that was killed is waited for.
const killGrace = 2 * time.Second

func runBare(ctx context.Context, j Job, env []string) (JobResult, error) {
	cmd := exec.CommandContext(ctx, j.Argv[0], j.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = j.Dir, env, killGrace
	if cmd.Env == nil {
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb"}
	}
	// One writer for both streams: exec gives them one pipe, so that their order is kept.
	out := &capped{most: j.Most}
	cmd.Stdout, cmd.Stderr = out, out
	group(cmd)
	err := cmd.Run()
	killGroup(cmd)
	out.mu.Lock()
	r := JobResult{Output: strings.ToValidUTF8(string(out.data), "\uFFFD"), Dropped: out.dropped}
	out.mu.Unlock()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case errors.As(err, &exit):
		r.ExitCode = exit.ExitCode()
	case errors.Is(err, exec.ErrWaitDelay):
		// Something it started keeps its output open. It is gone by now; how the command itself ended is known.
		r.ExitCode = cmd.ProcessState.ExitCode()
	case err != nil:
		return r, substrat.Errorf(substrat.CodeNotFound, "cannot run %s: %v", j.Argv[0], unwrapExec(err))
	}
	return r, nil
}

func unwrapExec(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// capped keeps the first bytes that are written to it.
type capped struct {
	mu      sync.Mutex
	most    int
	data    []byte
	dropped int64
}

// Write implements io.Writer. It never fails: a program that prints much is not to be ended by it.
func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(p), c.most-len(c.data))
	c.data = append(c.data, p[:n]...)
	c.dropped += int64(len(p) - n)
	return len(p), nil
}

// String implements fmt.Stringer, for people.
func (r JobResult) String() string {
	if r.ExitCode != 0 {
		return fmt.Sprintf("%s\n(exit code %d)", r.Output, r.ExitCode)
	}
	return r.Output
}
