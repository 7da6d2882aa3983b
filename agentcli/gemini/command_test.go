package gemini

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headlesstest"
)

const settingsFile = ".gemini/settings.json"

func TestCommandOfATurn(t *testing.T) {
	home := headlesstest.Home(t, map[string]string{".gemini/oauth_creds.json": "{}"})
	headlesstest.Install(t, "gemini", "echo")
	cmd, err := New(Options{}).Command(agentcli.Request{
		Prompt: "do it", Session: "s1", Model: "pro", Dir: "/w", Home: "/home/agent", Mode: agentcli.ModeForce, Instructions: "be brief",
		MCP: []agentcli.MCPServer{{Name: "notes", Command: "/bin/notes"}, {Name: "web", URL: "http://127.0.0.1:1/mcp"}}, Args: []string{"--debug"},
	})
	if err != nil {
		t.Fatal(err)
	}
	headlesstest.Argv(t, cmd, "--output-format", "stream-json", "--approval-mode", "yolo", "--model", "pro", "--extensions", "none",
		"--allowed-mcp-server-names", "notes", "--allowed-mcp-server-names", "web", "--resume", "s1", "--debug")
	if string(cmd.Stdin) != "do it" || cmd.Env["GEMINI_CLI_TRUST_WORKSPACE"] != "true" || cmd.Env["GEMINI_CLI_HOME"] != "" {
		t.Errorf("stdin %q, environment %v", cmd.Stdin, cmd.Env)
	}
	// What the workspace's .env says of addresses is not taken, since it is said already.
	if base, set := cmd.Env["GOOGLE_GEMINI_BASE_URL"]; base != "" || !set {
		t.Errorf("environment %v", cmd.Env)
	}
	headlesstest.Contains(t, headlesstest.File(t, cmd, settingsFile), `"notes":{"command":"/bin/notes","trust":true}`,
		`"web":{"httpUrl":"http://127.0.0.1:1/mcp","trust":true}`, `"selectedType":"oauth-personal"`)
	headlesstest.Contains(t, headlesstest.File(t, cmd, ".gemini/substrat.md"), "be brief")
	if !headlesstest.Exposes(cmd, home+"/.gemini/oauth_creds.json", "~/.gemini/oauth_creds.json") {
		t.Errorf("it shows %+v", cmd.Exposes)
	}
}

