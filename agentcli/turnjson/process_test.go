package turnjson_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/turnjson"
)

// TestTwoWay lets a CLI read its turn, call a tool, and go on with the answer it read.
func TestTwoWay(t *testing.T) {
	cli := script(t, `
read -r turn
case "$turn" in *'"role":"system","content":"be kind"'*'"content":"earlier"'*'"content":"do it"'*'"name":"exec","schema":{"description":"runs","type":"object"}'*) ;; *) echo "$turn" >&2; exit 3;; esac
echo '{"type":"tool_call","data":{"name":"exec","args":{"command":"pwd"},"callId":"c1"}}'
read -r answer
case "$answer" in *'"type":"tool_result","turnId":"t1","callId":"c1","name":"exec","result":"PWD"'*) ;; *) echo "$answer" >&2; exit 4;; esac
echo '{"type":"tool_call","data":{"name":"rm","args":{}}}'
read -r answer
case "$answer" in *'"name":"rm","error":{"code":"not_found"'*) ;; *) echo "$answer" >&2; exit 5;; esac
echo '{"type":"assistant_delta","data":{"content":"heard"}}'
echo '{"type":"done","data":{"finishReason":"stop"}}'
`)
	s := &tools{}
	req := agentcli.Request{Prompt: "do it", Turn: "t1", Instructions: "be kind", Tools: s, Messages: []agentcli.ChatMessage{{Role: "user", Content: "earlier"}}}
	r := play(t, turnjson.New(turnjson.Options{Command: cli}), req, nil)
	want := `call(c1 Bash {"command":"pwd"}) end(c1 completed PWD) call(call-1 rm {}) end(call-1 rejected there is no tool "rm" (the tools are: exec, web_fetch)) "heard" / completed`
	if got := told(r.events); got != want {
		t.Fatalf("got  %s (%s %s)\nwant %s", got, r.class, r.detail, want)
	}
	if !slices.Equal(s.calls, []string{`c1 exec {"command":"pwd"}`}) || r.result.ToolCalls != 2 {
		t.Errorf("calls %v, %d counted", s.calls, r.result.ToolCalls)
	}
	if _, more := r.result.Next(req); more {
		t.Error("the process heard everything, and there is a turn to tell it")
	}
	said := r.result.Conversation(req)
	if len(said) != 5 || said[2].Role != "tool" || said[2].Content != "PWD" || said[4].Content != "heard" {
		t.Errorf("the conversation is %+v", said)
	}
}

// TestCancelReachesTheCLI in the middle of a turn.
func TestCancelReachesTheCLI(t *testing.T) {
	cli := script(t, `
read -r turn
echo '{"type":"assistant_delta","data":{"content":"working"}}'
read -r line
[ "$line" = '{"type":"cancel","turnId":"t9"}' ] || exit 3
echo '{"type":"done","data":{"finishReason":"cancelled"}}'
`)
	r := play(t, turnjson.New(turnjson.Options{Command: cli}), agentcli.Request{Prompt: "x", Turn: "t9"}, func(e agentcli.Event) bool { return e.Type == agentcli.EventText })
	if r.result.Outcome != substrat.Cancelled || r.result.Text != "working" {
		t.Errorf("got %+v %s", r.result, r.detail)
	}
	err := turnjson.New(turnjson.Options{Command: cli, OneWay: true}).Interrupt(t.Context(), printing(), agentcli.Request{})
	if substrat.CodeOf(err) != substrat.CodeUnsupported {
		t.Errorf("a cancel where none can be heard: %v", err)
	}
}

// TestDeathDuringACall ends the call: nobody waits for it any more.
func TestDeathDuringACall(t *testing.T) {
	cli := script(t, `
read -r turn
echo '{"type":"tool_call","data":{"name":"exec","args":{"command":"a"}}}'
echo '{"type":"tool_call","data":{"name":"exec","args":{"command":"b"}}}'
echo gone >&2
exit 7
`)
	s := &tools{wait: make(chan struct{})}
	r := play(t, turnjson.New(turnjson.Options{Command: cli}), agentcli.Request{Prompt: "x", Tools: s}, nil)
	if got := told(r.events); !strings.Contains(got, "end(call-1 failed") || !strings.Contains(got, "end(call-2 failed") || len(s.calls) != 1 {
		t.Errorf("got %s, calls %v", got, s.calls)
	}
	if r.class != substrat.ClassAgent || !strings.Contains(r.detail, "code 7") || !strings.Contains(r.detail, "gone") {
		t.Errorf("%s: %s", r.class, r.detail)
	}
}

