package daemon

import (
	"maps"
	"os"
	"path/filepath"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/config"
	"substrat.dev/substrat/internal/engine"
	"substrat.dev/substrat/internal/secret"
	"substrat.dev/substrat/internal/team"
)

// ConfigPath is where a person configures the daemon of a home.
func ConfigPath(home string) string { return filepath.Join(home, "substrat.toml") }

// rules are the engine's view of the configuration.
type rules struct {
	engine.NoRules
	c *config.Config
}

// Limits implements engine.Rules.
func (r rules) Limits(root string) team.Limits {
	l, own := team.DefaultLimits(), r.c.Limits.For(root)
	set(&l.Depth, own.Depth)
	set(&l.Descendants, own.Descendants)
	set(&l.Hops, own.Hops)
	set(&l.Attempts, own.Attempts)
	set(&l.Interrupts, own.Interrupts)
	set(&l.ReplyDeadline, time.Duration(own.ReplyDeadline))
	set(&l.Backoff, time.Duration(own.Backoff))
	set(&l.BackoffMax, time.Duration(own.BackoffMost))
	set(&l.TextBytes, int(own.TextBytes))
	set(&l.QueueLen, own.Mailbox)
	set(&l.SpawnsPerMinute, own.SpawnsPerMinute)
	set(&l.Reminders, own.Reminders)
	set(&l.Subscriptions, own.Subscriptions)
	set(&l.Questions, own.Questions)
	set(&l.AskDeadline, time.Duration(r.c.Ask.Deadline))
	return l
}

// set overwrites a default with what is configured.
func set[T comparable](to *T, v T) {
	var zero T
	if v != zero {
		*to = v
	}
}

// Hold implements engine.Rules.
func (r rules) Hold(m *substrat.Message) string {
	return r.c.Hold(m.From, m.To, string(m.Kind), m.Text)
}

// Budgets implements engine.Rules.
func (r rules) Budgets(path string, role substrat.Role) []substrat.Budget {
	return r.c.BudgetsFor(path, string(role))
}

// Policy implements engine.Rules.
func (r rules) Policy(c engine.Call) engine.Ruling {
	effect, rule, reason := r.c.Decide(config.Call{Role: string(c.Role), Agent: c.Path, Tool: c.Tool, Command: c.Command, Path: c.File})
	return engine.Ruling{Effect: effect, Rule: rule, Reason: reason}
}

// Denials implements engine.Rules.
func (r rules) Denials(path string, role substrat.Role, asks bool) []agentcli.Denial {
	var out []agentcli.Denial
	for _, d := range r.c.Denials(path, string(role), asks) {
		out = append(out, agentcli.Denial{Command: d.Command, Path: d.Path})
	}
	return out
}

// AskFirst implements engine.Rules.
func (r rules) AskFirst(path string, role substrat.Role, own []string) bool {
	return r.c.AskFirst(path, string(role), own)
}

// Pools implements engine.Rules.
func (r rules) Pools() map[string]int { return r.c.Slots.Providers }

// FreeLeast implements engine.Rules.
func (r rules) FreeLeast() uint64 { return uint64(r.c.Memory.FreeLeast) }

// SuspendAfter implements engine.Rules.
func (r rules) SuspendAfter() time.Duration { return time.Duration(r.c.Idle.SuspendAfter) }

// Surroundings implements engine.Rules.
func (r rules) Surroundings(provider string) (map[string]secret.Source, []string) {
	return r.c.Surroundings(provider)
}

// Walls implements engine.Rules.
func (r rules) Walls(path string, role substrat.Role, provider string) engine.Walls {
	c := r.c.WallsFor(path, string(role), provider)
	w := engine.Walls{
		Read: c.Read, Write: c.Write, Env: map[string]string{}, Network: substrat.Network(c.Network), Hosts: c.Hosts, DenyHosts: c.DenyHosts,
		Unlisted: c.Unlisted, KeyOutside: r.c.Providers[provider].KeyOutside, Nested: c.Nested, Debug: c.Debug, FlagOnly: c.FlagOnly, Profiles: c.Profiles,
		Turn: resources(engine.DefaultResources(), c.Turn), Subtrees: map[string]engine.Resources{},
	}
	for at, b := range c.Subtrees {
		w.Subtrees[at] = resources(engine.Resources{}, b)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return w
	}
	for _, name := range c.Toolchains {
		t := config.FindToolchain(name, home)
		w.Read, w.Path = append(w.Read, t.Read...), append(w.Path, t.Path...)
		maps.Copy(w.Env, t.Env)
	}
	return w
}

// resources lays what is configured over bounds.
func resources(over engine.Resources, c config.Resources) engine.Resources {
	given(&over.Memory, c.Memory)
	given(&over.Processes, c.Processes)
	given(&over.CPUPercent, c.CPUPercent)
	given(&over.OpenFiles, c.OpenFiles)
	given(&over.Workspace, c.Workspace)
	given(&over.Home, c.Home)
	given(&over.Tmp, c.Tmp)
	return over
}

// given takes what is configured, also where that is zero.
func given[T, C int | int64 | config.Size](to *T, v *C) {
	if v != nil {
		*to = T(*v)
	}
}

// Guard implements engine.Rules.
func (r rules) Guard() (protect bool, allow []string) {
	return r.c.Guard.Protect == nil || *r.c.Guard.Protect, r.c.Guard.Allow
}

// Account implements engine.Rules.
func (r rules) Account(provider string) string { return r.c.Account(provider) }

// Cost implements engine.Rules.
func (r rules) Cost(provider, _ string, u substrat.Usage) (int64, bool) { return r.c.Cost(provider, u) }

// Model implements engine.Rules.
func (r rules) Model(name string) string { return r.c.Model(name) }

// DefaultModel implements engine.Rules.
func (r rules) DefaultModel(provider string) string { return r.c.Providers[provider].Model }

// Servers implements engine.Rules.
func (r rules) Servers(path string, role substrat.Role) []engine.Server {
	var out []engine.Server
	for _, s := range r.c.ServersFor(path, string(role)) {
		server := engine.Server{MCPServer: agentcli.MCPServer{Name: s.Name, URL: s.URL}, Env: s.Env, Headers: map[string]engine.Header{}, Tools: s.Tools}
		if s.URL == "" {
			server.Command, server.Args = s.Command[0], s.Command[1:]
		}
		for name, h := range s.Headers {
			server.Headers[name] = engine.Header{Scheme: h.Scheme, Value: h.Source}
		}
		out = append(out, server)
	}
	return out
}

// ToolCap implements engine.Rules.
func (r rules) ToolCap(provider string) int {
	if n := r.c.Providers[provider].ToolCap; n != nil {
		return *n
	}
	return r.NoRules.ToolCap(provider)
}

// Rates implements engine.Rules.
func (r rules) Rates() engine.Rates {
	out := engine.DefaultRates()
	set(&out.AgentPerMinute, r.c.Rates.AgentPerMinute)
	set(&out.AgentBurst, r.c.Rates.AgentBurst)
	set(&out.TeamPerMinute, r.c.Rates.TeamPerMinute)
	set(&out.TeamBurst, r.c.Rates.TeamBurst)
	return out
}
