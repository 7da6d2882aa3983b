package acp

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// preset is a well-known agent.
type preset struct {
	name, title string
	// commands are the ways to start it, the first whose program is installed counts.
	commands [][]string
	auth     string
	// keyed are the logins that a key in the environment allows, as pairs of the variable and the method.
	keyed [][2]string
	force []string
	// env are the variables of the user's that are its keys and endpoints.
	env []string
	// homes are files and directories of the user's home that hold its login.
	homes  []string
	remedy string
}

// presets are the agents that are known by name. Programs and packages are as their makers document them.
var presets = []preset{
	{
		name: "cursor-acp", title: "Cursor CLI, by ACP", commands: [][]string{{"cursor-agent", "acp"}, {"agent", "acp"}}, auth: "cursor_login",
		env: []string{"CURSOR_API_KEY", "CURSOR_AUTH_TOKEN", "CURSOR_API_ENDPOINT"}, homes: []string{".config/cursor/auth.json"},
		remedy: "install Cursor's CLI as cursor.com/docs/cli says, then run `cursor-agent login` or set CURSOR_API_KEY",
	},
	{
		name: "claude-acp", title: "Claude Code, by ACP", commands: [][]string{{"claude-agent-acp"}, {"claude-code-acp"}},
		env:    []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_MODEL", "CLAUDE_CODE_EXECUTABLE"},
		homes:  []string{".claude/.credentials.json"},
		remedy: "npm install -g @agentclientprotocol/claude-agent-acp, then log in with `claude` or set ANTHROPIC_API_KEY",
	},
	{
		name: "codex-acp", title: "Codex, by ACP", commands: [][]string{{"codex-acp"}},
		keyed: [][2]string{{"CODEX_API_KEY", "codex-api-key"}, {"OPENAI_API_KEY", "openai-api-key"}}, force: []string{"auto", "full-access"},
		env: []string{"OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"}, homes: []string{".codex/auth.json", ".codex/config.toml"},
		remedy: "npm install -g @zed-industries/codex-acp, then log in with `codex login` or set OPENAI_API_KEY",
	},
	{
		name: "gemini-acp", title: "Gemini CLI, by ACP", commands: [][]string{{"gemini", "--acp"}}, keyed: [][2]string{{"GEMINI_API_KEY", "gemini-api-key"}},
		env:    []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GEMINI_MODEL"},
		homes:  []string{".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/settings.json"},
		remedy: "npm install -g @google/gemini-cli, then log in with `gemini` or set GEMINI_API_KEY",
	},
	{name: "goose", title: "Goose, by ACP", commands: [][]string{{"goose", "acp"}}, homes: []string{".config/goose/config.yaml", ".config/goose/secrets.yaml"},
		env: []string{"GOOSE_PROVIDER", "GOOSE_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"}, remedy: "install it as goose's documentation says, then run `goose configure`"},
	{name: "opencode", title: "OpenCode, by ACP", commands: [][]string{{"opencode", "acp"}}, homes: []string{".local/share/opencode/auth.json", ".config/opencode"},
		env: []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"}, remedy: "npm install -g opencode-ai, then run `opencode auth login`"},
	{name: "qwen", title: "Qwen Code, by ACP", commands: [][]string{{"qwen", "--acp"}}, homes: []string{".qwen/oauth_creds.json", ".qwen/settings.json"},
		env: []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}, remedy: "npm install -g @qwen-code/qwen-code, then log in with `qwen`"},
	{name: "copilot", title: "GitHub Copilot CLI, by ACP", commands: [][]string{{"copilot", "--acp"}}, homes: []string{".copilot/config.json", ".config/github-copilot"},
		env: []string{"GH_TOKEN", "GITHUB_TOKEN", "COPILOT_GITHUB_TOKEN"}, remedy: "npm install -g @github/copilot, then log in with `copilot`"},
	{name: "auggie", title: "Augment's Auggie, by ACP", commands: [][]string{{"auggie", "--acp"}}, homes: []string{".augment/session.json"},
		env: []string{"AUGMENT_SESSION_AUTH", "AUGMENT_API_TOKEN", "AUGMENT_API_URL"}, remedy: "npm install -g @augmentcode/auggie, then run `auggie login`"},
	{name: "kimi", title: "Kimi CLI, by ACP", commands: [][]string{{"kimi", "acp"}, {"kimi", "--acp"}}, homes: []string{".kimi"},
		env: []string{"KIMI_API_KEY", "KIMI_BASE_URL", "KIMI_MODEL_NAME"}, remedy: "install it as Kimi CLI's documentation says, then run `kimi` and /setup"},
}

