package codex

import (
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headlesstest"
)

func TestCommandOfATurn(t *testing.T) {
	home := headlesstest.Home(t, map[string]string{".codex/auth.json": "{}"})
	headlesstest.Install(t, "codex", "echo")
	cmd, err := New(Options{}).Command(agentcli.Request{
		Prompt: "do it", Session: "s1", Model: "gpt", Dir: "/w", Home: "/home/agent", Mode: agentcli.ModeForce, Instructions: "say \"hi\"\x7f",
		MCP: []agentcli.MCPServer{
			{Name: "my notes", Command: "/bin/notes", Args: []string{"-v"}, Env: map[string]string{"A.B": "x"}},
			{Name: "web", URL: "http://127.0.0.1:1/mcp", Headers: map[string]string{"X-Key": "k"}},
		},
		Args: []string{"--ephemeral"},
	})
	if err != nil {
		t.Fatal(err)
	}
	headlesstest.Argv(t, cmd, "exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access", "-C", "/w", "-m", "gpt",
		"-c", `developer_instructions="say \"hi\"\u007f"`,
		"-c", `mcp_servers."my notes"={args=["-v"], command="/bin/notes", default_tools_approval_mode="approve", env={"A.B"="x"}}`,
		"-c", `mcp_servers.web={default_tools_approval_mode="approve", env_http_headers={X-Key="SUBSTRAT_MCP_SECRET_0"}, url="http://127.0.0.1:1/mcp"}`,
		"--ephemeral", "resume", "s1", "-")
	if cmd.Env["SUBSTRAT_MCP_SECRET_0"] != "k" {
		t.Errorf("environment %v", cmd.Env)
	}
	if string(cmd.Stdin) != "do it" || !cmd.Network || !headlesstest.Exposes(cmd, home+"/.codex/auth.json", "~/.codex/auth.json") {
		t.Errorf("stdin %q, shows %+v", cmd.Stdin, cmd.Exposes)
	}
}

// TestEndpoint: an endpoint of the user's becomes a provider of the CLI's, and a key for others is taken where there is no
// login.
func TestEndpoint(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "codex", "echo")
	cmd, err := New(Options{Env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}}).Command(agentcli.Request{})
	if err != nil {
		t.Fatal(err)
	}
	headlesstest.Argv(t, cmd, "exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "-c", `model_provider="substrat"`,
		"-c", `model_providers.substrat={base_url="http://127.0.0.1:1/v1", env_key="CODEX_API_KEY", name="substrat", wire_api="responses"}`, "-")
	if cmd.Env["CODEX_API_KEY"] != "k" {
		t.Errorf("environment %v", cmd.Env)
	}
}

func TestModes(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "codex", "echo")
	for mode, want := range map[agentcli.Mode]string{"": "workspace-write", agentcli.ModePlan: "read-only", agentcli.ModeAsk: "read-only"} {
		cmd, err := New(Options{}).Command(agentcli.Request{Mode: mode})
		if err != nil || cmd.Argv[5] != want {
			t.Errorf("%s: %q %v", mode, cmd.Argv, err)
		}
	}
}

