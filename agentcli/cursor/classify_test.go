package cursor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// TestDiagnose holds the texts that real builds print against their classes.
func TestDiagnose(t *testing.T) {
	cases := []struct {
		name   string
		exit   agentcli.Exit
		class  substrat.FailureClass
		detail string
	}{
		{"no login", agentcli.Exit{Code: 1, Stderr: []byte("Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable.")}, substrat.ClassAuth, "CURSOR_API_KEY"},
		{"older no login", agentcli.Exit{Code: 1, Stderr: []byte("Error: Authentication required. Please run 'cursor-agent login' first")}, substrat.ClassAuth, ""},
		{"bad key, coloured", agentcli.Exit{Code: 1, Stderr: []byte("\x1b[33m⚠ Warning: The provided API key is invalid.\x1b[0m")}, substrat.ClassAuth, "⚠ Warning: The provided API key is invalid."},
		{"untrusted", agentcli.Exit{Code: 1, Stderr: []byte("\n⚠ Workspace Trust Required\n…Pass --trust, --yolo, or -f if you trust this directory")}, substrat.ClassTrust, "--trust"},
		{"untrusted with exit 0", agentcli.Exit{Code: 0, Stderr: []byte("⚠ Workspace Trust Required")}, substrat.ClassTrust, ""},
		{"bad model", agentcli.Exit{Code: 1, Stderr: []byte("Cannot use this model: X. Available models: " + strings.Repeat("a, ", 5000))}, substrat.ClassModel, "…"},
		{"session", agentcli.Exit{Code: 1, Stderr: []byte(`Failed to claim persistent session for chat "x": Persistent-session chat ID must be a UUID`)}, substrat.ClassSession, ""},
		{"refused request", agentcli.Exit{Code: 1, Stdout: []byte("RetriableError: [invalid_argument] Error")}, substrat.ClassNetwork, ""},
		{"network", agentcli.Exit{Code: 1, Stderr: []byte("Error: [unavailable] connect ETIMEDOUT 1.2.3.4:443")}, substrat.ClassNetwork, ""},
		{"usage wall", agentcli.Exit{Code: 1, Stderr: []byte("ActionRequiredError: You've hit your usage limit. Your usage limits will reset when your monthly cycle ends on 1/2/2027")}, substrat.ClassQuota, "1/2/2027"},
		{"overload", agentcli.Exit{Code: 1, Stderr: []byte("[resource_exhausted] Error")}, substrat.ClassRateLimit, ""},
		{"config race", agentcli.Exit{Code: 1, Stderr: []byte("ENOENT: no such file or directory, rename '/h/.cursor/cli-config.json.tmp' -> '/h/.cursor/cli-config.json'")}, substrat.ClassConfig, ""},
		{"locked", agentcli.Exit{Code: 1, Stderr: []byte("SqliteError: database is locked")}, substrat.ClassLocked, ""},
		{"killed", agentcli.Exit{Code: -1, Signal: "SIGKILL"}, substrat.ClassCrashed, "SIGKILL"},
		{"exit 0 and nothing", agentcli.Exit{Code: 0}, substrat.ClassProtocol, "without a result"},
		{"exit 1 and nothing", agentcli.Exit{Code: 1}, substrat.ClassAgent, "by hand"},
		{"not there", agentcli.Exit{Code: 127, Stderr: []byte("sh: cursor-agent: not found")}, substrat.ClassNotInstalled, ""},
		{"too long", agentcli.Exit{Code: 1, Stderr: []byte("fork/exec /usr/bin/cursor-agent: argument list too long")}, substrat.ClassAgent, "standard input"},
		{"too long, by node", agentcli.Exit{Code: 1, Stderr: []byte("Error: spawn E2BIG")}, substrat.ClassAgent, "standard input"},
		{"wants a terminal", agentcli.Exit{Code: 1, Stderr: []byte("ERROR Raw mode is not supported on the current process.stdin")}, substrat.ClassAgent, "--print"},
		{"old build", agentcli.Exit{Code: 1, Stderr: []byte("error: unknown option '--trust'")}, substrat.ClassAgent, "cursor-agent update"},
		{"full disk", agentcli.Exit{Code: 1, Stderr: []byte("Error: ENOSPC: no space left on device, write")}, substrat.ClassAgent, "free some space"},
		{"home cannot be written", agentcli.Exit{Code: 1, Stderr: []byte("Error: EROFS: read-only file system, mkdir '/home/u/.cursor/chats'")}, substrat.ClassAgent, "must be able to write"},
		{"no memory", agentcli.Exit{Code: 1, Stderr: []byte("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory")}, substrat.ClassCrashed, "memory"},
		{"no node on PATH", agentcli.Exit{Code: 127, Stderr: []byte("env: 'node': No such file or directory")}, substrat.ClassNotInstalled, "PATH"},
		{"something missing", agentcli.Exit{Code: 1, Stderr: []byte("Error: spawn rg ENOENT")}, substrat.ClassNotInstalled, "PATH"},
		{"host not found", agentcli.Exit{Code: 1, Stderr: []byte("Error: getaddrinfo ENOTFOUND api2.cursor.sh")}, substrat.ClassNetwork, ""},
		{"proxy's certificate", agentcli.Exit{Code: 1, Stderr: []byte("Error: self-signed certificate in certificate chain")}, substrat.ClassNetwork, ""},
		{"stalled", agentcli.Exit{Code: 1, Stderr: []byte("Provider stream stalled")}, substrat.ClassNetwork, ""},
		{"keychain", agentcli.Exit{Code: 1, Stderr: []byte("Error: keychain item cannot be read")}, substrat.ClassAuth, "CURSOR_API_KEY"},
		{"free plan", agentcli.Exit{Code: 1, Stdout: []byte("T: You've hit your usage limit")}, substrat.ClassQuota, ""},
		{"tools", agentcli.Exit{Code: 1, Stderr: []byte("Error: too many tools (52)")}, substrat.ClassTools, "MCP servers"},
		{"id taken", agentcli.Exit{Code: 1, Stderr: []byte(`Error: Session ID "x" is already in use.`)}, substrat.ClassSession, ""},
		{"interrupted", agentcli.Exit{Code: 130, Stderr: []byte("Aborting operation...")}, substrat.ClassCrashed, "SIGINT"},
		{"ended", agentcli.Exit{Code: 143}, substrat.ClassCrashed, "SIGTERM"},
		{"something else", agentcli.Exit{Code: 3, Stderr: []byte("it went wrong")}, substrat.ClassAgent, "code 3: it went wrong"},
	}
	p := New(Options{})
	for _, c := range cases {
		class, detail := p.Diagnose(agentcli.Request{}, agentcli.Result{}, c.exit)
		if class != c.class || !strings.Contains(detail, c.detail) || len(detail) > 3000 || strings.Contains(detail, "\x1b") {
			t.Errorf("%s: %s %.200q, want %s with %q", c.name, class, detail, c.class, c.detail)
		}
	}
}

