package agentcli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/claude"
	"substrat.dev/substrat/agentcli/codex"
	"substrat.dev/substrat/agentcli/gemini"
)

// TestKeysStayOutside gives each CLI a placeholder in place of its key: the key is then nowhere in what is run.
func TestKeysStayOutside(t *testing.T) {
	program := filepath.Join(t.TempDir(), "cli")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	const key = "real-key-4815162342"
	providers := map[string]func(env map[string]string) agentcli.Provider{
		"claude": func(env map[string]string) agentcli.Provider {
			return claude.New(claude.Options{Command: []string{program}, Env: env})
		},
		"codex": func(env map[string]string) agentcli.Provider {
			return codex.New(codex.Options{Command: []string{program}, Env: env})
		},
		"gemini": func(env map[string]string) agentcli.Provider {
			return gemini.New(gemini.Options{Command: []string{program}, Env: env})
		},
	}
	for name, make := range providers {
		for _, route := range make(nil).Info().Keys {
			p := make(map[string]string{route.Env: key})
			plain, err := p.Command(agentcli.Request{Home: "/home/agent", Prompt: "x"})
			if err != nil {
				t.Fatal(err)
			}
			k, found, ok := agentcli.RouteFor(p.Info().Keys, plain.Env)
			if !ok || found != key || !strings.HasPrefix(k.Target, "https://") {
				t.Fatalf("%s: the route of %s is %+v, %q", name, route.Env, k, found)
			}
			cmd, err := p.Command(agentcli.Request{Home: "/home/agent", Prompt: "x", Env: k.Inside(p.Info().Keys, plain.Env, 4711)})
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for k, v := range cmd.Env {
				all = append(all, k+"="+v)
			}
			all = append(all, cmd.Argv...)
			for _, f := range cmd.Files {
				all = append(all, string(f.Data))
			}
			text := strings.Join(all, "\n")
			if strings.Contains(text, key) || !strings.Contains(text, "http://127.0.0.1:4711") || len(cmd.Env[k.Env]) < 32 {
				t.Errorf("%s with %s runs %s", name, route.Env, text)
			}
			if name == "codex" && !slices.ContainsFunc(cmd.Argv, func(a string) bool { return strings.Contains(a, `base_url="http://127.0.0.1:4711/v1"`) }) {
				t.Errorf("codex is not told the address: %q", cmd.Argv)
			}
			if header, value := k.HeaderFor(key); header == "" || !strings.Contains(value, key) {
				t.Errorf("%s sends %q: %q", name, header, value)
			}
		}
	}
	own, _, _ := agentcli.RouteFor(providers["codex"](nil).Info().Keys, map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": "https://proxy.example/v1/"})
	if own.Target != "https://proxy.example" {
		t.Errorf("the user's own address is %q", own.Target)
	}
	if _, _, ok := agentcli.RouteFor(providers["codex"](nil).Info().Keys, nil); ok {
		t.Error("there is a route without a key")
	}
}
