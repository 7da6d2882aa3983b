package claude

import (
	"os"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headlesstest"
)

var notes = agentcli.MCPServer{Name: "notes", Command: "/bin/notes", Args: []string{"-v"}, Env: map[string]string{"TOKEN": "secret"}}

var base = []string{"-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"}

func TestCommandOfATurn(t *testing.T) {
	home := headlesstest.Home(t, map[string]string{".claude/.credentials.json": "{}"})
	bin := headlesstest.Install(t, "claude", "")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd, err := New(Options{}).Command(agentcli.Request{
		Prompt: "do it", Session: "s1", Model: "opus", Dir: "/w", Home: "/home/agent", Mode: agentcli.ModeForce, Instructions: "be brief",
		MCP: []agentcli.MCPServer{notes}, Deny: []agentcli.Denial{{Command: "rm *"}, {Path: "/w/.env"}}, Args: []string{"--max-turns", "3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	headlesstest.Argv(t, cmd, append(base[:len(base):len(base)], "--permission-mode", "bypassPermissions", "--allowedTools", "mcp__notes",
		"--disallowedTools", "Bash(rm *)", "Read(//w/.env)", "Edit(//w/.env)", "--mcp-config", "/home/agent/.config/substrat/claude-mcp.json",
		"--strict-mcp-config", "--add-dir", "/w", "--setting-sources", "user", "--model", "opus", "--append-system-prompt", "be brief", "--resume", "s1", "--max-turns", "3")...)
	if string(cmd.Stdin) != "do it" || cmd.Env["IS_SANDBOX"] != "1" || !cmd.Network {
		t.Errorf("stdin %q, environment %v, network %v", cmd.Stdin, cmd.Env, cmd.Network)
	}
	headlesstest.Contains(t, headlesstest.File(t, cmd, ".config/substrat/claude-mcp.json"), `"command":"/bin/notes"`, `"TOKEN":"secret"`)
	if !headlesstest.Exposes(cmd, bin, "") || !headlesstest.Exposes(cmd, home+"/.claude/.credentials.json", "~/.claude/.credentials.json") {
		t.Errorf("it shows %+v", cmd.Exposes)
	}
}

// TestKeyInsteadOfLogin: with a key the user's login is not shown to the agent.
func TestKeyInsteadOfLogin(t *testing.T) {
	home := headlesstest.Home(t, map[string]string{".claude/.credentials.json": "{}"})
	headlesstest.Install(t, "claude", "echo")
	cmd, err := New(Options{Env: map[string]string{"ANTHROPIC_API_KEY": "k"}}).Command(agentcli.Request{Home: "/home/agent"})
	if err != nil {
		t.Fatal(err)
	}
	if headlesstest.Exposes(cmd, home+"/.claude/.credentials.json", "~/.claude/.credentials.json") || cmd.Env["ANTHROPIC_API_KEY"] != "k" {
		t.Errorf("it shows %+v, environment %v", cmd.Exposes, cmd.Env)
	}
}

// TestBare: in the user's own home nothing of theirs is written over, their servers stay, and no secret is in argv.
func TestBare(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "claude", "echo")
	plain := agentcli.MCPServer{Name: "web", URL: "http://127.0.0.1:1/mcp"}
	cmd, err := New(Options{}).Command(agentcli.Request{Home: "/home/me", Bare: true, MCP: []agentcli.MCPServer{plain}})
	if err != nil {
		t.Fatal(err)
	}
	headlesstest.Argv(t, cmd, append(base[:len(base):len(base)], "--allowedTools", "mcp__web",
		"--mcp-config", `{"mcpServers":{"web":{"type":"http","url":"http://127.0.0.1:1/mcp"}}}`)...)
	if len(cmd.Files) > 0 {
		t.Errorf("files %+v", cmd.Files)
	}
	cmd, err = New(Options{}).Command(agentcli.Request{Home: "/home/me", Bare: true, MCP: []agentcli.MCPServer{notes}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(cmd.Argv, " "), "secret") || len(cmd.Files) != 1 || !strings.HasPrefix(cmd.Files[0].Path, ".config/substrat/") {
		t.Errorf("argv %q, files %+v", cmd.Argv, cmd.Files)
	}
	if os.Geteuid() == 0 {
		_, err = New(Options{}).Command(agentcli.Request{Bare: true, Mode: agentcli.ModeForce})
		if err == nil || !strings.Contains(err.Error(), "as root") {
			t.Errorf("as root: %v", err)
		}
	}
}

func TestModes(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "claude", "echo")
	for mode, want := range map[agentcli.Mode]string{
		"": "--strict-mcp-config --setting-sources user", agentcli.ModeDefault: "--strict-mcp-config --setting-sources user", agentcli.ModePlan: "--permission-mode plan --strict-mcp-config --setting-sources user",
		agentcli.ModeAsk: "--disallowedTools Bash Edit Write NotebookEdit --strict-mcp-config --setting-sources user",
	} {
		cmd, err := New(Options{}).Command(agentcli.Request{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(cmd.Argv[1+len(base):], " "); got != want {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
	}
}

func TestLongInstructionsAreAFile(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "claude", "echo")
	cmd, err := New(Options{}).Command(agentcli.Request{Home: "/home/agent", Instructions: strings.Repeat("x", 200<<10)})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(headlesstest.File(t, cmd, ".config/substrat/claude-instructions.md")); n != 200<<10 {
		t.Errorf("%d bytes", n)
	}
	headlesstest.Contains(t, strings.Join(cmd.Argv, " "), "--append-system-prompt-file /home/agent/.config/substrat/claude-instructions.md")
}

func TestProbe(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "claude", `echo "2.1.329 (Claude Code)"`)
	s := New(Options{}).Probe(t.Context())
	if !s.Installed || s.Version != "2.1.329 (Claude Code)" || s.Login != agentcli.LoggedOut || s.Remedy == "" {
		t.Errorf("%+v", s)
	}
	headlesstest.Home(t, map[string]string{".claude/.credentials.json": "{}", ".claude.json": `{"oauthAccount":{"emailAddress":"a@example.org"}}`})
	if s = New(Options{}).Probe(t.Context()); s.Login != agentcli.LoggedIn || s.Account != "a@example.org" || s.Problem != "" {
		t.Errorf("%+v", s)
	}
	t.Setenv("PATH", "/nowhere")
	if s = New(Options{}).Probe(t.Context()); s.Installed || !strings.Contains(s.Remedy, "npm install") {
		t.Errorf("%+v", s)
	}
}

func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		exit  agentcli.Exit
		class substrat.FailureClass
		says  string
	}{
		{agentcli.Exit{Code: -1, Signal: "SIGKILL"}, substrat.ClassCrashed, "SIGKILL"},
		{agentcli.Exit{Code: 1, Stderr: []byte("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")}, substrat.ClassConfig, "IS_SANDBOX"},
		{agentcli.Exit{Code: 1, Stdout: []byte("Invalid API key · Please run /login")}, substrat.ClassAuth, "setup-token"},
		{agentcli.Exit{Code: 1, Stderr: []byte("No conversation found with session ID: x")}, substrat.ClassSession, "gone"},
		{agentcli.Exit{Code: 127, Stderr: []byte("claude: not found")}, substrat.ClassNotInstalled, "npm install"},
		{agentcli.Exit{Code: 0}, substrat.ClassProtocol, "without a result"},
		{agentcli.Exit{Code: 1}, substrat.ClassAgent, "printed nothing"},
		{agentcli.Exit{Code: 3, Stderr: []byte("\x1b[31moh\x1b[0m")}, substrat.ClassAgent, "code 3: oh"},
	} {
		class, says := New(Options{}).Diagnose(agentcli.Request{}, agentcli.Result{}, c.exit)
		if class != c.class || !strings.Contains(says, c.says) || strings.Contains(says, "\x1b") {
			t.Errorf("%+v: %s %q, want %s %q", c.exit, class, says, c.class, c.says)
		}
	}
}

func TestHostEnv(t *testing.T) {
	env := HostEnv(func(name string) string {
		return map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "", "SECRET": "x"}[name]
	})
	if len(env) != 1 || env["ANTHROPIC_API_KEY"] != "k" {
		t.Errorf("%v", env)
	}
}