// TestSilence: a CLI that fails without a word is told of by how far it came and what was asked of it.
func TestSilence(t *testing.T) {
	p := New(Options{})
	_, detail := p.Diagnose(agentcli.Request{Model: "m-1", Session: "c-1"}, agentcli.Result{}, agentcli.Exit{Code: 1})
	for _, cause := range []string{"logged in", "terminal", "trust", "the model m-1", "conversation c-1", "PATH", "by hand"} {
		if !strings.Contains(detail, cause) {
			t.Errorf("%q does not name %q", detail, cause)
		}
	}
	if _, detail = p.Diagnose(agentcli.Request{}, agentcli.Result{Session: "s-1"}, agentcli.Exit{Code: 1}); !strings.Contains(detail, "s-1 can be resumed") {
		t.Errorf("in the middle: %q", detail)
	}
}

// TestExplain: what can be tried without a turn is tried, where the agent ran.
func TestExplain(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		req    agentcli.Request
		class  substrat.FailureClass
		detail string
	}{
		"all is well": {goodCLI, agentcli.Request{Model: "auto"}, substrat.ClassAgent, "without a terminal"},
		"a base":      {strings.Replace(goodCLI, "auto - Auto", "grok-4.7-xhigh - Grok", 1), agentcli.Request{Model: "grok-4.7"}, substrat.ClassAgent, "by hand"},
		"no model":    {goodCLI, agentcli.Request{Model: "nope"}, substrat.ClassModel, "nope is not offered"},
		"no login":    {strings.ReplaceAll(goodCLI, "LOGIN:-true", "LOGIN:-false"), agentcli.Request{}, substrat.ClassAuth, "cursor-agent login"},
		"no node":     {"echo \"env: 'node': No such file or directory\" >&2; exit 127", agentcli.Request{}, substrat.ClassNotInstalled, "PATH"},
		"silent":      {"exit 1", agentcli.Request{}, substrat.ClassNotInstalled, "does not even tell its version"},
		"another":     {"echo OpenSSH_9.6", agentcli.Request{}, substrat.ClassNotInstalled, "OpenSSH_9.6"},
		"old build":   {strings.Replace(goodCLI, "models)", "--help) echo '--print --force';;\nmodels)", 1), agentcli.Request{Mode: agentcli.ModePlan}, substrat.ClassAgent, "no mode plan"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeCLI(t, map[string]string{"cursor-agent": c.script})
			c.req.Dir = t.TempDir()
			class, detail := New(Options{}).Explain(t.Context(), runHere, c.req)
			if class != c.class || !strings.Contains(detail, c.detail) {
				t.Errorf("%s %q, want %s with %q", class, detail, c.class, c.detail)
			}
		})
	}
	t.Setenv("PATH", "/nowhere")
	t.Setenv("HOME", "/nowhere")
	if class, _ := New(Options{}).Explain(t.Context(), runHere, agentcli.Request{}); class != substrat.ClassNotInstalled {
		t.Errorf("no program: %s", class)
	}
}

