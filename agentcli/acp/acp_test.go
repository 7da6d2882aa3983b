package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/acp"
)

func fake(t *testing.T, how string, change func(*acp.Options)) (*acp.Provider, agentcli.Options) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := acp.Options{Command: []string{exe}, Env: map[string]string{"FAKE_AGENT": how, "GORACE": "atexit_sleep_ms=0"}}
	if change != nil {
		change(&o)
	}
	return acp.New(o), agentcli.Options{Dir: t.TempDir(), Home: t.TempDir(), Partial: true, Limits: agentcli.Limits{Grace: 500 * time.Millisecond, Line: 32 << 20}}
}

// told runs a prompt and gives what happened, a line for each event.
func told(t *testing.T, s *agentcli.Session, ctx context.Context, prompt string) (string, agentcli.Result) {
	t.Helper()
	var b strings.Builder
	var result agentcli.Result
	for e, err := range s.Prompt(ctx, prompt) {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(string(e.Type))
		switch {
		case e.Result != nil:
			result = *e.Result
		case e.Tool != nil:
			fmt.Fprintf(&b, " %s %s %s %v %d %q %q %q", e.Tool.Name, e.Tool.Status, e.Tool.Title, e.Tool.Paths, e.Tool.Line, e.Tool.Output, e.Tool.Diff, e.Tool.Error)
		case e.Todos != nil:
			fmt.Fprintf(&b, " %v", e.Todos)
		case len(e.Text) < 1000:
			fmt.Fprintf(&b, " %q", e.Text)
		}
		b.WriteByte('\n')
	}
	return b.String(), result
}

