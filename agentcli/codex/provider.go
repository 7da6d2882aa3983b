package codex

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
	// Name is how agents name it; empty means "codex".
	Name string
	// Command is the program and its first arguments; empty means the installed one, looked for at each turn.
	Command []string
	// Args are further arguments for every turn: settings as -c key=value.
	Args []string
	// Offline says that the program's endpoint can be reached without the internet.
	Offline bool
	// Env is given to the program: its API key and endpoint.
	Env map[string]string
}

// Provider drives Codex.
type Provider struct{ opts Options }

// New makes a provider.
func New(o Options) *Provider {
	if o.Name == "" {
		o.Name = "codex"
	}
	return &Provider{opts: o}
}

// Info implements agentcli.Provider.
func (p *Provider) Info() agentcli.Info {
	title := "Codex CLI"
	if p.opts.Name != "codex" {
		title += " (" + p.opts.Name + ")"
	}
	return agentcli.Info{Name: p.opts.Name, Title: title, Resume: true, MCP: true, Network: !p.opts.Offline, Keys: routes}
}

// routes are how a key stays outside.
var routes = []agentcli.KeyRoute{
	{Env: "CODEX_API_KEY", Target: "https://api.openai.com", Header: "Authorization: Bearer %s", BaseURL: "OPENAI_BASE_URL", Path: "/v1", Placeholder: "sk-" + headless.Placeholder},
	{Env: "OPENAI_API_KEY", Target: "https://api.openai.com", Header: "Authorization: Bearer %s", BaseURL: "OPENAI_BASE_URL", Path: "/v1", Placeholder: "sk-" + headless.Placeholder},
}

// with is the provider with variables of the host's in place of its own.
func (p *Provider) with(env map[string]string) *Provider {
	q := *p
	q.opts.Env = headless.Merge(p.opts.Env, env)
	return &q
}

// Converse implements agentcli.Provider. In a conversation that was resumed, the CLI counts the tokens of all its turns
// together: what this turn took cannot be told from them, so nothing is told.
func (p *Provider) Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	d := NewDecoder()
	d.resumed = req.Session != ""
	d.Result.Model = req.Model
	return headless.Converse(ctx, conn, req, emit, d.Stream)
}

// Diagnose implements agentcli.Provider.
func (p *Provider) Diagnose(_ agentcli.Request, partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	return failures.Diagnose(partial, exit)
}

const loginRemedy = "run `codex login`, or set CODEX_API_KEY or OPENAI_API_KEY"

var program = headless.Program{
	Name: "codex", PathVariable: "CODEX_PATH", Places: []string{".local/bin/codex"},
	Remedy: "install it with `npm install -g @openai/codex`; CODEX_PATH names one that is elsewhere",
}

// failures are the texts of version 0.169, and those that users reported.
var failures = headless.Failures{
	Title: "Codex", Program: "codex exec --json --skip-git-repo-check hello",
	Login: loginRemedy, Models: "`codex` has /model, which lists what can be used", Install: program.Remedy,
	Signs: []headless.Sign{
		{Class: substrat.ClassSession, Fits: headless.Fits(`no rollout found|thread/resume failed|no (recorded )?session (was )?found|conversation not found`)},
		{Class: substrat.ClassTrust, Fits: headless.Fits(`not inside a trusted directory`), Remedy: "the turn must be started with --skip-git-repo-check"},
		{Class: substrat.ClassQuota, Fits: headless.Fits(`usage limit|out of credits|purchase more credits`)},
		{Class: substrat.ClassModel, Fits: headless.Fits(`model.{0,60}(is )?not supported when using codex`)},
	},
}

// HostEnv picks what the CLI may take from its user's environment. CODEX_HOME says where its login is; an agent with a home
// of its own is not told.
func HostEnv(getenv func(string) string) map[string]string {
	return headless.PickEnv(getenv, "CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
		"CODEX_HOME", "HTTPS_PROXY", "NO_PROXY", "CODEX_CA_CERTIFICATE", "SSL_CERT_FILE")
}

// credentials is where the CLI keeps its login, "" if there is none.
func (p *Provider) credentials() string {
	home := p.opts.Env["CODEX_HOME"]
	if home == "" {
		return headless.UserFile(".codex/auth.json")
	}
	path := filepath.Join(home, "auth.json")
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return path
}

// Probe implements agentcli.Prober.
func (p *Provider) Probe(ctx context.Context) agentcli.Status {
	return program.Probe(ctx, p.opts.Command, func() (agentcli.Login, string) {
		if headless.HasAny(p.opts.Env, "CODEX_API_KEY", "OPENAI_API_KEY") || p.credentials() != "" {
			return agentcli.LoggedIn, ""
		}
		return agentcli.LoggedOut, ""
	}, loginRemedy)
}