// TestStreams decodes hand-made streams of the documented shapes, of old and new builds and of what goes wrong.
func TestStreams(t *testing.T) {
	tool := func(variant, result string) string {
		return `{"type":"tool_call","subtype":"completed","call_id":"c\n1","tool_call":{"toolCallId":"c\n1","` + variant + `ToolCall":{"args":{"path":"/w/a","command":"ls"},"result":` + result + `},"hookAdditionalContexts":[]}}`
	}
	end := `{"type":"result","subtype":"success","is_error":false,"result":"x"}`
	cases := []struct {
		name, stream string
		partial      bool
		want         string
	}{
		{"no delta repeats", `{"type":"assistant","message":{"content":[{"type":"text","text":"-"}]},"timestamp_ms":1}
{"type":"assistant","message":{"content":[{"type":"text","text":"-"}]},"timestamp_ms":2}
{"type":"assistant","message":{"content":[{"type":"text","text":"--"}]}}
` + end, true, `text:-- result:completed`},
		{"flush before a query looks like a delta", `{"type":"assistant","message":{"content":[{"type":"text","text":"Let me look."}]},"timestamp_ms":1}
{"type":"assistant","message":{"content":[{"type":"text","text":"Let me look."}]},"timestamp_ms":2}
{"type":"interaction_query","subtype":"request","query_type":"webSearchRequestQuery","query":{"id":1,"webSearchRequestQuery":{}}}
` + end, true, `text:Let me look. permission result:completed`},
		{"end flush holds everything", `{"type":"assistant","message":{"content":[{"type":"text","text":"a"}]},"timestamp_ms":1}
{"type":"assistant","message":{"content":[{"type":"text","text":"a"}]},"timestamp_ms":2,"model_call_id":"m"}
` + tool("shell", `{"success":{"exitCode":0,"stdout":"o"}}`) + `
{"type":"assistant","message":{"content":[{"type":"text","text":"b"}]},"timestamp_ms":3}
{"type":"assistant","message":{"content":[{"type":"text","text":"ab"}]}}
` + end, true, `text:a Bash:completed:o text:b result:completed`},
		{"without partial output each text counts", `{"type":"assistant","message":{"content":[{"type":"text","text":"a"}]},"timestamp_ms":1}
{"type":"assistant","message":{"content":[{"type":"text","text":"a"}]},"timestamp_ms":2}
` + end, false, `text:a text:a result:completed`},
		{"only a result", `{"type":"result","subtype":"success","result":"all of it"}`, true, `text:all of it result:completed`},
		{"an error result", `{"type":"result","subtype":"error","is_error":true,"result":"Error: Authentication required"}`, true, `result:failed:auth`},
		{"is_error in a success", `{"type":"result","subtype":"success","is_error":true,"result":"boom"}`, true, `result:failed:agent_error`},
		{"nothing after the end", end + "\n" + end + "\n" + `{"type":"assistant","message":{"content":"late"}}`, true, `text:x result:completed`},
		{"two objects on a line", `{"type":"thinking","subtype":"delta","text":"h"} {"type":"thinking","subtype":"completed"}` + "\n" + end, true, `thinking:h text:x result:completed`},
		{"noise", "Update available\n" + end, true, `notice:Update available text:x result:completed`},
		{"unknown type", `{"type":"weather","subtype":"sunny"}` + "\n" + end, true, `notice:unknown frame weather sunny text:x result:completed`},
		{"unknown tool", tool("teleport", `{"success":{"message":"there"}}`) + "\n" + end, true, `teleport:completed:there text:x result:completed`},
		{"failure", tool("shell", `{"failure":{"exitCode":"2","stderr":"bad"},"isBackground":false}`) + "\n" + end, true, `Bash:failed:bad text:x result:completed`},
		{"success with an exit code", tool("shell", `{"success":{"exitCode":1,"stdout":"o"}}`) + "\n" + end, true, `Bash:failed:o text:x result:completed`},
		{"rejected", tool("shell", `{"rejected":{"reason":""}}`) + "\n" + end, true, `Bash:rejected: text:x result:completed`},
		{"timeout", tool("shell", `{"timeout":{"command":"ls"}}`) + "\n" + end, true, `Bash:timeout: text:x result:completed`},
		{"denied", tool("edit", `{"writePermissionDenied":{"path":"/w/a"}}`) + "\n" + end, true, `Edit:rejected: text:x result:completed`},
		{"read error", tool("read", `{"error":{"errorMessage":"File not found"}}`) + "\n" + end, true, `Read:failed: text:x result:completed`},
		{"mcp tool error", tool("mcp", `{"success":{"content":[{"text":{"text":"no"}}],"isError":true}}`) + "\n" + end, true, `MCP:failed:no text:x result:completed`},
		{"result without outcome", tool("read", `{}`) + "\n" + end, true, `Read:failed: text:x result:completed`},
		{"a retry starts over", `{"type":"assistant","message":{"content":"old"},"timestamp_ms":1}
{"type":"retry","subtype":"starting","attempt":2,"is_resume":false}
{"type":"assistant","message":{"content":"new"}}
` + end, true, `text:old retry text:new result:completed`},
		{"a question", `{"type":"interaction_query","subtype":"request","query_type":"askQuestionInteractionQuery","query":{"id":0,"askQuestionInteractionQuery":{"args":{"title":"T","questions":[{"id":"q","prompt":"Which?","options":[{"id":"a","label":"A"}]}]},"toolCallId":"t"}}}
` + end, true, `question:Which? text:x result:completed`},
		{"a plan in phases", `{"type":"tool_call","subtype":"started","call_id":"p","tool_call":{"createPlanToolCall":{"args":{"overview":"o","todos":[],"phases":[{"name":"1","todos":[{"id":"a","content":"do","status":"TODO_STATUS_PENDING"}]}]}}}}
` + end, true, `plan:o:pending do text:x result:completed`},
		{"broken UTF-8", "{\"type\":\"thinking\",\"subtype\":\"delta\",\"text\":\"\xff\xfe\"}\n" + end, true, "thinking:\uFFFD\uFFFD text:x result:completed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			events, result := decode(t, []byte(c.stream), c.partial)
			if got := digest(events); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if !result.Terminal {
				t.Error("the stream has no end")
			}
		})
	}
}

