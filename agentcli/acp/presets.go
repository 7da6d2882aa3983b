package acp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// preset is a well-known agent.
type preset struct {
	name, title string
	// commands are the ways to start it, the first whose program is installed counts.
	commands [][]string
	auth     string
	// keyed are the logins that a key in the environment allows, as pairs of the variable and the method.
	keyed             [][2]string
	force, boxedModes []string
	// ask are arguments that make it ask before whatever it does, where its modes do not.
	ask []string
	// root are arguments before the command's own, args behind them, that follow from the keys and endpoints.
	root func(env map[string]string) []string
	args func(env map[string]string) []string
	// env are the variables of the user's that are its keys and endpoints.
	env []string
	// boxed are variables that are right only in a sandbox that contains what they allow.
	boxed map[string]string
	// homes are files and directories of the user's home that hold its login.
	homes  []string
	hosts  []string
	remedy string
}

// presets are the agents that are known by name. Programs and packages are as their makers document them.
var presets = []preset{
	{
		name: "cursor-acp", title: "Cursor CLI, by ACP", commands: [][]string{{"cursor-agent", "acp"}, {"agent", "acp"}}, auth: "cursor_login", root: cursorRoot,
		env: []string{"CURSOR_API_KEY", "CURSOR_AUTH_TOKEN", "CURSOR_API_ENDPOINT", cursorInsecure}, homes: []string{".config/cursor/auth.json"},
		hosts:  []string{"*.cursor.sh", "cursor.com", "*.cursor.com"},
		remedy: "install Cursor's CLI as cursor.com/docs/cli says, then run `cursor-agent login` or set CURSOR_API_KEY",
	},
	{
		name: "claude-acp", title: "Claude Code, by ACP", commands: [][]string{{"claude-agent-acp"}, {"claude-code-acp"}},
		env:    []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_MODEL", "CLAUDE_CODE_EXECUTABLE"},
		homes:  []string{".claude/.credentials.json"},
		boxed:  map[string]string{"IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1"},
		hosts:  []string{"*.anthropic.com", "claude.ai", "*.claude.ai", "*.claude.com"},
		remedy: "npm install -g @agentclientprotocol/claude-agent-acp, then log in with `claude` or set ANTHROPIC_API_KEY",
	},
	{
		name: "codex-acp", title: "Codex, by ACP", commands: [][]string{{"codex-acp"}},
		args: codexArgs, boxedModes: []string{"full-access"}, keyed: [][2]string{{"CODEX_API_KEY", "codex-api-key"}, {"OPENAI_API_KEY", "openai-api-key"}}, force: []string{"auto", "full-access"},
		ask: []string{"-c", `approval_policy="untrusted"`, "-c", `sandbox_mode="danger-full-access"`}, // what is left to itself only reads
		env: []string{"OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"}, homes: []string{".codex/auth.json", ".codex/config.toml"},
		hosts:  []string{"api.openai.com", "auth.openai.com", "chatgpt.com", "*.chatgpt.com"},
		remedy: "npm install -g @zed-industries/codex-acp, then log in with `codex login` or set OPENAI_API_KEY",
	},
	{
		name: "gemini-acp", title: "Gemini CLI, by ACP", commands: [][]string{{"gemini", "--acp"}}, keyed: [][2]string{{"GEMINI_API_KEY", "gemini-api-key"}},
		env:    []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GEMINI_MODEL"},
		homes:  []string{".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/settings.json"},
		boxed:  map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
		hosts:  []string{"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "aiplatform.googleapis.com", "oauth2.googleapis.com", "accounts.google.com"},
		remedy: "npm install -g @google/gemini-cli, then log in with `gemini` or set GEMINI_API_KEY",
	},
	{name: "goose", title: "Goose, by ACP", commands: [][]string{{"goose", "acp"}}, homes: []string{".config/goose/config.yaml", ".config/goose/secrets.yaml"},
		env: []string{"GOOSE_PROVIDER", "GOOSE_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"}, hosts: []string{"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com"}, remedy: "install it as goose's documentation says, then run `goose configure`"},
	{name: "opencode", title: "OpenCode, by ACP", commands: [][]string{{"opencode", "acp"}}, homes: []string{".local/share/opencode/auth.json", ".config/opencode"},
		env: []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"}, hosts: []string{"opencode.ai", "*.opencode.ai", "models.dev", "api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com"}, remedy: "npm install -g opencode-ai, then run `opencode auth login`"},
	{name: "qwen", title: "Qwen Code, by ACP", commands: [][]string{{"qwen", "--acp"}}, homes: []string{".qwen/oauth_creds.json", ".qwen/settings.json"},
		env: []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}, hosts: []string{"chat.qwen.ai", "portal.qwen.ai", "*.aliyuncs.com"}, remedy: "npm install -g @qwen-code/qwen-code, then log in with `qwen`"},
	{name: "copilot", title: "GitHub Copilot CLI, by ACP", commands: [][]string{{"copilot", "--acp"}}, homes: []string{".copilot/config.json", ".config/github-copilot"},
		env: []string{"GH_TOKEN", "GITHUB_TOKEN", "COPILOT_GITHUB_TOKEN"}, hosts: []string{"api.github.com", "github.com", "*.githubcopilot.com"}, remedy: "npm install -g @github/copilot, then log in with `copilot`"},
	{name: "auggie", title: "Augment's Auggie, by ACP", commands: [][]string{{"auggie", "--acp"}}, homes: []string{".augment/session.json"},
		env: []string{"AUGMENT_SESSION_AUTH", "AUGMENT_API_TOKEN", "AUGMENT_API_URL"}, hosts: []string{"*.augmentcode.com"}, remedy: "npm install -g @augmentcode/auggie, then run `auggie login`"},
	{name: "kimi", title: "Kimi CLI, by ACP", commands: [][]string{{"kimi", "acp"}, {"kimi", "--acp"}}, homes: []string{".kimi"},
		env: []string{"KIMI_API_KEY", "KIMI_BASE_URL", "KIMI_MODEL_NAME"}, hosts: []string{"api.kimi.com", "*.moonshot.ai", "*.moonshot.cn"}, remedy: "install it as Kimi CLI's documentation says, then run `kimi` and /setup"},
}

// Presets gives a provider for every well-known agent, and "acp" for any other.
func Presets(getenv func(string) string) []*Provider {
	home, _ := os.UserHomeDir()
	var out []*Provider
	for _, p := range presets {
		o := Options{Name: p.name, Title: p.title, AuthMethod: p.auth, ForceModes: p.force, BoxedModes: p.boxedModes, AskArgs: p.ask, BoxedEnv: p.boxed, Network: true, Hosts: p.hosts, Remedy: p.remedy, Command: p.commands[0], Env: map[string]string{}}
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
		if p.root != nil {
			o.Command = slices.Concat(o.Command[:1], p.root(o.Env), o.Command[1:])
		}
		if p.args != nil {
			o.Command = append(slices.Clone(o.Command), p.args(o.Env)...)
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

// cursorInsecure is a variable of ours: with it Cursor's CLI takes the endpoint's certificate unchecked.
const cursorInsecure = "SUBSTRAT_CURSOR_INSECURE"

// cursorRoot are the flags that stand before "acp": the endpoint, and whether its certificate is checked. The key and the
// token stay in the environment, where not everybody on the machine reads them.
func cursorRoot(env map[string]string) (args []string) {
	if url := env["CURSOR_API_ENDPOINT"]; url != "" {
		args = append(args, "-e", url)
	}
	if env[cursorInsecure] != "" {
		args = append(args, "-k")
	}
	return args
}

// codexArgs make Codex use an endpoint: it takes none from the environment, but from a provider of models in its settings.
func codexArgs(env map[string]string) []string {
	if env["OPENAI_BASE_URL"] == "" {
		return nil
	}
	key := "OPENAI_API_KEY"
	if env["CODEX_API_KEY"] != "" {
		key = "CODEX_API_KEY"
	}
	return []string{
		"-c", `model_provider="endpoint"`,
		"-c", fmt.Sprintf(`model_providers.endpoint={name="endpoint",base_url=%q,env_key=%q,wire_api="responses"}`, env["OPENAI_BASE_URL"], key),
	}
}

// program is what is looked for under a name.
func (p *Provider) program(name string) headless.Program {
	remedy := p.opts.Remedy
	if remedy == "" {
		remedy = "install it, or give the command with its whole path"
	}
	return headless.Program{Name: name, Remedy: remedy}
}

// Probe implements agentcli.Prober. Whether there is a login shows only in a turn.
func (p *Provider) Probe(ctx context.Context) agentcli.Status {
	if len(p.opts.Command) == 0 {
		return agentcli.Status{Installed: true, Version: "built in"}
	}
	found, err := p.program(p.opts.Command[0]).Find(nil)
	if err != nil {
		return agentcli.Status{Problem: err.Error(), Remedy: p.opts.Remedy}
	}
	return agentcli.Status{Installed: true, Path: found.Path, Version: clip(found.Version(ctx))}
}