// Presets gives a provider for every well-known agent, and "acp" for any other.
func Presets(getenv func(string) string) []*Provider {
	home, _ := os.UserHomeDir()
	var out []*Provider
	for _, p := range presets {
		o := Options{Name: p.name, Title: p.title, AuthMethod: p.auth, ForceModes: p.force, Network: true, Remedy: p.remedy, Command: p.commands[0], Env: map[string]string{}}
		for _, c := range p.commands {
			if _, err := exec.LookPath(c[0]); err == nil {
				o.Command = c
				break
			}
		}
		for _, name := range p.env {
			if v := getenv(name); v != "" {
				o.Env[name] = v
			}
		}
		for _, k := range p.keyed {
			if o.AuthMethod == "" && o.Env[k[0]] != "" {
				o.AuthMethod = k[1]
			}
		}
		for _, path := range p.homes {
			if home != "" {
				o.Exposes = append(o.Exposes, agentcli.Expose{Host: filepath.Join(home, path), At: "~/" + path, Optional: true})
			}
		}
		out = append(out, New(o))
	}
	return append(out, New(Options{Network: true}))
}

// find looks for the program, and says what of the host it needs to see: its installation, and for a script of Node.js
// that too.
func (p *Provider) find(name string) (path string, exposes []agentcli.Expose, err error) {
	look := p.opts.Find
	if look == nil {
		look = exec.LookPath
	}
	if path, err = look(name); err != nil && !errors.Is(err, exec.ErrDot) {
		e := substrat.Errorf(substrat.CodeNotInstalled, "cannot find %s", name)
		if p.opts.Remedy != "" {
			return "", nil, e.WithHint("%s", p.opts.Remedy)
		}
		return "", nil, e.WithHint("install it, or give the command with its whole path")
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", nil, substrat.Errorf(substrat.CodeNotInstalled, "cannot find %s: %v", name, err)
	}
	return path, Installation(path), nil
}

// Installation tells what of the host a program needs to see: itself, what it links to, and the package around that.
func Installation(path string) []agentcli.Expose {
	out := []agentcli.Expose{{Host: path}}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return out
	}
	dir := filepath.Dir(real)
	// A script of a package of npm needs the packages beside its own.
	if i := strings.LastIndex(real, "/node_modules/"); i >= 0 {
		if j := strings.Index(real, "/node_modules/"); j >= 0 {
			i = j
		}
		dir = real[:i+len("/node_modules")]
	}
	if real != path || strings.Contains(real, "/node_modules/") {
		out = append(out, agentcli.Expose{Host: dir})
	}
	if node, err := exec.LookPath("node"); err == nil && script(real) {
		if nodeReal, err := filepath.EvalSymlinks(node); err == nil {
			out = append(out, agentcli.Expose{Host: node, Optional: true})
			if nodeReal != node {
				out = append(out, agentcli.Expose{Host: nodeReal, Optional: true})
			}
		}
	}
	return slices.CompactFunc(out, func(a, b agentcli.Expose) bool { return a.Host == b.Host })
}

// script reports whether a program is a script that node runs.
func script(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 64)
	n, _ := f.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	return strings.HasPrefix(line, "#!") && strings.Contains(line, "node")
}

// Probe implements agentcli.Prober. Whether there is a login shows only in a turn.
func (p *Provider) Probe(ctx context.Context) agentcli.Status {
	if len(p.opts.Command) == 0 {
		return agentcli.Status{Installed: true, Version: "built in"}
	}
	path, _, err := p.find(p.opts.Command[0])
	if err != nil {
		return agentcli.Status{Problem: err.Error(), Remedy: p.opts.Remedy}
	}
	return agentcli.Status{Installed: true, Path: path, Version: version(ctx, path)}
}

// version asks a program for its version. It is given a moment only: it may do anything.
func version(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if len(line) > 60 {
		return ""
	}
	return line
}
