package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// roleVar makes the test binary play another program.
const roleVar = "SIM_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "agent":
		argv := append([]string{"cursor-agent"}, os.Args[1:]...)
		os.Exit(Main(context.Background(), argv, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	case "mcp":
		serveMCP()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// box is a place of its own for the program: a home and a workspace.
type box struct {
	t     testing.TB
	home  string
	space string
	env   []string
	stdin string
}

func newBox(t testing.TB) *box {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, home: filepath.Join(dir, "home"), space: filepath.Join(dir, "my_space")}
	for _, d := range []string{b.home, b.space} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.env = []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH")}
	return b
}

// conf gives a path in the configuration directory.
func (b *box) conf(name string) string { return filepath.Join(b.home, ".cursor", name) }

func (b *box) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.space, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.space, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// outputs is what a run left.
type outputs struct {
	stdout, stderr string
	code           int
}

// run calls Main in this process, in the workspace, and trusting it.
func (b *box) run(args ...string) outputs {
	b.t.Helper()
	argv := append([]string{"cursor-agent", "--workspace", b.space}, args...)
	var stdout, stderr bytes.Buffer
	code := Main(b.t.Context(), argv, b.env, strings.NewReader(b.stdin), &stdout, &stderr)
	return outputs{stdout.String(), stderr.String(), code}
}

// stream runs a prompt with --force and gives the events; the run must succeed.
func (b *box) stream(prompt string, args ...string) []event {
	b.t.Helper()
	out := b.run(append([]string{"-p", "--force", "--output-format", "stream-json", prompt}, args...)...)
	if out.code != 0 {
		b.t.Fatalf("exit %d: %s", out.code, out.stderr)
	}
	return parseEvents(b.t, out.stdout)
}

// command is the program as a process.
func (b *box) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{"--workspace", b.space}, args...)...)
	// A process of a test binary would else sleep a second before it exits, with the race detector, and talk on stderr,
	// with coverage.
	cmd.Env = append(b.env[:len(b.env):len(b.env)], roleVar+"=agent", "GORACE=atexit_sleep_ms=0", "GOCOVERDIR="+b.home)
	cmd.Dir = b.space
	return cmd
}

// process runs a prompt in a process of its own to its end.
func (b *box) process(prompt string) outputs {
	b.t.Helper()
	cmd := b.command("-p", "--force", "--output-format", "stream-json", prompt)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		b.t.Fatal(err)
	}
	return outputs{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// event is a line, decoded as far as the tests look.
type event struct {
	Type, Subtype string
	Text          string
	SessionID     string `json:"session_id"`
	ModelCallID   string `json:"model_call_id"`
	TimestampMs   *int64 `json:"timestamp_ms"`
	CallID        string `json:"call_id"`
	QueryType     string `json:"query_type"`
	Result        string
	Model         string
	Message       struct {
		Content []struct{ Text string }
	}
	ToolCall map[string]json.RawMessage `json:"tool_call"`
	raw      string
}

func (e event) text() string {
	if len(e.Message.Content) == 0 {
		return ""
	}
	return e.Message.Content[0].Text
}

func parseEvents(t testing.TB, text string) (list []event) {
	t.Helper()
	for line := range strings.Lines(text) {
		e := event{raw: line}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		list = append(list, e)
	}
	return list
}

// variant gives what stands under the name ending in ToolCall.
func (e event) variant(t testing.TB) (name string, body toolBody) {
	t.Helper()
	for key, raw := range e.ToolCall {
		if short, ok := strings.CutSuffix(key, "ToolCall"); ok {
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Fatal(err)
			}
			return short, body
		}
	}
	t.Fatalf("no tool in %s", e.raw)
	return "", body
}

type toolBody struct {
	Args   map[string]any
	Result map[string]any
}

// results gives the results of the completed tools in order, as variant and key: "shell failure".
func results(t testing.TB, events []event) (list []string, bodies []toolBody) {
	t.Helper()
	for _, e := range events {
		if e.Type != "tool_call" || e.Subtype != "completed" {
			continue
		}
		name, body := e.variant(t)
		for key := range body.Result {
			if key != "isBackground" && key != "planUri" {
				list = append(list, name+" "+key)
			}
		}
		bodies = append(bodies, body)
	}
	return list, bodies
}

func finalText(t testing.TB, events []event) string {
	t.Helper()
	last := events[len(events)-1]
	if last.Type != "result" {
		t.Fatalf("the last line is no result: %s", last.raw)
	}
	return last.Result
}