// digest writes events shortly, and runs of text together.
func digest(events []agentcli.Event) string {
	var out []string
	open := false
	for _, e := range events {
		wasOpen := open
		open = false
		switch e.Type {
		case agentcli.EventText:
			if open = true; wasOpen {
				out[len(out)-1] += e.Text
				continue
			}
			out = append(out, "text:"+e.Text)
		case agentcli.EventTextEnd, agentcli.EventThinkEnd, agentcli.EventToolStart:
		case agentcli.EventThinking, agentcli.EventNotice:
			out = append(out, string(e.Type)+":"+e.Text)
		case agentcli.EventToolEnd:
			out = append(out, e.Tool.Name+":"+string(e.Tool.Status)+":"+e.Tool.Output)
		case agentcli.EventPlan:
			s := "plan:" + e.Text
			for _, todo := range e.Todos {
				s += ":" + todo.Status + " " + todo.Content
			}
			out = append(out, s)
		case agentcli.EventQuestion:
			out = append(out, "question:"+e.Ask.Prompts[0].Prompt)
		case agentcli.EventResult:
			s := "result:" + string(e.Result.Outcome)
			if e.Result.Class != "" {
				s += ":" + string(e.Result.Class)
			}
			out = append(out, s)
		default:
			out = append(out, string(e.Type))
		}
	}
	return strings.Join(out, " ")
}