// TestDenials: what the CLI's rules can say is a rule, the rest is told in words; without denials an earlier turn's rules
// do not stay; and no file is asked for where none is needed.
func TestDenials(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "codex", "echo")
	deny := []agentcli.Denial{{Command: "git push *"}, {Command: "rm * -rf"}, {Path: "/w/.env"}}
	cmd, err := New(Options{}).Command(agentcli.Request{Deny: deny, Instructions: "be brief"})
	if err != nil {
		t.Fatal(err)
	}
	rules := headlesstest.File(t, cmd, ".codex/rules/substrat.rules")
	headlesstest.Contains(t, rules, `prefix_rule(pattern=["git", "push"], decision="forbidden"`)
	if strings.Contains(rules, "rm") {
		t.Errorf("rules %s", rules)
	}
	headlesstest.Contains(t, strings.Join(cmd.Argv, " "), `developer_instructions="be brief\n\nYou must not:\n- run a command like: rm * -rf\n- read or write: /w/.env"`)
	cmd, err = New(Options{}).Command(agentcli.Request{})
	if err != nil || strings.Contains(headlesstest.File(t, cmd, ".codex/rules/substrat.rules"), "prefix_rule") {
		t.Errorf("%v %+v", err, cmd.Files)
	}
	env := map[string]string{"CODEX_HOME": "/home/me/codex"}
	cmd, err = New(Options{Env: env}).Command(agentcli.Request{Deny: deny, Bare: true})
	if err != nil || cmd.Env["CODEX_HOME"] != "" {
		t.Errorf("with a file, for which there is another home: %v %v", err, cmd.Env)
	}
	cmd, err = New(Options{Env: env}).Command(agentcli.Request{Bare: true})
	if err != nil || cmd.Env["CODEX_HOME"] == "" {
		t.Errorf("in the user's own home: %v %v", err, cmd.Env)
	}
	if cmd, err = New(Options{}).Command(agentcli.Request{Bare: true}); err != nil || len(cmd.Files) > 0 {
		t.Errorf("%v %+v", err, cmd.Files)
	}
}

// TestUsageOfAResumedConversation: the CLI counts all its turns together.
func TestUsageOfAResumedConversation(t *testing.T) {
	stream := `{"type":"thread.started","thread_id":"s2"}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":44,"output_tokens":2}}`
	if _, r := headlesstest.Decode(t, New(Options{}), agentcli.Request{}, strings.NewReader(stream)); r.Usage == nil || r.Usage.InputTokens != 44 {
		t.Errorf("a new conversation: %+v", r.Usage)
	}
	events, r := headlesstest.Decode(t, New(Options{}), agentcli.Request{Session: "s1"}, strings.NewReader(stream))
	if r.Usage != nil || r.Session != "s2" {
		t.Errorf("a resumed conversation: %+v", r)
	}
	if len(events) < 2 || events[1].Type != agentcli.EventNotice || !strings.Contains(events[1].Text, "instead of s1") {
		t.Errorf("no word of the other session: %+v", events)
	}
}

func TestProbe(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "codex", "echo codex-cli 0.169.0")
	if s := New(Options{}).Probe(t.Context()); !s.Installed || s.Version != "codex-cli 0.169.0" || s.Login != agentcli.LoggedOut {
		t.Errorf("%+v", s)
	}
	if s := New(Options{Env: map[string]string{"CODEX_API_KEY": "k"}}).Probe(t.Context()); s.Login != agentcli.LoggedIn || s.Problem != "" {
		t.Errorf("%+v", s)
	}
}

func TestDiagnose(t *testing.T) {
	for said, want := range map[string]substrat.FailureClass{
		"Error: thread/resume: thread/resume failed: no rollout found for thread id 1 (code -32600)": substrat.ClassSession,
		"Not inside a trusted directory and --skip-git-repo-check was not specified.":                substrat.ClassTrust,
		"You've hit your usage limit. Upgrade to Pro":                                                substrat.ClassQuota,
		"stream disconnected before completion":                                                      substrat.ClassNetwork,
	} {
		if class, _ := New(Options{}).Diagnose(agentcli.Request{}, agentcli.Result{}, agentcli.Exit{Code: 1, Stderr: []byte(said)}); class != want {
			t.Errorf("%s: %s, want %s", said, class, want)
		}
	}
}

func TestUnwrap(t *testing.T) {
	for command, want := range map[string]string{
		`/bin/bash -lc 'echo '\''a'\'''`: `echo 'a'`, `bash -lc "echo \"\$x\""`: `echo "$x"`, `/usr/bin/zsh -c ls`: "ls",
		"python -c 'x'": "python -c 'x'", "ls": "ls", "": "", "bash -lc '": "'",
	} {
		if got := unwrap(command); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