// TestReaderOfAllOfStdin is not left waiting for an end that a two-way conversation never has.
func TestReaderOfAllOfStdin(t *testing.T) {
	cli := script(t, `
turn=$(cat)
echo '{"type":"tool_call","data":{"name":"exec","args":{"command":"a"}}}'
echo '{"type":"done"}'
`)
	p, req := turnjson.New(turnjson.Options{Command: cli, Patience: 50 * time.Millisecond}), agentcli.Request{Prompt: "x", Tools: &tools{}}
	r := play(t, p, req, nil)
	if got, want := told(r.events), `call(call-1 Bash {"command":"a"}) end(call-1 completed A) completed`; got != want {
		t.Fatalf("got %s", got)
	}
	if _, more := r.result.Next(req); !more {
		t.Error("the CLI is never told what its tool answered")
	}
}

// TestOneWay closes stdin behind the turn, runs the calls all the same, and tells the results in the next turn.
func TestOneWay(t *testing.T) {
	cli := script(t, `
turn=$(cat)
case "$turn" in
*'"role":"tool","content":"LS","name":"exec","callId":"k"'*) echo '{"type":"assistant_delta","data":{"content":"saw it"}}';;
*) echo '{"type":"assistant_delta","data":{"content":"looking"}}'
   echo '{"type":"tool_call","tool_call":{"toolName":"exec","arguments":"{\"command\":\"ls\"}","id":"k"}}';;
esac
`)
	p, req := turnjson.New(turnjson.Options{Command: cli, OneWay: true}), agentcli.Request{Prompt: "x", Tools: &tools{}}
	r := play(t, p, req, nil)
	if got, want := told(r.events), `"looking" / call(k Bash {"command":"ls"}) end(k completed LS)`; got != want || r.class != "" {
		t.Fatalf("got %s %s %s", got, r.class, r.detail)
	}
	r.result.Outcome = substrat.Completed // as the host takes an empty class
	next, more := r.result.Next(req)
	if !more {
		t.Fatal("there is no next turn")
	}
	r = play(t, p, next, nil)
	if r.result.Text != "saw it" {
		t.Errorf("got %s %s", told(r.events), r.detail)
	}
	if _, more := r.result.Next(next); more {
		t.Error("there is a turn after the last")
	}
}

// TestPromptAsArgument gives a real process its prompt and nothing on stdin, and a long one on stdin.
func TestPromptAsArgument(t *testing.T) {
	cli := script(t, `
for last in "$@"; do :; done
printf '{"type":"assistant_delta","data":{"content":"%s|%s|%s"}}\n' "$last" "$(cat | wc -c)" "$CURSOR_AGENT_AUTH_PROFILE"
echo '{"type":"done"}'
`)
	p := turnjson.New(turnjson.Options{Command: cli, PromptAsArg: true, Args: []string{"-p"}})
	if r := play(t, p, agentcli.Request{Prompt: " say hi \n", Profile: "work"}, nil); r.result.Text != "say hi|0|work" {
		t.Errorf("got %q", r.result.Text)
	}
	if r := play(t, p, agentcli.Request{Prompt: strings.Repeat("é", 4000)}, nil); !strings.HasSuffix(r.result.Text, "|0|") {
		t.Errorf("4000 characters: %.20q…", r.result.Text[len(r.result.Text)-20:])
	}
	if r := play(t, p, agentcli.Request{Prompt: strings.Repeat("é", 4001)}, nil); r.result.Text != "--force|8002|" {
		t.Errorf("4001 characters: %.40q", r.result.Text)
	}
}