// TestCommand holds the command line against the documented one.
func TestCommand(t *testing.T) {
	p := New(Options{Name: "sim", Command: []string{"cursor-agent"}})
	req := agentcli.Request{Prompt: "-do it", Mode: agentcli.ModeForce, Session: "s", Model: "m", Dir: "/w", Instructions: "be good",
		MCP: []agentcli.MCPServer{{Name: "substrat", Command: "/b", Args: []string{"mcp"}, Env: map[string]string{"B": "<2>", "A": "1"}}}}
	cmd, err := p.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	want := "cursor-agent --print --output-format stream-json --stream-partial-output --trust --approve-mcps --force --model m --workspace /w --resume s -- -do it"
	if got := strings.Join(cmd.Argv, " "); got != want {
		t.Errorf("argv %s\nwant %s", got, want)
	}
	files := map[string]string{}
	for _, f := range cmd.Files {
		files[string(f.Root)+" "+f.Path] = string(f.Data)
	}
	if got := files["workspace-config .cursor/mcp.json"]; got != `{"mcpServers":{"substrat":{"command":"/b","args":["mcp"],"env":{"A":"1","B":"<2>"}}}}`+"\n" {
		t.Errorf("mcp.json: %s", got)
	}
	// The approval, computed by other means: the documented string, hashed.
	sum := sha256.Sum256([]byte(`{"path":"/w","server":{"command":"/b","args":["mcp"],"env":{"A":"1","B":"<2>"}}}`))
	var ids []string
	if err := json.Unmarshal([]byte(files["home .cursor/projects/w/mcp-approvals.json"]), &ids); err != nil || len(ids) != 1 || ids[0] != "substrat-"+hex.EncodeToString(sum[:])[:16] {
		t.Errorf("approvals %v, %v", ids, err)
	}
	if !strings.Contains(files["workspace-config .cursor/rules/substrat.mdc"], "alwaysApply: true\n---\n\nbe good") {
		t.Errorf("rules: %q", files["workspace-config .cursor/rules/substrat.mdc"])
	}
	for name, r := range map[string]agentcli.Request{"long": {Prompt: strings.Repeat("x", 40_000), Dir: "/w"}, "secret": {Prompt: "key", Secret: true, Dir: "/w"}} {
		cmd, err := p.Command(r)
		if err != nil || string(cmd.Stdin) != r.Prompt || strings.Contains(strings.Join(cmd.Argv, " "), r.Prompt) {
			t.Errorf("a %s prompt is not on stdin alone: %v", name, err)
		}
	}
	if got := Slug("/home/u/a_b.c/d"); got != "home-u-a-b-c-d" {
		t.Errorf("slug %s", got)
	}
	if env := HostEnv(func(k string) string {
		return map[string]string{"CURSOR_API_KEY": "", "CURSOR_AUTH_TOKEN": "t", "SECRET": "s"}[k]
	}); len(env) != 1 || env["CURSOR_AUTH_TOKEN"] != "t" {
		t.Errorf("environment %v", env)
	}
}

