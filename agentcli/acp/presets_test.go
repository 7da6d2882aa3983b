package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/acp"
)

// TestPresets: each is started as its maker says, with keys in the environment and never in argv; what is missing is said.
func TestPresets(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"cursor-agent", "codex-acp", "gemini", "claude-agent-acp"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho 1.2.3\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	env := map[string]string{"CURSOR_API_KEY": "secret", "CURSOR_API_ENDPOINT": "https://e", "SUBSTRAT_CURSOR_INSECURE": "1", "OPENAI_API_KEY": "secret", "OPENAI_BASE_URL": "http://o/v1", "GEMINI_API_KEY": "secret"}
	byName := map[string]*acp.Provider{}
	for _, p := range acp.Presets(func(name string) string { return env[name] }) {
		if byName[p.Info().Name] != nil {
			t.Errorf("%s is there twice", p.Info().Name)
		}
		byName[p.Info().Name] = p
	}
	for name, want := range map[string]string{
		"cursor-acp": bin + "/cursor-agent -e https://e -k acp",
		"codex-acp":  bin + `/codex-acp -c model_provider="endpoint" -c model_providers.endpoint={name="endpoint",base_url="http://o/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`,
		"gemini-acp": bin + "/gemini --acp",
		"claude-acp": bin + "/claude-agent-acp",
	} {
		cmd, err := byName[name].Command(agentcli.Request{Dir: "/w"})
		if got := strings.Join(cmd.Argv, " "); err != nil || got != want || strings.Contains(got, "secret") || !cmd.KeepStdin {
			t.Errorf("%s: %s %v", name, got, err)
		}
		if s := byName[name].Probe(t.Context()); !s.Installed || s.Version != "1.2.3" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if cmd, _ := byName["codex-acp"].Command(agentcli.Request{Dir: "/w", Mode: agentcli.ModeForce, AskFirst: true}); !strings.Contains(strings.Join(cmd.Argv, " "), `approval_policy="untrusted"`) {
		t.Errorf("codex-acp is not made to ask: %q", cmd.Argv)
	}
	if cmd, _ := byName["gemini-acp"].Command(agentcli.Request{Dir: "/w", Bare: true}); cmd.Env["GEMINI_CLI_TRUST_WORKSPACE"] != "" {
		t.Error("a workspace is trusted outside a sandbox")
	}
	if _, err := byName["goose"].Command(agentcli.Request{}); substrat.CodeOf(err) != substrat.CodeNotInstalled {
		t.Errorf("%v", err)
	}
	if s := byName["goose"].Probe(t.Context()); s.Installed || s.Remedy == "" {
		t.Errorf("%+v", s)
	}
	if _, err := byName["acp"].Command(agentcli.Request{}); err == nil || !byName["acp"].Info().NeedsProgram {
		t.Errorf("acp without a command: %v", err)
	}
	cmd, err := byName["acp"].Command(agentcli.Request{Program: []string{"python3", "/x/agent.py"}})
	if err != nil || cmd.Argv[0] != "python3" || len(cmd.Exposes) != 1 || cmd.Exposes[0].Host != "/x/agent.py" {
		t.Errorf("%+v %v", cmd, err)
	}
}
