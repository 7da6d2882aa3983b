package toolrouter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
	"substrat.dev/substrat/agentcli/toolrouter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func router(t *testing.T, o toolrouter.Options, tools ...toolrouter.Tool) *toolrouter.Router {
	t.Helper()
	r, err := toolrouter.New(o, tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(t *testing.T, r *toolrouter.Router, tool, args string) agentcli.Call {
	t.Helper()
	c, err := r.Call(t.Context(), agentcli.Call{ID: "1", Tool: tool, Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	if (c.Result != nil) == (c.Error != nil) {
		t.Fatalf("%s: result %s, error %v", tool, c.Result, c.Error)
	}
	return c
}

var _ agentcli.ToolSet = (*toolrouter.Router)(nil)

func TestDecisions(t *testing.T) {
	ran := 0
	var decided []toolrouter.Decision
	r := router(t, toolrouter.Options{
		Decided: func(d toolrouter.Decision) { decided = append(decided, d) },
		Policy: func(_ context.Context, _ string, args json.RawMessage) error {
			if strings.Contains(string(args), "99") {
				return errors.New("too much")
			}
			return nil
		},
	}, toolrouter.Tool{
		Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`),
		Run: func(context.Context, json.RawMessage) (any, error) { ran++; return map[string]int{"ok": 1}, nil },
	})
	for _, c := range []struct {
		tool, args string
		code       substrat.Code
		reason     toolrouter.Reason
	}{
		{"add", `{"n":1}`, "", toolrouter.Allowed},
		{"sub", `{"n":1}`, substrat.CodeNotFound, toolrouter.ToolUnknown},
		{"add", `{"n":"1"}`, substrat.CodeInvalid, toolrouter.SchemaInvalid},
		{"add", `{"n":0}`, substrat.CodeInvalid, toolrouter.SchemaInvalid},
		{"add", `{"n":1,"m":2}`, substrat.CodeInvalid, toolrouter.SchemaInvalid},
		{"add", ``, substrat.CodeInvalid, toolrouter.SchemaInvalid},
		{"add", `[1]`, substrat.CodeInvalid, toolrouter.SchemaInvalid},
		{"add", `null`, substrat.CodeInvalid, toolrouter.SchemaInvalid},
		{"add", `{"n":1} {}`, substrat.CodeInvalid, toolrouter.SchemaInvalid},
		{"add", `{"n":99}`, substrat.CodeForbidden, toolrouter.PolicyBlocked},
	} {
		before := ran
		got := call(t, r, c.tool, c.args)
		if (got.Error == nil) != (c.code == "") || got.Error != nil && got.Error.Code != c.code {
			t.Errorf("%s %s: %v", c.tool, c.args, got.Error)
		}
		if last := decided[len(decided)-1]; last.Reason != c.reason || last.CallID != "1" {
			t.Errorf("%s %s: decided %+v", c.tool, c.args, last)
		}
		if (ran > before) != (c.code == "") {
			t.Errorf("%s %s: ran %d times", c.tool, c.args, ran-before)
		}
	}
}

func TestRegistration(t *testing.T) {
	run := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	for _, tools := range [][]toolrouter.Tool{
		{{Name: "", Run: run}}, {{Name: "a"}}, {{Name: "a", Run: run}, {Name: "a", Run: run}},
		{{Name: "a", Run: run, Schema: json.RawMessage(`{"type":1}`)}}, {{Name: "a", Run: run, Schema: json.RawMessage(`{"$ref":"http://x.example/y"}`)}},
	} {
		if _, err := toolrouter.New(toolrouter.Options{}, tools...); err == nil {
			t.Errorf("%+v was registered", tools)
		}
	}
}

func TestAnswers(t *testing.T) {
	answer := func(out any, err error) func(context.Context, json.RawMessage) (any, error) {
		return func(context.Context, json.RawMessage) (any, error) { return out, err }
	}
	r := router(t, toolrouter.Options{Redact: redact.New("hush-hush-1")},
		toolrouter.Tool{Name: "text", Run: answer("<a> & b", nil)},
		toolrouter.Tool{Name: "long", OutputMost: 10, Run: answer(strings.Repeat("é", 20), nil)},
		toolrouter.Tool{Name: "object", OutputMost: 10, Run: answer([]string{strings.Repeat("x", 50)}, nil)},
		toolrouter.Tool{Name: "secret", Run: answer(map[string]string{"out": "it is hush-hush-1"}, nil)},
		toolrouter.Tool{Name: "error", Run: answer(nil, errors.New("broke with token=abcdef12"))},
		toolrouter.Tool{Name: "coded", Run: answer(nil, substrat.Errorf(substrat.CodeForbidden, "no"))},
		toolrouter.Tool{Name: "panics", Run: func(context.Context, json.RawMessage) (any, error) { panic("oh") }},
		toolrouter.Tool{Name: "unsayable", Run: answer(func() {}, nil)},
	)
	for tool, want := range map[string]string{
		"text": `"<a> & b"`, "long": `"ééééé… [30 bytes more]"`, "object": `"[\"xxxxxxxx… [44 bytes more]"`, "secret": `{"out":"it is [redacted]"}`,
		"error": "conflict error failed: broke with token=[redacted]", "coded": "forbidden no", "panics": "internal panics failed by a fault of its own: oh",
	} {
		c := call(t, r, tool, `{}`)
		got := string(c.Result)
		if c.Error != nil {
			got = fmt.Sprintf("%s %s", c.Error.Code, c.Error.Message)
		}
		if got != want {
			t.Errorf("%s: got %s\nwant %s", tool, got, want)
		}
	}
	if c := call(t, r, "unsayable", `{}`); c.Error == nil {
		t.Error("what cannot be encoded is an answer")
	}
}

func TestTimeAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := toolrouter.Tool{Name: "slow", Timeout: time.Second, Run: func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		r := router(t, toolrouter.Options{}, slow)
		began := time.Now()
		if c := call(t, r, "slow", `{}`); c.Error == nil || c.Error.Code != substrat.CodeTimeout || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), c.Error)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if _, err := r.Call(ctx, agentcli.Call{Tool: "slow"}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestExec(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "sub"), 0o700)
	os.Symlink(outside, filepath.Join(dir, "out"))
	t.Setenv("SECRET_OF_HOST", "x")
	r := router(t, toolrouter.Options{}, toolrouter.Exec(toolrouter.ExecOptions{Dir: dir, OutputMost: 100, Timeout: 10 * time.Second}))
	for _, c := range []struct{ args, want string }{
		{`{"command":"pwd"}`, `{"output":"` + dir + `\n","exit_code":0}`},
		{`{"command":"pwd","cwd":"sub"}`, `{"output":"` + dir + `/sub\n","exit_code":0}`},
		{`{"argv":["/bin/echo","a b","$HOME"]}`, `{"output":"a b $HOME\n","exit_code":0}`},
		{`{"command":"echo out; echo err >&2; exit 3"}`, `{"output":"out\nerr\n","exit_code":3}`},
		{`{"command":"echo $SECRET_OF_HOST"}`, `{"output":"\n","exit_code":0}`},
		{`{"command":"head -c 1000 /dev/zero | tr '\\0' x"}`, `{"output":"` + strings.Repeat("x", 100) + `","dropped_bytes":900,"exit_code":0}`},
		{`{"command":"pwd","cwd":".."}`, "forbidden"}, {`{"command":"pwd","cwd":"/"}`, "forbidden"}, {`{"command":"pwd","cwd":"out"}`, "forbidden"},
		{`{"command":"pwd","cwd":"gone"}`, "forbidden"}, {`{"argv":["/no/such"]}`, "not_found"}, {`{"command":"a","argv":["b"]}`, "invalid"}, {`{}`, "invalid"},
	} {
		got := call(t, r, "exec", c.args)
		said := string(got.Result)
		if got.Error != nil {
			said = string(got.Error.Code)
		}
		if said != c.want {
			t.Errorf("%s: got %s (%v)\nwant %s", c.args, said, got.Error, c.want)
		}
	}
}

// TestExecEndsItsGroup when the time is over, children that hold the output included.
func TestExecEndsItsGroup(t *testing.T) {
	dir := t.TempDir()
	r := router(t, toolrouter.Options{}, toolrouter.Exec(toolrouter.ExecOptions{Dir: dir, Timeout: 300 * time.Millisecond}))
	c := call(t, r, "exec", `{"command":"(sleep 60; touch late) & echo $! > pid; sleep 60"}`)
	if c.Error == nil || c.Error.Code != substrat.CodeTimeout {
		t.Fatalf("got %s %v", c.Result, c.Error)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	// What was killed may stand as a zombie until init has seen it.
	stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
	if err == nil && !strings.Contains(string(stat), ") Z ") && !strings.Contains(string(stat), ") X ") {
		t.Errorf("a child lives: %s", stat)
	}
}

func TestExecHook(t *testing.T) {
	dir := t.TempDir()
	var job toolrouter.Job
	r := router(t, toolrouter.Options{}, toolrouter.Exec(toolrouter.ExecOptions{Dir: dir, Run: func(_ context.Context, j toolrouter.Job) (toolrouter.JobResult, error) {
		job = j
		return toolrouter.JobResult{Output: "inside"}, nil
	}}))
	if c := call(t, r, "exec", `{"command":"ls"}`); string(c.Result) != `{"output":"inside","exit_code":0}` || job.Dir != dir || job.Argv[2] != "ls" {
		t.Errorf("%s, job %+v", c.Result, job)
	}
}