func TestExitRules(t *testing.T) {
	for _, c := range []struct {
		name, body string
		arg        bool
		class      substrat.FailureClass
		want       []string
	}{
		{"silent failure", "exit 1", false, substrat.ClassAgent, []string{"code 1", "no stderr", "headless", "login", "stdin", "arguments", `echo '{"type":"turn","turnId":"t1","messages":[{"role":"user","content":"hi"}],"tools":[]}' | `, ` auto --stream-json; echo "exit code $?"`}},
		{"silent failure by argument", "exit 1", true, substrat.ClassAgent, []string{"code 1", "--approve-mcps --force hello"}},
		{"silent success", "read -r turn; exit 0", false, substrat.ClassProtocol, []string{"code 0", "no event", "--stream-json"}},
		{"no terminal", "echo 'the input device is not a TTY' >&2; exit 1", false, substrat.ClassAgent, []string{"terminal only", "not a TTY"}},
		{"no flag", "echo \"error: unknown option '--stream-json'\" >&2; exit 2", false, substrat.ClassAgent, []string{"no such flag", "code 2"}},
		{"help instead of events", "echo 'Usage: agent [options]'; exit 1", false, substrat.ClassProtocol, []string{"no such flag"}},
		{"no login", "echo 'Error: Authentication required. Please log in' >&2; exit 1", false, substrat.ClassAuth, []string{"login", "Authentication required"}},
		{"no variable", "echo 'AGENT_HOME is not set' >&2; exit 1", false, substrat.ClassAgent, []string{"environment"}},
		{"nothing on stdin", "echo 'SyntaxError: Unexpected end of JSON input' >&2; exit 1", false, substrat.ClassAgent, []string{"reads stdin"}},
		{"quota", "echo 'usage limit reached for key_0123456789abcdef012345' >&2; exit 1", false, substrat.ClassQuota, []string{"[redacted]"}},
		{"failure after text", "echo '" + said + "'; echo 'ECONNRESET' >&2; exit 1", false, substrat.ClassNetwork, []string{"code 1 before it was done", "ECONNRESET"}},
		{"failure after text without a word", "echo '" + said + "'; exit 9", false, substrat.ClassAgent, []string{"code 9", "no stderr"}},
		{"success without done", "read -r turn; echo '" + said + "'", false, "", nil},
		{"killed", "kill -9 $$", false, substrat.ClassCrashed, []string{"killed"}},
		{"not there", "exit 127", false, substrat.ClassNotInstalled, []string{"127"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := turnjson.New(turnjson.Options{Command: script(t, c.body), Args: []string{"auto", "--stream-json"}, PromptAsArg: c.arg})
			r := play(t, p, agentcli.Request{Prompt: "x"}, nil)
			if r.result.Terminal {
				r.class, r.detail = r.result.Class, r.result.Detail
			}
			if r.class != c.class {
				t.Errorf("class %q: %s", r.class, r.detail)
			}
			for _, w := range c.want {
				if !strings.Contains(r.detail, w) {
					t.Errorf("no %q in: %s", w, r.detail)
				}
			}
		})
	}
	// Done counts, whatever the process does after it.
	r := play(t, turnjson.New(turnjson.Options{Command: script(t, "echo '"+doneLine+"'; exit 1")}), agentcli.Request{Prompt: "x"}, nil)
	if r.result.Outcome != substrat.Completed {
		t.Errorf("done and exit 1: %+v", r.result)
	}
}

