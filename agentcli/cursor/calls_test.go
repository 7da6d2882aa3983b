package cursor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// TestCalls holds the CLI's own commands against what builds of 2025.10 to 2026.10 print.
func TestCalls(t *testing.T) {
	out := func(s string) agentcli.Exit { return agentcli.Exit{Stdout: []byte(s)} }
	refuse := func(s string) agentcli.Exit { return agentcli.Exit{Code: 1, Stderr: []byte(s)} }
	noLogin := refuse("Authentication required. Run 'agent login', pass --api-key/--auth-token, or set CURSOR_API_KEY/CURSOR_AUTH_TOKEN.")
	answers := map[string]agentcli.Exit{}
	var argv []string
	run := func(_ context.Context, dir string, cmd agentcli.Command) (agentcli.Exit, error) {
		argv = append(argv, dir+": "+strings.Join(cmd.Argv[1:], " "))
		return answers[strings.Join(cmd.Argv[1:], " ")], nil
	}
	p := New(Options{Command: []string{"cursor-agent"}})
	ctx := t.Context()

	for said, want := range map[string]Account{
		`{"status":"authenticated","isAuthenticated":true,"hasAccessToken":true,"userInfo":{"email":"a@example.com","userId":1}}` + "\n": {Login: agentcli.LoggedIn, Email: "a@example.com", Message: "authenticated"},
		"Update available\n{\n  \"status\": \"unauthenticated\",\n  \"isAuthenticated\": false,\n  \"message\": \"Not logged in\"\n}":    {Login: agentcli.LoggedOut, Message: "Not logged in"},
		"\x1b[2K\x1b[G\x1b[32m✓ Logged in as a@example.com\x1b[39m\n":                                                                    {Login: agentcli.LoggedIn, Email: "a@example.com", Message: "✓ Logged in as a@example.com"},
		"Not logged in\n": {Login: agentcli.LoggedOut, Message: "Not logged in"},
	} {
		answers["status --format json"] = out(said)
		if got, err := p.Account(ctx, run); err != nil || got != want {
			t.Errorf("%q is %+v, %v, want %+v", said, got, err, want)
		}
	}
	answers["status --format json"], answers["status"] = refuse("error: unknown option '--format'"), out("✓ Logged in as old@example.com")
	if got, err := p.Account(ctx, run); err != nil || got.Email != "old@example.com" {
		t.Errorf("an older build: %+v, %v", got, err)
	}
	answers["status --format json"] = refuse("segmentation fault")
	if _, err := p.Account(ctx, run); substrat.CodeOf(err) != substrat.CodeInternal {
		t.Errorf("no account and no reason: %v", err)
	}

	list := "Loading models…\r\x1b[2KAvailable models\n\nauto - Auto (default)\ngpt-5.3-codex - GPT-5.3  Codex\u200b (current)\ngrok-4.7[effort=high] - Grok 4.7 (beta) - fast\n\nTip: use --model <id> (or /model <id> in interactive mode) to switch.\n"
	answers["models"] = out(list)
	models, err := p.Models(ctx, run)
	want := []agentcli.Model{{ID: "auto", Title: "Auto"}, {ID: "gpt-5.3-codex", Title: "GPT-5.3 Codex", Default: true}, {ID: "grok-4.7[effort=high]", Title: "Grok 4.7 (beta) - fast"}}
	if err != nil || !reflect.DeepEqual(models, want) {
		t.Errorf("models %+v, %v", models, err)
	}
	answers["models"], answers["--list-models"] = refuse("error: unknown command 'models'"), out("auto - Auto (current, default)\n")
	if models, err = p.Models(ctx, run); err != nil || len(models) != 1 || !models[0].Default || models[0].Title != "Auto" {
		t.Errorf("models of an older build: %+v, %v", models, err)
	}
	answers["models"] = noLogin
	if _, err = p.Models(ctx, run); substrat.CodeOf(err) != substrat.CodeForbidden || !strings.Contains(err.Error(), "cursor-agent login") {
		t.Errorf("models without login: %v", err)
	}

	answers["mcp list"] = out("\x1b[1msubstrat\x1b[22m: ready\ndocs: not loaded (needs approval)\nold server: Error: connect ECONNREFUSED\n\nTip: run agent mcp enable\n")
	servers, err := p.MCPServers(ctx, run, "/w")
	if err != nil || !reflect.DeepEqual(servers, []MCPStatus{{Name: "substrat", State: "ready", Ready: true}, {Name: "docs", State: "not loaded (needs approval)", NeedsApproval: true}, {Name: "old server", State: "Error: connect ECONNREFUSED"}}) {
		t.Errorf("servers %+v, %v", servers, err)
	}
	answers["mcp list"] = out("No MCP servers configured\n")
	if servers, err = p.MCPServers(ctx, run, "/w"); err != nil || len(servers) != 0 {
		t.Errorf("servers %+v, %v", servers, err)
	}
	answers["mcp enable docs"] = out("✓ Enabled and approved MCP server: docs\n")
	answers["mcp disable nope"] = refuse("Error: MCP server 'nope' not found in configuration")
	if err := p.EnableMCP(ctx, run, "/w", "docs"); err != nil {
		t.Error(err)
	}
	if err := p.DisableMCP(ctx, run, "/w", "nope"); err == nil || !strings.Contains(err.Error(), "cannot disable the MCP server nope: Error: MCP server") {
		t.Errorf("disabled what is not there: %v", err)
	}
	if err := p.EnableMCP(ctx, run, "/w", "--all"); substrat.CodeOf(err) != substrat.CodeInvalid {
		t.Errorf("an option as a name: %v", err)
	}
	answers["create-chat"] = agentcli.Exit{Code: -1, Signal: "SIGKILL", Stdout: []byte("0bae1f09-3bb0-49b8-9b9d-96a70ede533f\n")}
	if id, err := p.CreateChat(ctx, run, "/w"); err != nil || id != "0bae1f09-3bb0-49b8-9b9d-96a70ede533f" {
		t.Errorf("chat %s, %v", id, err)
	}
	answers["ls"] = refuse("ERROR Raw mode is not supported on the current process.stdin, which Ink uses as input stream by default.")
	if _, err := p.Chats(ctx, run, "/w"); substrat.CodeOf(err) != substrat.CodeUnsupported {
		t.Errorf("ls without a terminal: %v", err)
	}
	if last := argv[len(argv)-1]; last != "/w: ls" {
		t.Errorf("run as %q", last)
	}
}

