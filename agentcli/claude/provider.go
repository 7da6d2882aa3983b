package claude

import (
	"context"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// Options configure a provider.
type Options struct {
	// Name is how agents name it; empty means "claude".
	Name string
	// Command is the program and its first arguments; empty means the installed one, looked for at each turn.
	Command []string
	// Args are further arguments for every turn.
	Args []string
	// Offline says that the program's endpoint can be reached without the internet.
	Offline bool
	// Env is given to the program: its API key and endpoint.
	Env map[string]string
}

// Provider drives Claude Code.
type Provider struct{ opts Options }

// New makes a provider.
func New(o Options) *Provider {
	if o.Name == "" {
		o.Name = "claude"
	}
	return &Provider{opts: o}
}

// Info implements agentcli.Provider.
func (p *Provider) Info() agentcli.Info {
	title := "Claude Code"
	if p.opts.Name != "claude" {
		title += " (" + p.opts.Name + ")"
	}
	return agentcli.Info{Name: p.opts.Name, Title: title, Resume: true, MCP: true, Network: !p.opts.Offline, Keys: routes}
}

// routes are how a key stays outside: the CLI sends one of the first kind by a header of its own, others as a bearer.
var routes = []agentcli.KeyRoute{
	{Env: "ANTHROPIC_API_KEY", Target: "https://api.anthropic.com", Header: "x-api-key: %s", BaseURL: "ANTHROPIC_BASE_URL", Placeholder: "sk-ant-api03-" + headless.Placeholder},
	{Env: "ANTHROPIC_AUTH_TOKEN", Target: "https://api.anthropic.com", Header: "Authorization: Bearer %s", BaseURL: "ANTHROPIC_BASE_URL", Placeholder: headless.Placeholder},
}

// with is the provider with variables of the host's in place of its own.
func (p *Provider) with(env map[string]string) *Provider {
	q := *p
	q.opts.Env = headless.Merge(p.opts.Env, env)
	return &q
}

// Converse implements agentcli.Provider.
func (p *Provider) Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	return headless.Converse(ctx, conn, req, emit, NewDecoder().Stream)
}

// Diagnose implements agentcli.Provider.
func (p *Provider) Diagnose(_ agentcli.Request, partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	return failures.Diagnose(partial, exit)
}

const loginRemedy = "run `claude` and log in, or set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN to what `claude setup-token` gives"

var program = headless.Program{
	Name: "claude", PathVariable: "CLAUDE_CODE_PATH", Places: []string{".local/bin/claude", ".claude/local/claude"},
	Remedy: "install it with `npm install -g @anthropic-ai/claude-code`; CLAUDE_CODE_PATH names one that is elsewhere",
}

// failures are the texts of version 2.1, and those that users reported.
var failures = headless.Failures{
	Title: "Claude Code", Program: "claude -p --output-format stream-json --verbose hello",
	Login: loginRemedy, Models: "`claude --model` takes opus, sonnet, haiku or a model's full name", Install: program.Remedy,
	Signs: []headless.Sign{
		{Class: substrat.ClassSession, Fits: headless.Fits(`no conversation found|session .{0,50}not found|session id .{0,50}already in use`)},
		{Class: substrat.ClassConfig, Fits: headless.Fits(`cannot be used with root/sudo privileges`),
			Remedy: "run it as another user, in a sandbox, or with IS_SANDBOX=1 where the machine is one"},
		{Class: substrat.ClassQuota, Fits: headless.Fits(`usage limit reached|limit reached|hit your .{0,30}limit|credit balance is too low|maximum budget`)},
	},
}

// keys are the variables by which an account is given.
var keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"}

// HostEnv picks what the CLI may take from its user's environment.
func HostEnv(getenv func(string) string) map[string]string {
	return headless.PickEnv(getenv, append([]string{
		"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_CUSTOM_HEADERS",
		"ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_VERTEX_PROJECT_ID",
		"AWS_REGION", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "CLOUD_ML_REGION",
		"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "IS_SANDBOX", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS",
	}, keys...)...)
}

// credentials is where the CLI keeps its login, below a home.
const credentials = ".claude/.credentials.json"

// credentials finds it, "" if there is none.
func (p *Provider) credentials() string {
	dir := p.opts.Env["CLAUDE_CONFIG_DIR"]
	if dir == "" {
		return headless.UserFile(credentials)
	}
	path := filepath.Join(dir, filepath.Base(credentials))
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return path
}

// Probe implements agentcli.Prober.
func (p *Provider) Probe(ctx context.Context) agentcli.Status {
	return program.Probe(ctx, p.opts.Command, p.login, loginRemedy)
}

// login says whether there is an account. On machines with a keychain, the CLI keeps it there.
func (p *Provider) login() (agentcli.Login, string) {
	if headless.HasAny(p.opts.Env, keys...) || p.credentials() != "" {
		return agentcli.LoggedIn, account()
	}
	return agentcli.LoggedOut, ""
}

// account is who is logged in, from the CLI's state in the user's home.
func account() string {
	path := headless.UserFile(".claude.json")
	if path == "" {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return headless.ObjectOf(data).Object("oauthAccount").Str("emailAddress")
}