func open(t *testing.T, p agentcli.Provider, o agentcli.Options) *agentcli.Session {
	t.Helper()
	s, err := agentcli.Open(p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestTurn(t *testing.T) {
	p, o := fake(t, "plain", nil)
	o.Instructions = "be nice"
	s := open(t, p, o)
	got, r := told(t, s, t.Context(), "talk")
	want := `session ""
thinking "hm"
thinking.end ""
text "one "
text "two"
text.end ""
tool.started Read running Read a.txt [/w/a.txt] 3 "" "" ""
tool.updated Read running Read a.txt [/w/a.txt] 3 "" "" ""
tool.completed Read completed Read a.txt [/w/a.txt] 3 "the file" "" ""
tool.started Edit running Edit a.txt [/w/a.txt] 0 "" "@@ -1 +1 @@\n-x\n+y\n" ""
tool.completed Edit completed Edit a.txt [/w/a.txt] 0 "" "@@ -1 +1 @@\n-x\n+y\n" ""
tool.started MCP running mcp__substrat__send_message [] 0 "" "" ""
tool.completed MCP failed mcp__substrat__send_message [] 0 "no such agent" "" "no such agent"
todos [{1 a completed} {2 b pending}]
notice "notification _vendor/thing"
notice "the agent asks for _vendor/ask, which is not served"
text "2 blocks"
text.end ""
result
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.Outcome != substrat.Completed || r.Text != "one two2 blocks" || r.Session != "s1" || r.Usage.InputTokens != 7 || r.ToolCalls != 3 || fmt.Sprint(r.Files) != "[/w/a.txt]" {
		t.Errorf("%+v", r)
	}
	// The next prompt goes to the same process, without the instructions, and what came late is not part of it.
	got, r = told(t, s, t.Context(), "talk")
	if strings.Contains(got, "too late") || !strings.HasSuffix(r.Text, "1 blocks") {
		t.Errorf("%s %+v", got, r)
	}
}

func TestPermission(t *testing.T) {
	ask := func(kinds ...agentcli.OptionKind) func(context.Context, agentcli.Question) (agentcli.Answer, error) {
		return func(_ context.Context, q agentcli.Question) (agentcli.Answer, error) {
			if q.Kind != agentcli.AskPermission || q.Tool.Name != "Bash" || q.Title != "rm -rf build" {
				return agentcli.Answer{}, fmt.Errorf("%+v", q)
			}
			a, _ := q.Choose(kinds...)
			return a, nil
		}
	}
	for name, c := range map[string]struct {
		ask  func(context.Context, agentcli.Question) (agentcli.Answer, error)
		mode agentcli.Mode
		want string
	}{
		"allowed":        {ask(agentcli.AllowOnce), "", `{"outcome":{"outcome":"selected","optionId":"ok"}}`},
		"refused":        {ask(agentcli.RejectOnce), agentcli.ModeForce, `{"outcome":{"outcome":"selected","optionId":"never"}}`},
		"nobody there":   {nil, "", `{"outcome":{"outcome":"selected","optionId":"never"}}`},
		"forced":         {nil, agentcli.ModeForce, `{"outcome":{"outcome":"selected","optionId":"ok"}}`},
		"no such option": {ask("never_heard"), "", `{"outcome":{"outcome":"selected","optionId":"never"}}`},
		"whoever asks fails": {func(context.Context, agentcli.Question) (agentcli.Answer, error) {
			return agentcli.Answer{}, context.Canceled
		}, "", `{"outcome":{"outcome":"cancelled"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := fake(t, "plain", nil)
			o.Ask, o.Mode = c.ask, c.mode
			got, r := told(t, open(t, p, o), t.Context(), "may")
			if r.Text != c.want {
				t.Errorf("the agent was answered %s, want %s\n%s", r.Text, c.want, got)
			}
			if refused := strings.Contains(c.want, "never"); refused != strings.Contains(got, "tool.completed Bash rejected") || strings.Count(got, "tool.completed") != 1 {
				t.Errorf("%s", got)
			}
			if !strings.Contains(got, "permission \"rm -rf build\"") || !strings.Contains(got, "answer ") || strings.Count(got, "tool.started") != 1 {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestCancel: a turn that is cancelled ends by the agent's word, also while it waits for leave; one that does not listen is
// ended.
func TestCancel(t *testing.T) {
	for _, prompt := range []string{"hang", "wait", "deaf"} {
		t.Run(prompt, func(t *testing.T) {
			p, o := fake(t, "plain", nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := false
			o.Ask = func(ctx context.Context, _ agentcli.Question) (agentcli.Answer, error) {
				asked = true
				cancel()
				<-ctx.Done()
				return agentcli.Answer{}, ctx.Err()
			}
			var r agentcli.Result
			for e, err := range open(t, p, o).Prompt(ctx, prompt) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Type == agentcli.EventText && e.Text == "up" {
					cancel()
				}
				if e.Result != nil {
					r = *e.Result
				}
			}
			if r.Outcome != substrat.Cancelled || asked != (prompt == "wait") || r.Terminal != (prompt != "deaf") {
				t.Errorf("%+v", r)
			}
			if prompt == "wait" && r.Text != `{"outcome":{"outcome":"cancelled"}}true` && r.Text != `{"outcome":{"outcome":"cancelled"}}false` {
				t.Errorf("the agent was answered %s", r.Text)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for prompt, want := range map[string]substrat.FailureClass{
		`fail {"code":-32000,"message":"Authentication required"}`:                                     substrat.ClassAuth,
		`fail {"code":429,"message":"slow down"}`:                                                      substrat.ClassRateLimit,
		`fail {"code":500,"message":"Internal"}`:                                                       substrat.ClassNetwork,
		`fail {"code":-32603,"message":"Internal error","data":{"details":"You exceeded your quota"}}`: substrat.ClassQuota,
		`fail {"code":-32603,"message":"something"}`:                                                   substrat.ClassAgent,
		`die`: substrat.ClassCrashed,
	} {
		p, o := fake(t, "plain", nil)
		got, r := told(t, open(t, p, o), t.Context(), prompt)
		if r.Outcome != substrat.FailedTurn || r.Class != want || prompt == "die" && !strings.Contains(r.Detail, "out of luck") {
			t.Errorf("%s: %+v\n%s", prompt, r, got)
		}
	}
}

func TestSessions(t *testing.T) {
	for name, c := range map[string]struct {
		how, session, want, note string
	}{
		"load":            {"load", "s1", "s1", ""},
		"unknown session": {"load", "s9", "s1", "cannot go on in session s9"},
		"cannot load":     {"plain", "s9", "s1", "cannot resume"},
		"login":           {"login", "", "s1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := fake(t, c.how, nil)
			o.Session = c.session
			got, r := told(t, open(t, p, o), t.Context(), "may")
			if r.Outcome != substrat.Completed || r.Session != c.want || !strings.Contains(got, c.note) || strings.Contains(r.Text, "history") || strings.Contains(got, "history\"") {
				t.Errorf("%+v\n%s", r, got)
			}
		})
	}
	p, o := fake(t, "login", func(o *acp.Options) { o.AuthMethod = "other" })
	_, r := told(t, open(t, p, o), t.Context(), "may")
	if r.Class != substrat.ClassAuth || !strings.Contains(r.Detail, "token") {
		t.Errorf("%+v", r)
	}
}

// TestList: an agent that lists its sessions is asked page by page; one that does not, or is none, says so.
func TestList(t *testing.T) {
	p, o := fake(t, "list", nil)
	list, err := agentcli.Sessions(t.Context(), p, o)
	if err != nil || len(list) != 2 || list[0].ID != "s1" || list[0].Title != "One" || list[0].UpdatedAt.Year() != 2026 || list[1].ID != "s2" {
		t.Errorf("%+v %v", list, err)
	}
	p, o = fake(t, "plain", nil)
	if _, err := agentcli.Sessions(t.Context(), p, o); substrat.CodeOf(err) != substrat.CodeUnsupported {
		t.Errorf("%v", err)
	}
	// Whether it reads what it is asked before it ends, or not: what it said is the reason.
	for _, deaf := range []string{"", "exec 0<&-; ", "exec 0<&-; sleep 0.1; "} {
		none := acp.New(acp.Options{Command: []string{"/bin/sh", "-c", deaf + "echo no agent >&2; exit 4"}})
		if _, err := agentcli.Sessions(t.Context(), none, o); err == nil || !strings.Contains(err.Error(), "no agent") {
			t.Errorf("%q: %v", deaf, err)
		}
	}
}

func TestModeAndModel(t *testing.T) {
	p, o := fake(t, "plain", nil)
	o.Mode, o.Model = agentcli.ModePlan, "two"
	_, r := told(t, open(t, p, o), t.Context(), "die")
	if !strings.Contains(r.Detail, `session/set_mode {"modeId":"plan"`) || !strings.Contains(r.Detail, `"modelId":"m2"`) {
		t.Errorf("%s", r.Detail)
	}
	o.Model = "three"
	_, r = told(t, open(t, p, o), t.Context(), "die")
	if r.Class != substrat.ClassModel || !strings.Contains(r.Detail, "m1, m2") {
		t.Errorf("%+v", r)
	}
}

func TestBigLine(t *testing.T) {
	p, o := fake(t, "plain", nil)
	_, r := told(t, open(t, p, o), t.Context(), "big")
	if len(r.Text) != 20<<20+5 || r.Outcome != substrat.Completed {
		t.Errorf("%d bytes, %s", len(r.Text), r.Outcome)
	}
	o.Limits.Line = 1 << 20
	got, r := told(t, open(t, p, o), t.Context(), "big")
	if r.Text != "after" || !strings.Contains(got, "passed over") {
		t.Errorf("%s %s", got, r.Text)
	}
}

func TestFiles(t *testing.T) {
	p, o := fake(t, "plain", func(o *acp.Options) { o.FS = true })
	dir := o.Dir
	secret := filepath.Join(t.TempDir(), "secret")
	for path, text := range map[string]string{secret: "no", filepath.Join(dir, "a.txt"): "1\n2\n3\n4\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	ask := func(p agentcli.Provider, method string, params map[string]any) string {
		data, _ := json.Marshal(params)
		_, r := told(t, open(t, p, o), t.Context(), "ask "+method+" "+string(data))
		return r.Text
	}
	for want, params := range map[string]map[string]any{
		`{"content":"1\n2\n3\n4\n"}`: {"path": dir + "/a.txt"},
		`{"content":"2\n3\n"}`:       {"path": dir + "/a.txt", "line": 2, "limit": 2},
		`{"content":""}`:             {"path": dir + "/a.txt", "line": 99},
		"no such file":               {"path": dir + "/none"},
		"not in the workspace":       {"path": secret},
		"escapes":                    {"path": dir + "/link"},
		"has to be absolute":         {"path": "a.txt"},
		"not a file":                 {"path": dir},
	} {
		if got := ask(p, "fs/read_text_file", params); !strings.Contains(got, want) {
			t.Errorf("%v: %s, want %s", params, got, want)
		}
	}
	if got := ask(p, "fs/write_text_file", map[string]any{"path": dir + "/x/y.txt", "content": "new"}); got != "{}" {
		t.Error(got)
	}
	if data, _ := os.ReadFile(dir + "/x/y.txt"); string(data) != "new" {
		t.Errorf("%q", data)
	}
	ask(p, "fs/write_text_file", map[string]any{"path": dir + "/link", "content": "overwritten"})
	if data, _ := os.ReadFile(secret); string(data) != "no" {
		t.Errorf("a link was written through: %q", data)
	}
	bare, _ := fake(t, "plain", nil)
	if got := ask(bare, "fs/read_text_file", map[string]any{"path": dir + "/a.txt"}); !strings.Contains(got, "-32601") {
		t.Errorf("not offered, and yet: %s", got)
	}
}

func TestCursorExtensions(t *testing.T) {
	p, o := fake(t, "plain", nil)
	question := `ask cursor/ask_question {"toolCallId":"c","title":"Need input","questions":[{"id":"q1","prompt":"Which?","options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}]}`
	plan := `ask cursor/create_plan {"toolCallId":"c","name":"Big","overview":"o","plan":"1. do","todos":[{"id":"1","content":"x","status":"pending"}]}`
	_, r := told(t, open(t, p, o), t.Context(), question)
	if !strings.Contains(r.Text, `"outcome":"skipped"`) {
		t.Errorf("nobody there: %s", r.Text)
	}
	_, r = told(t, open(t, p, o), t.Context(), plan)
	if !strings.Contains(r.Text, `"outcome":"rejected"`) {
		t.Errorf("nobody there: %s", r.Text)
	}
	o.Ask = func(_ context.Context, q agentcli.Question) (agentcli.Answer, error) {
		if q.Kind == agentcli.AskPlan {
			a, _ := q.Choose(agentcli.AllowOnce)
			return a, nil
		}
		return agentcli.Answer{Outcome: agentcli.Answered, Choices: map[string][]string{"q1": {"b"}}}, nil
	}
	_, r = told(t, open(t, p, o), t.Context(), question)
	if r.Text != `{"outcome":{"outcome":"answered","answers":[{"questionId":"q1","selectedOptionIds":["b"]}]}}` {
		t.Errorf("%s", r.Text)
	}
	got, r := told(t, open(t, p, o), t.Context(), plan)
	if r.Text != `{"outcome":{"outcome":"accepted"}}` || !strings.Contains(got, "plan [{1 x pending}]") {
		t.Errorf("%s\n%s", r.Text, got)
	}
	got, _ = told(t, open(t, p, o), t.Context(), "cursor")
	for _, want := range []string{"todos [{1 a pending} {2 b pending}]", "todos [{1 a pending} {2 b completed}]", "tool.completed Task completed look around", "tool.completed Image completed /w/cat.png"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

func TestTerminals(t *testing.T) {
	p, o := fake(t, "plain", func(o *acp.Options) { o.Terminals = true })
	_, r := told(t, open(t, p, o), t.Context(), `ask terminal/create {"sessionId":"s1","command":"sleep 5432.1 & echo hi"}`)
	if !strings.Contains(r.Text, "terminal-1") {
		t.Errorf("%s", r.Text)
	}
	_, r = told(t, open(t, p, o), t.Context(), `ask terminal/create {"sessionId":"s1","command":"true","cwd":"/"}`)
	if !strings.Contains(r.Text, "not in the workspace") {
		t.Errorf("%s", r.Text)
	}
}