func TestCommand(t *testing.T) {
	official := turnjson.Options{Command: "agent", Args: []string{"-p", "--output-format", "stream-json"}, PromptAsArg: true}
	with := func(change func(*turnjson.Options)) turnjson.Options {
		o := official
		change(&o)
		return o
	}
	for _, c := range []struct {
		name  string
		o     turnjson.Options
		req   agentcli.Request
		argv  string
		stdin string
	}{
		{"as the contract says", official, agentcli.Request{Prompt: "hi"}, "agent -p --output-format stream-json --approve-mcps --force hi", ""},
		{"without the flags", with(func(o *turnjson.Options) { o.NoApproveMCPs, o.NoForce = true, true }), agentcli.Request{Prompt: "hi"}, "agent -p --output-format stream-json hi", ""},
		{"planning", official, agentcli.Request{Prompt: "hi", Mode: agentcli.ModePlan}, "agent -p --output-format stream-json --approve-mcps hi", ""},
		{"a prompt like an option", official, agentcli.Request{Prompt: "-rf"}, "agent -p --output-format stream-json --approve-mcps --force", "-rf"},
		{"with dashes", with(func(o *turnjson.Options) { o.DashDash = true }), agentcli.Request{Prompt: "-rf"}, "agent -p --output-format stream-json --approve-mcps --force -- -rf", ""},
		{"secret", official, agentcli.Request{Prompt: "hi", Secret: true}, "agent -p --output-format stream-json --approve-mcps --force", "hi"},
		{"over the limit", with(func(o *turnjson.Options) { o.PromptLimit = 2 }), agentcli.Request{Prompt: "abc"}, "agent -p --output-format stream-json --approve-mcps --force", "abc"},
		{"zero byte", official, agentcli.Request{Prompt: "a\x00b"}, "agent -p --output-format stream-json --approve-mcps --force", "a\x00b"},
		{"instructions first", official, agentcli.Request{Prompt: "hi", Instructions: "be kind"}, "agent -p --output-format stream-json --approve-mcps --force be kind\n\nhi", ""},
		{"results of tools", official, agentcli.Request{Messages: []agentcli.ChatMessage{{Role: "user", Content: "q"}, {Role: "tool", Name: "exec", CallID: "1", Content: "out"}}}, "agent -p --output-format stream-json --approve-mcps --force Result of exec 1:\nout", ""},
		{"model and session", with(func(o *turnjson.Options) { o.ModelFlag, o.ResumeFlag = "--model", "--resume" }), agentcli.Request{Prompt: "hi", Model: "m", Session: "s"}, "agent -p --output-format stream-json --model m --resume s --approve-mcps --force hi", ""},
		{"turn", turnjson.Options{Command: "cli", Args: []string{"auto"}}, agentcli.Request{Prompt: "<hi>", Turn: "t1"}, "cli auto", `{"type":"turn","turnId":"t1","messages":[{"role":"user","content":"<hi>"}],"tools":[]}` + "\n"},
		{"program", turnjson.Options{Args: []string{"auto"}}, agentcli.Request{Prompt: "hi", Turn: "t1", Program: []string{"py", "x.py"}}, "py x.py auto", `{"type":"turn","turnId":"t1","messages":[{"role":"user","content":"hi"}],"tools":[]}` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, err := turnjson.New(c.o).Command(c.req)
			if err != nil || strings.Join(cmd.Argv, " ") != c.argv || string(cmd.Stdin) != c.stdin {
				t.Errorf("got %q, stdin %q, %v", cmd.Argv, cmd.Stdin, err)
			}
			if cmd.KeepStdin == (c.o.PromptAsArg || c.o.OneWay) {
				t.Errorf("keeps stdin: %v", cmd.KeepStdin)
			}
		})
	}
	big := strings.Repeat("x", 128<<10)
	cmd, _ := turnjson.New(with(func(o *turnjson.Options) { o.PromptLimit = 1 << 30 })).Command(agentcli.Request{Prompt: big})
	if len(cmd.Stdin) != len(big) {
		t.Error("a prompt that the kernel does not take as an argument is one")
	}
	for _, o := range []turnjson.Options{{PromptAsArg: true}, official, {Command: "x"}} {
		if _, err := turnjson.New(o).Command(agentcli.Request{Prompt: ""}); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestToolCallShapes(t *testing.T) {
	for _, c := range []struct {
		name, line, want string
		o                turnjson.Options
	}{
		{"contract", `{"type":"tool_call","data":{"name":"exec","args":{"command":"a"},"id":"7"}}`, `call(7 Bash {"command":"a"}) end(7 completed A) completed`, turnjson.Options{}},
		{"id as a number", `{"type":"tool_call","data":{"name":"exec","args":{"command":"a"},"id":7}}`, `call(7 Bash {"command":"a"}) end(7 completed A) completed`, turnjson.Options{}},
		{"no arguments", `{"type":"tool_call","data":{"name":"exec"}}`, `call(call-1 Bash {}) end(call-1 completed ) completed`, turnjson.Options{}},
		{"arguments of another kind", `{"type":"tool_call","data":{"name":"exec","args":[1]}}`, `failed protocol`, turnjson.Options{}},
		{"nested", `{"type":"tool_call","tool_call":{"name":"exec","arguments":{"command":"a"}}}`, `call(call-1 Bash {"command":"a"}) end(call-1 completed A) completed`, turnjson.Options{}},
		{"nested toolName and args", `{"type":"tool_call","call_id":"x","tool_call":{"toolName":"exec","args":{"command":"a"}}}`, `call(x Bash {"command":"a"}) end(x completed A) completed`, turnjson.Options{}},
		{"nested in data", `{"type":"tool_call","data":{"tool_call":{"name":"exec","args":{"command":"a"}}}}`, `call(call-1 Bash {"command":"a"}) end(call-1 completed A) completed`, turnjson.Options{}},
		{"nested function", `{"type":"tool_call","tool_call":{"id":"f","function":{"name":"exec","arguments":"{\"command\":\"a\"}"}}}`, `call(f Bash {"command":"a"}) end(f completed A) completed`, turnjson.Options{}},
		{"nested, not registered", `{"type":"tool_call","tool_call":{"name":"other","args":{}}}`, `notice completed`, turnjson.Options{}},
		{"nested, over already", `{"type":"tool_call","subtype":"completed","tool_call":{"name":"exec","args":{}}}`, `notice completed`, turnjson.Options{}},
		{"refused", `{"type":"tool_call","data":{"name":"exec","args":{"command":"bad"}}}`, `call(call-1 Bash {"command":"bad"}) end(call-1 rejected it does not fit) completed`, turnjson.Options{}},
		{"not registered, strictly", `{"type":"tool_call","data":{"name":"rm","args":{}}}`, `call(call-1 rm {}) failed protocol`, turnjson.Options{FailUnknownTools: true}},
		{"nothing", `{"type":"tool_call","data":{}}`, `failed protocol`, turnjson.Options{}},
		{"nothing, official", `{"type":"tool_call","data":{}}`, `notice completed`, turnjson.Options{PromptAsArg: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Command = "x"
			s := &tools{}
			// The end of the turn comes when the call was answered, as of a CLI that waits for it.
			conn := &waiting{feed: printing(c.line, doneLine)}
			got, _ := decode(t, turnjson.New(c.o), agentcli.Request{Prompt: "q", Tools: s}, conn)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if strings.Contains(c.want, "failed protocol") && !c.o.PromptAsArg && (len(conn.wrote) != 1 || !strings.Contains(conn.wrote[0], `"cancel"`)) {
				t.Errorf("the CLI was told %q", conn.wrote)
			}
		})
	}
}

// waiting is a feed as it is.
type waiting struct{ *feed }

// TestRecordedCallsAreNotDone: a recording is told of, and nothing happens.
func TestRecordedCallsAreNotDone(t *testing.T) {
	s := &tools{}
	got, r := decode(t, turnjson.New(turnjson.Options{}), agentcli.Request{Recorded: true, Tools: s}, printing(`{"type":"tool_call","data":{"name":"exec","args":{}}}`, doneLine))
	if got != `call(call-1 Bash {}) completed` || len(s.calls) != 0 || r.FollowUp {
		t.Errorf("got %s, calls %v", got, s.calls)
	}
}

func TestCallsInText(t *testing.T) {
	call := `<tool_call>{\"name\":\"exec\",\"arguments\":{\"command\":\"a\"}}</tool_call>`
	o := turnjson.Options{Command: "x", TextCalls: true}
	for _, c := range []struct {
		name  string
		lines []string
		want  string
		text  string
	}{
		{"alone", []string{deltaLine("let me " + call + " see"), doneLine}, `"let me  see" / call(call-1 Bash {"command":"a"}) end(call-1 completed A) completed`, "let me  see"},
		{"in pieces", []string{deltaLine("x <tool"), deltaLine(call[5:40]), deltaLine(call[40:] + "y"), doneLine}, `"x " "y" / call(call-1 Bash {"command":"a"}) end(call-1 completed A) completed`, "x y"},
		{"with a structured one", []string{deltaLine(call), `{"type":"tool_call","data":{"name":"exec","args":{"command":"b"}}}`, doneLine}, `/ call(call-1 Bash {"command":"b"}) end(call-1 completed B) completed`, ""},
		{"not registered", []string{deltaLine(`<tool_call>{\"name\":\"rm\"}</tool_call>`), doneLine}, `"<tool_call>{\"name\":\"rm\"}</tool_call>" / completed`, `<tool_call>{"name":"rm"}</tool_call>`},
		{"no JSON", []string{deltaLine("<tool_call>x</tool_call>"), doneLine}, `"<tool_call>x</tool_call>" / completed`, "<tool_call>x</tool_call>"},
		{"without end", []string{deltaLine("a <tool_call>{"), doneLine}, `"a " "<tool_call>{" / completed`, "a <tool_call>{"},
		{"a tag's front at the end", []string{deltaLine("a <tool"), doneLine}, `"a " "<tool" / completed`, "a <tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, r := decode(t, turnjson.New(o), agentcli.Request{Prompt: "q", Tools: &tools{}}, printing(c.lines...))
			if got != c.want || r.Text != c.text {
				t.Errorf("got  %s (%q)\nwant %s", got, r.Text, c.want)
			}
			if calls := strings.Contains(c.want, "end("); r.FollowUp != (calls && c.name != "with a structured one") && c.name != "with a structured one" {
				t.Errorf("follow up: %v", r.FollowUp)
			}
		})
	}
}

