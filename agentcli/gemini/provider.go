package gemini

import (
	"context"
	"os"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// Options configure a provider.
type Options struct {
	// Name is how agents name it; empty means "gemini".
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

// Provider drives Gemini CLI.
type Provider struct{ opts Options }

// New makes a provider.
func New(o Options) *Provider {
	if o.Name == "" {
		o.Name = "gemini"
	}
	return &Provider{opts: o}
}

// Info implements agentcli.Provider.
func (p *Provider) Info() agentcli.Info {
	title := "Gemini CLI"
	if p.opts.Name != "gemini" {
		title += " (" + p.opts.Name + ")"
	}
	return agentcli.Info{Name: p.opts.Name, Title: title, Resume: true, MCP: true, Network: !p.opts.Offline, Keys: routes}
}

// routes are how a key stays outside.
var routes = []agentcli.KeyRoute{
	{Env: "GEMINI_API_KEY", Target: "https://generativelanguage.googleapis.com", Header: "x-goog-api-key: %s", BaseURL: "GOOGLE_GEMINI_BASE_URL", Placeholder: "AIza" + headless.Placeholder},
}

// with is the provider with variables of the host's in place of its own.
func (p *Provider) with(env map[string]string) *Provider {
	q := *p
	q.opts.Env = headless.Merge(p.opts.Env, env)
	return &q
}

// Converse implements agentcli.Provider.
func (p *Provider) Converse(ctx context.Context, conn agentcli.Conn, req agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	servers := make([]string, 0, len(req.MCP))
	for _, s := range req.MCP {
		servers = append(servers, s.Name)
	}
	return headless.Converse(ctx, conn, req, emit, NewDecoder(servers...).Stream)
}

// Diagnose implements agentcli.Provider.
func (p *Provider) Diagnose(_ agentcli.Request, partial agentcli.Result, exit agentcli.Exit) (substrat.FailureClass, string) {
	return failures.Diagnose(partial, exit)
}

const loginRemedy = "run `gemini` and log in, or set GEMINI_API_KEY"

var program = headless.Program{
	Name: "gemini", PathVariable: "GEMINI_CLI_PATH", Places: []string{".local/bin/gemini"},
	Remedy: "install it with `npm install -g @google/gemini-cli`; GEMINI_CLI_PATH names one that is elsewhere",
}

// failures are the texts of version 0.61, and those that users reported. Its exit code for a failed request is the HTTP
// status, of which a process keeps the low eight bits.
var failures = headless.Failures{
	Title: "Gemini CLI", Program: "gemini --output-format stream-json -p hello",
	Login: loginRemedy, Models: "`gemini` has /model, which lists what can be used", Install: program.Remedy,
	Signs: []headless.Sign{
		{Class: substrat.ClassSession, Fits: headless.Fits(`error resuming session|invalid session identifier|no previous sessions`)},
		{Class: substrat.ClassTrust, Fits: headless.Fits(`not running in a trusted directory`), Remedy: "the turn must be started with GEMINI_CLI_TRUST_WORKSPACE=true"},
		{Class: substrat.ClassQuota, Fits: headless.Fits(`daily (quota )?limit|exhausted your (daily )?quota|quota exceeded|exceeded your current quota|QUOTA_EXHAUSTED`)},
		{Class: substrat.ClassRateLimit, Fits: headless.Fits(`wait and try again later|"code": ?429|resource_exhausted|possible quota limitations`)},
		{Class: substrat.ClassAuth, Fits: headless.Fits(`set an auth method|"code": ?40[13]\b|API_KEY_INVALID|opening authentication page`)},
		{Class: substrat.ClassNetwork, Fits: headless.Fits(`"code": ?50[0-4]\b`)},
	},
	Exits: map[int]substrat.FailureClass{
		41: substrat.ClassAuth, 52: substrat.ClassConfig, 55: substrat.ClassTrust,
		401 & 0xff: substrat.ClassAuth, 403 & 0xff: substrat.ClassAuth, 429 & 0xff: substrat.ClassRateLimit,
		500 & 0xff: substrat.ClassNetwork, 503 & 0xff: substrat.ClassNetwork,
	},
}

// keys are the variables by which an account is given.
var keys = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_GENAI_USE_VERTEXAI"}

// HostEnv picks what the CLI may take from its user's environment.
func HostEnv(getenv func(string) string) map[string]string {
	return headless.PickEnv(getenv, append([]string{
		"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_API_VERSION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT_ID",
		"GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_QUOTA_PROJECT", "GEMINI_MODEL", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS",
	}, keys...)...)
}

// credentials are where the CLI keeps its login, and whose it is, below a home.
const (
	credentials = ".gemini/oauth_creds.json"
	accounts    = ".gemini/google_accounts.json"
)

// Probe implements agentcli.Prober.
func (p *Provider) Probe(ctx context.Context) agentcli.Status {
	return program.Probe(ctx, p.opts.Command, func() (agentcli.Login, string) {
		switch {
		case headless.HasAny(p.opts.Env, keys...):
			return agentcli.LoggedIn, ""
		case headless.UserFile(credentials) != "":
			data, _ := os.ReadFile(headless.UserFile(accounts))
			return agentcli.LoggedIn, headless.ObjectOf(data).Str("active")
		}
		return agentcli.LoggedOut, ""
	}, loginRemedy)
}