// TestNodeScript: a script is run by the node it would get, which is shown too, since a sandbox has another search path.
func TestNodeScript(t *testing.T) {
	headlesstest.Home(t, nil)
	bin := headlesstest.Install(t, "node", "")
	packages := filepath.Join(t.TempDir(), "lib/node_modules")
	script := filepath.Join(packages, "@google/gemini-cli/bundle/gemini.js")
	if err := os.MkdirAll(filepath.Dir(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{bin: "\x7fELF", script: "#!/usr/bin/env node\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(script, filepath.Join(filepath.Dir(bin), "gemini")); err != nil {
		t.Fatal(err)
	}
	cmd, err := New(Options{}).Command(agentcli.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Argv[0] != bin || cmd.Argv[1] != script || !headlesstest.Exposes(cmd, packages, "") || !headlesstest.Exposes(cmd, bin, "") {
		t.Errorf("argv %q, shows %+v", cmd.Argv, cmd.Exposes)
	}
}

func TestPolicy(t *testing.T) {
	headlesstest.Home(t, nil)
	headlesstest.Install(t, "gemini", "echo")
	cmd, err := New(Options{}).Command(agentcli.Request{Home: "/h", Mode: agentcli.ModePlan, MCP: []agentcli.MCPServer{{Name: "notes", Command: "n"}},
		Deny: []agentcli.Denial{{Command: "git push*"}, {Command: `say "x"`}, {Command: "cat <"}, {Path: "/w/secret/**"}}})
	if err != nil {
		t.Fatal(err)
	}
	headlesstest.Argv(t, cmd, "--output-format", "stream-json", "--approval-mode", "plan", "--extensions", "none",
		"--allowed-mcp-server-names", "notes", "--policy", "/h/.config/substrat/gemini-policy.toml")
	headlesstest.Contains(t, headlesstest.File(t, cmd, ".config/substrat/gemini-policy.toml"), `mcpName = "notes"`, `modes = ["plan"]`,
		`commandRegex = "git push.*"`, `commandRegex = "say \\\\\"x\\\\\"\""`, `commandRegex = "cat <\""`, `/w/secret(/|\")"`)
}

// TestBare: no file is asked for where none is needed. Servers need one: the CLI's files are then kept apart from its user's.
func TestBare(t *testing.T) {
	home := headlesstest.Home(t, map[string]string{".gemini/oauth_creds.json": "{}"})
	headlesstest.Install(t, "gemini", "echo")
	cmd, err := New(Options{Env: map[string]string{"GEMINI_API_KEY": "k"}}).Command(agentcli.Request{Prompt: "do it", Bare: true, Instructions: "be brief"})
	if err != nil {
		t.Fatal(err)
	}
	if len(cmd.Files) > 0 || cmd.Env["GEMINI_CLI_HOME"] != "" || string(cmd.Stdin) != "be brief\n\ndo it" {
		t.Errorf("files %+v, environment %v, stdin %q", cmd.Files, cmd.Env, cmd.Stdin)
	}
	cmd, err = New(Options{}).Command(agentcli.Request{Home: "/home/me", Bare: true, MCP: []agentcli.MCPServer{{Name: "notes", Command: "n"}}})
	if err != nil {
		t.Fatal(err)
	}
	apart := ".config/substrat/gemini"
	headlesstest.Contains(t, headlesstest.File(t, cmd, apart+"/.gemini/settings.json"), `"mcpServers":{"notes":{"command":"n","trust":true}}`, `"selectedType":"oauth-personal"`)
	if cmd.Env["GEMINI_CLI_HOME"] != "/home/me/"+apart || !headlesstest.Exposes(cmd, home+"/.gemini/oauth_creds.json", "~/"+apart+"/.gemini/oauth_creds.json") {
		t.Errorf("environment %v, shows %+v", cmd.Env, cmd.Exposes)
	}
	for _, f := range cmd.Files {
		if !strings.HasPrefix(f.Path, apart) {
			t.Errorf("it writes %s", f.Path)
		}
	}
}

func TestProbe(t *testing.T) {
	headlesstest.Home(t, map[string]string{".gemini/oauth_creds.json": "{}", ".gemini/google_accounts.json": `{"active":"a@example.org","old":[]}`})
	headlesstest.Install(t, "gemini", "echo 0.61.0")
	if s := New(Options{}).Probe(t.Context()); !s.Installed || s.Version != "0.61.0" || s.Login != agentcli.LoggedIn || s.Account != "a@example.org" {
		t.Errorf("%+v", s)
	}
	headlesstest.Home(t, nil)
	if s := New(Options{}).Probe(t.Context()); s.Login != agentcli.LoggedOut || !strings.Contains(s.Remedy, "GEMINI_API_KEY") {
		t.Errorf("%+v", s)
	}
}

func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		code  int
		said  string
		class substrat.FailureClass
	}{
		{41, "Please set an Auth method in your settings", substrat.ClassAuth},
		{55, "Gemini CLI is not running in a trusted directory.", substrat.ClassTrust},
		{42, `Error resuming session: Invalid session identifier "x".`, substrat.ClassSession},
		{173, "", substrat.ClassRateLimit},
		{1, "You have exhausted your daily quota on this model.", substrat.ClassQuota},
	} {
		class, says := New(Options{}).Diagnose(agentcli.Request{}, agentcli.Result{}, agentcli.Exit{Code: c.code, Stderr: []byte(c.said)})
		if class != c.class || says == "" {
			t.Errorf("%d %s: %s %s, want %s", c.code, c.said, class, says, c.class)
		}
	}
}