// TestNothingOutlivesTheConversation when the reader of the events leaves in the middle of a call.
func TestNothingOutlivesTheConversation(t *testing.T) {
	s := &tools{wait: make(chan struct{}), began: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	conn := &endless{ctx: ctx, first: printing(`{"type":"tool_call","data":{"name":"exec","args":{}}}`)}
	go func() { <-s.began; cancel() }()
	_, err := turnjson.New(turnjson.Options{Command: "x"}).Converse(ctx, conn, agentcli.Request{Prompt: "q", Tools: s}, func(agentcli.Event) error { return nil })
	if err == nil {
		t.Error("no error")
	}
}

// endless prints one thing and then nothing, for ever.
type endless struct {
	ctx   context.Context
	first *feed
	given bool
}

func (e *endless) ReadFrame(ctx context.Context) (agentcli.Frame, error) {
	if !e.given {
		e.given = true
		return e.first.ReadFrame(ctx)
	}
	<-ctx.Done()
	return agentcli.Frame{}, ctx.Err()
}

func (*endless) WriteFrame(context.Context, []byte) error { return nil }

// FuzzConverse: whatever a CLI prints, the conversation ends, tells its end once, and its text is the sum of its pieces.
func FuzzConverse(f *testing.F) {
	for _, s := range streams {
		if !strings.HasPrefix(s.name, "overlong") {
			f.Add(strings.Join(s.lines, "\n"), false, true)
			f.Add(strings.Join(s.lines, "\n"), true, false)
		}
	}
	f.Add(`{"type":"tool_call","data":{"name":"exec","args":{}}}`+"\n"+deltaLine("<tool_call>{}</tool_call>"), false, true)
	f.Fuzz(func(t *testing.T, stream string, arg, textCalls bool) {
		p := turnjson.New(turnjson.Options{Command: "x", PromptAsArg: arg, TextCalls: textCalls})
		var text strings.Builder
		ends, open := 0, map[string]int{}
		r, err := p.Converse(t.Context(), printing(stream), agentcli.Request{Prompt: "q", Tools: &tools{}}, func(e agentcli.Event) error {
			switch e.Type {
			case agentcli.EventText:
				text.WriteString(e.Text)
			case agentcli.EventResult:
				ends++
			case agentcli.EventToolStart:
				open[e.Tool.ID]++
			}
			if ends > 0 && e.Type != agentcli.EventResult {
				t.Errorf("%s after the end", e.Type)
			}
			if len(e.Raw) > 0 && !json.Valid(e.Raw) {
				t.Errorf("the raw frame is %q", e.Raw)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if text.String() != r.Text || (ends == 1) != r.Terminal {
			t.Errorf("pieces %q, text %q, %d ends, terminal %v", text.String(), r.Text, ends, r.Terminal)
		}
	})
}