// TestModes: what a request asks for stands in argv, before the prompt; a run in the user's own surroundings writes no file
// that it can do without.
func TestModes(t *testing.T) {
	p := New(Options{Command: []string{"cursor-agent"}})
	mcp := []agentcli.MCPServer{{Name: "m", URL: "https://example.com/mcp", Headers: map[string]string{"A": "b"}}}
	deny := []agentcli.Denial{{Command: "rm", Path: "/w/secret"}}
	for name, c := range map[string]struct {
		req   agentcli.Request
		argv  string
		files string
	}{
		"bare":              {agentcli.Request{Bare: true}, "--trust --workspace /w -- p", ""},
		"plan":              {agentcli.Request{Bare: true, Mode: agentcli.ModePlan}, "--trust --mode plan --workspace /w -- p", ""},
		"ask":               {agentcli.Request{Bare: true, Mode: agentcli.ModeAsk}, "--trust --mode ask --workspace /w -- p", ""},
		"force":             {agentcli.Request{Bare: true, Mode: agentcli.ModeForce}, "--trust --force --workspace /w -- p", ""},
		"more arguments":    {agentcli.Request{Bare: true, Session: "s", Args: []string{"--sandbox", "enabled"}}, "--trust --workspace /w --resume s --sandbox enabled -- p", ""},
		"instructions":      {agentcli.Request{Bare: true, Instructions: "be good"}, "--trust --workspace /w -- be good\n\np", ""},
		"bare with servers": {agentcli.Request{Bare: true, MCP: mcp}, "--trust --approve-mcps --workspace /w -- p", ".cursor/mcp.json .cursor/projects/w/mcp-approvals.json .cursor/cli-config.json=Mcp(m:*)"},
		"servers, all allowed": {agentcli.Request{Bare: true, MCP: mcp, Mode: agentcli.ModeForce}, "--trust --approve-mcps --force --workspace /w -- p",
			".cursor/mcp.json .cursor/projects/w/mcp-approvals.json"},
		"bare with denials": {agentcli.Request{Bare: true, Deny: deny}, "--trust --workspace /w -- p", ".cursor/cli-config.json=Shell(rm) Read(/w/secret) Write(/w/secret)"},
		"boxed": {agentcli.Request{Mode: agentcli.ModeForce, Deny: deny}, "--trust --approve-mcps --force --workspace /w -- p",
			".cursor/mcp.json .cursor/projects/w/mcp-approvals.json .cursor/projects/w/.workspace-trusted .cursor/cli-config.json .cursor/cli.json=Shell(rm) Read(/w/secret) Write(/w/secret)"},
	} {
		c.req.Prompt, c.req.Dir = "p", "/w"
		cmd, err := p.Command(c.req)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := strings.CutPrefix(strings.Join(cmd.Argv, " "), "cursor-agent --print --output-format stream-json --stream-partial-output "); got != c.argv {
			t.Errorf("%s: argv %q, want %q", name, got, c.argv)
		}
		var files []string
		for _, f := range cmd.Files {
			var perms struct{ Permissions Permissions }
			_ = json.Unmarshal(f.Data, &perms)
			if list := append(perms.Permissions.Allow, perms.Permissions.Deny...); len(list) > 0 {
				f.Path += "=" + strings.Join(list, " ")
			}
			files = append(files, f.Path)
		}
		if got := strings.Join(files, " "); got != c.files {
			t.Errorf("%s: files %s, want %s", name, got, c.files)
		}
	}
	data, err := mcpJSON(mcp)
	if err != nil || string(data) != `{"mcpServers":{"m":{"url":"https://example.com/mcp","headers":{"A":"b"}}}}`+"\n" {
		t.Errorf("mcp.json %s, %v", data, err)
	}
	fakeCLI(t, map[string]string{"cursor-agent": goodCLI})
	for _, bare := range []bool{true, false} {
		cmd, err := New(Options{}).Command(agentcli.Request{Prompt: "p", Dir: "/w", Bare: bare})
		if err != nil {
			t.Fatal(err)
		}
		chats := slices.ContainsFunc(cmd.Exposes, func(x agentcli.Expose) bool { return x.At == "~/.cursor/chats" })
		if chats != bare {
			t.Errorf("bare %v: shows the user's conversations: %v", bare, chats)
		}
	}
}

// TestParseSession: an id counts whatever the process did after it.
func TestParseSession(t *testing.T) {
	p := New(Options{})
	id, err := p.ParseSession([]byte("noise\n0bae1f09-3bb0-49b8-9b9d-96a70ede533f\n"), agentcli.Exit{Code: -1, Signal: "SIGTERM"})
	if err != nil || id != "0bae1f09-3bb0-49b8-9b9d-96a70ede533f" {
		t.Errorf("id %q, %v", id, err)
	}
	_, err = p.ParseSession(nil, agentcli.Exit{Code: 1, Stderr: []byte("Authentication required")})
	var classed *SessionError
	if err == nil || !strings.Contains(err.Error(), "cannot create a chat") {
		t.Errorf("error %v", err)
	}
	if classed, _ = err.(*SessionError); classed.FailureClass() != substrat.ClassAuth {
		t.Errorf("class %s", classed.Class)
	}
}