func TestPermissions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config", "cli-config.json")
	if p, err := ReadPermissions(file); err != nil || len(p.Allow)+len(p.Deny) > 0 {
		t.Fatalf("no file has %+v, %v", p, err)
	}
	allow := func(rule string) func(*Permissions) { return func(p *Permissions) { p.Allow = append(p.Allow, rule) } }
	if err := EditPermissions(file, allow(ShellRule("ls"))); err != nil {
		t.Fatal(err)
	}
	before := "{\n  \"permissions\": {\n    \"allow\": [\"Shell(<ls>)\", \"Odd rule\"],\n    \"later\": 12345678901234567890\n  },\n  \"version\": 1,\n  \"mo\\\"del\": {\"id\": \"é&\"},\n  \"n\": 1.50\n}\n"
	if err := errors.Join(os.WriteFile(file, []byte(before), 0o600), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	edit := func(p *Permissions) {
		p.Allow = append(p.Allow, MCPRule("substrat", "*"), WebFetchRule("*.example.com"))
		p.Deny = append(p.Deny, ReadRule(".env*"), WriteRule("/etc/**"))
	}
	if err := EditPermissions(link, edit); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(file)
	for _, kept := range []string{`"later": 12345678901234567890`, `"version": 1`, `"mo\"del": {`, `"id": "é&"`, `"n": 1.50`, `"Shell(<ls>)"`, `"Mcp(substrat:*)"`, `"Write(/etc/**)"`} {
		if !strings.Contains(string(got), kept) {
			t.Errorf("%s is not in\n%s", kept, got)
		}
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	if p, err := ReadPermissions(file); err != nil || len(p.Allow) != 4 || len(p.Deny) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	// Somebody else writes while the edit is thought about: both changes are there afterwards.
	tries := 0
	if err := EditPermissions(file, func(p *Permissions) {
		if tries++; tries == 1 {
			if err := EditPermissions(file, allow(ShellRule("other"))); err != nil {
				t.Error(err)
			}
		}
		p.Allow = append(p.Allow, ShellRule("mine"))
	}); err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	if p, _ := ReadPermissions(file); !strings.Contains(strings.Join(p.Allow, " "), "Shell(other) Shell(mine)") {
		t.Errorf("allowed: %v", p.Allow)
	}
	if err := EditPermissions(file, allow("rm -rf")); substrat.CodeOf(err) != substrat.CodeInvalid {
		t.Errorf("a rule without a form: %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"permissions": // no`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := EditPermissions(file, edit); substrat.CodeOf(err) != substrat.CodeInvalid {
		t.Errorf("a broken file: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".substrat-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	env := map[string]string{}
	getenv := func(k string) string { return env[k] }
	if got := ConfigFile(ConfigDir("/h", getenv)); got != "/h/.cursor/cli-config.json" {
		t.Error(got)
	}
	env["XDG_CONFIG_HOME"] = "/x"
	if got := ConfigDir("/h", getenv); got != "/x/cursor" {
		t.Error(got)
	}
	env["CURSOR_CONFIG_DIR"] = "/c"
	if got := ConfigDir("/h", getenv); got != "/c" || ProjectConfigFile("/w") != "/w/.cursor/cli.json" {
		t.Error(got)
	}
}

// fakeCLI puts a shell script on the search path under a name, and nothing else of Cursor's.
func fakeCLI(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("CURSOR_AGENT_PATH", "")
	t.Setenv("CURSOR_API_KEY", "")
	t.Setenv("CURSOR_AUTH_TOKEN", "")
	return dir
}

const goodCLI = `case "$*" in
--version) echo 2026.10.01-e373342;;
"status --format json") echo '{"isAuthenticated":'${LOGIN:-true}',"userInfo":{"email":"a@example.com"}}';;
models) if [ "${LOGIN:-true}" = true ] || [ -n "$CURSOR_API_KEY" ]; then echo "auto - Auto (default)"; else echo "Authentication required." >&2; exit 1; fi;;
esac
[ -z "${CURSOR_API_KEY+set}" ] || [ -n "$CURSOR_API_KEY" ] || { echo "empty key" >&2; exit 1; }`

func TestProbe(t *testing.T) {
	const launcher = "echo 1.7.52\necho 0123456789012345678901234567890123456789\necho x64"
	for name, c := range map[string]struct {
		scripts map[string]string
		env     [2]string
		want    agentcli.Status
	}{
		"good":           {map[string]string{"cursor-agent": goodCLI}, [2]string{}, agentcli.Status{Installed: true, Version: "2026.10.01-e373342", Login: agentcli.LoggedIn, Account: "a@example.com"}},
		"as agent":       {map[string]string{"agent": goodCLI}, [2]string{}, agentcli.Status{Installed: true, Version: "2026.10.01-e373342", Login: agentcli.LoggedIn, Account: "a@example.com"}},
		"logged out":     {map[string]string{"cursor-agent": goodCLI}, [2]string{"LOGIN", "false"}, agentcli.Status{Installed: true, Version: "2026.10.01-e373342", Login: agentcli.LoggedOut, Problem: "nobody is logged in", Remedy: loginRemedy}},
		"with a key":     {map[string]string{"cursor-agent": strings.ReplaceAll(goodCLI, "LOGIN:-true", "LOGIN:-false")}, [2]string{"CURSOR_API_KEY", "k"}, agentcli.Status{Installed: true, Version: "2026.10.01-e373342", Login: agentcli.LoggedIn, Account: "API key"}},
		"nothing":        {nil, [2]string{}, agentcli.Status{Problem: "cannot find cursor-agent", Remedy: remedy}},
		"foreign agent":  {map[string]string{"agent": "echo SSH agent 9.6"}, [2]string{}, agentcli.Status{Problem: "is another program of that name", Remedy: remedy}},
		"editor only":    {map[string]string{"cursor": launcher}, [2]string{}, agentcli.Status{Problem: "is the editor's launcher", Remedy: remedy}},
		"editor by name": {map[string]string{"cursor-agent": launcher}, [2]string{}, agentcli.Status{Version: "1.7.52", Problem: "is the editor's launcher", Remedy: remedy}},
		"broken":         {map[string]string{"cursor-agent": "exit 3"}, [2]string{}, agentcli.Status{Installed: true, Problem: "does not tell its version", Remedy: "by hand"}},
		"other":          {map[string]string{"cursor-agent": "echo v2"}, [2]string{}, agentcli.Status{Installed: true, Version: "v2", Problem: "does not look like", Remedy: remedy}},
	} {
		t.Run(name, func(t *testing.T) {
			fakeCLI(t, c.scripts)
			if c.env[0] != "" {
				t.Setenv(c.env[0], c.env[1])
			}
			got := New(Options{}).Probe(t.Context())
			if got.Installed != c.want.Installed || got.Version != c.want.Version || got.Login != c.want.Login || got.Account != c.want.Account ||
				!strings.Contains(got.Problem, c.want.Problem) || (got.Problem == "") != (c.want.Problem == "") || !strings.Contains(got.Remedy, c.want.Remedy) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if got.Login == agentcli.LoggedIn && (len(got.Models) != 1 || got.Models[0].ID != "auto") {
				t.Errorf("models %+v", got.Models)
			}
		})
	}
}
