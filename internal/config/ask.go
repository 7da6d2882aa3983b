package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli/redact"
	"substrat.dev/substrat/internal/secret"
)

// For gives the limits of a root's team: its own where they are set, else those of all.
func (l *Limits) For(root string) TeamLimits {
	out, own := l.TeamLimits, l.Teams[root]
	pick(&out.Depth, own.Depth)
	pick(&out.Descendants, own.Descendants)
	pick(&out.Hops, own.Hops)
	pick(&out.Attempts, own.Attempts)
	pick(&out.Interrupts, own.Interrupts)
	pick(&out.ReplyDeadline, own.ReplyDeadline)
	pick(&out.Backoff, own.Backoff)
	pick(&out.BackoffMost, own.BackoffMost)
	pick(&out.TextBytes, own.TextBytes)
	pick(&out.Mailbox, own.Mailbox)
	pick(&out.SpawnsPerMinute, own.SpawnsPerMinute)
	pick(&out.Reminders, own.Reminders)
	pick(&out.Subscriptions, own.Subscriptions)
	pick(&out.Questions, own.Questions)
	return out
}

func pick[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}

// Call is what a policy is asked about. Command and Path are empty where there is none.
type Call struct {
	Role, Agent, Tool, Command, Path string
}

// Decide gives the effect of the first policy that matches, the name of the rule and its reason. Without one it is allow.
func (c *Config) Decide(call Call) (effect, rule, reason string) {
	for i, p := range c.Policies {
		if p.matches(call) {
			return p.Effect, fmt.Sprintf("policy %d of substrat.toml", i+1), p.Reason
		}
	}
	return "allow", "", ""
}

// Denial is a command, or a path, that an agent must not touch.
type Denial struct{ Command, Path string }

// Denials lists the commands and paths that an agent's CLI is to refuse. A CLI that cannot ask is to refuse also what a policy
// leaves to a person. A policy that allows the agent everything ends the list.
func (c *Config) Denials(agent, role string, asks bool) []Denial {
	var out []Denial
	for _, p := range c.Policies {
		if !p.Role.Has(role) || !p.Agent.Match(agent) {
			continue
		}
		switch {
		case p.Effect == "allow" && p.Command == "" && p.Path == "" && len(p.Tool) == 0:
			return out
		case asks && p.Effect == "ask":
		case p.Effect != "allow" && (p.Command != "" || p.Path != ""):
			out = append(out, Denial{string(p.Command), string(p.Path)})
		}
	}
	return out
}

// AskFirst reports whether a policy may refuse an agent what its CLI does by itself, or leave it to a person. Policies that name
// only tools of own, those that the CLI is given, are none.
func (c *Config) AskFirst(agent, role string, own []string) bool {
	for _, p := range c.Policies {
		if !p.Role.Has(role) || !p.Agent.Match(agent) {
			continue
		}
		elsewhere := len(p.Tool) == 0 || slices.ContainsFunc(p.Tool, func(t string) bool {
			return !slices.ContainsFunc(own, func(name string) bool { return like(t, name) }) || like(t, "Bash")
		})
		switch {
		case p.Effect != "allow" && elsewhere:
			return true
		case p.Effect == "allow" && p.Command == "" && p.Path == "" && len(p.Tool) == 0:
			return false
		}
	}
	return false
}

func (p *Policy) matches(c Call) bool {
	if p.Command != "" && c.Command == "" || p.Path != "" && c.Path == "" {
		return false
	}
	return p.Role.Has(c.Role) && p.Agent.Match(c.Agent) && p.Tool.Has(c.Tool) && p.Command.Match(c.Command) && p.Path.Match(c.Path)
}

// Hold names the gate that holds a message, "" if none does.
func (c *Config) Hold(from, to, kind, text string) string {
	for i := range c.Gates {
		g := &c.Gates[i]
		if g.From.Match(from) && g.To.Match(to) && g.Kind.Has(kind) && (g.text == nil || g.text.MatchString(text)) {
			return fmt.Sprintf("gate %d of substrat.toml", i+1)
		}
	}
	return ""
}

// BudgetsFor lists the budgets of an agent that is created.
func (c *Config) BudgetsFor(path, role string) []substrat.Budget {
	var out []substrat.Budget
	for _, b := range c.Budgets {
		if b.Agent.Match(path) && b.Role.Has(role) {
			out = append(out, b.Budget())
		}
	}
	return out
}

// Budget gives a budget its general form.
func (b Budget) Budget() substrat.Budget {
	return substrat.Budget{
		Scope: b.Scope, Period: b.Period, Turns: b.Turns, WallSeconds: int64(b.Wall) / 1e9, Tokens: b.Tokens, CostMicros: int64(b.CostUSD*1e6 + 0.5),
	}
}

// NamedServer is an MCP server with its name.
type NamedServer struct {
	Name string
	Server
}

// ServersFor lists the MCP servers of an agent, by name.
func (c *Config) ServersFor(path, role string) []NamedServer {
	var out []NamedServer
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := c.Servers[name]
		if !s.Roles.Has(role) || len(s.Agents) > 0 && !slices.ContainsFunc(s.Agents, func(p Path) bool { return p.Match(path) }) {
			continue
		}
		out = append(out, NamedServer{name, s})
	}
	return out
}

// Surroundings are what the file gives the processes of a provider beside what it asks for itself.
func (c *Config) Surroundings(provider string) (env map[string]secret.Source, paths []string) {
	p := c.Providers[provider]
	return p.Env, p.Paths
}

// Key is a variable that the file gives to processes.
type Key struct {
	// Name says where it stands: "providers.cursor API_KEY".
	Name   string
	Source secret.Source
	// Open says that its name tells of a secret, and that its value stands in the file itself.
	Open bool
}

// Keys lists all of them in order.
func (c *Config) Keys() []Key {
	var out []Key
	look := func(heading string, env map[string]secret.Source) {
		for name, source := range env {
			out = append(out, Key{heading + " " + name, source, source.Literal() && redact.Secretive(name)})
		}
	}
	for name, p := range c.Providers {
		look("providers."+name, p.Env)
	}
	for name, s := range c.Servers {
		look("mcp."+name, s.Env)
		for header, h := range s.Headers {
			look("mcp."+name, map[string]secret.Source{header: h.Source})
		}
	}
	slices.SortFunc(out, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Model resolves an alias of a model. What is no alias is a model's name.
func (c *Config) Model(name string) string {
	if m := c.Models[name]; m != "" {
		return m
	}
	return name
}

// Account names what the limits of a provider are counted on: the provider itself unless the file says otherwise.
func (c *Config) Account(provider string) string {
	if a := c.Providers[provider].Account; a != "" {
		return a
	}
	return provider
}

// Cost is what usage costs in millionths of a dollar. It is not known without prices of input and output. Input tokens
// that were read from, or written to, the provider's cache cost what input does where they have no price of their own.
func (c *Config) Cost(provider string, u substrat.Usage) (micros int64, known bool) {
	p := c.Providers[provider]
	if p.InputUSD == nil || p.OutputUSD == nil {
		return 0, false
	}
	price := func(own *float64) float64 {
		if own != nil {
			return *own
		}
		return *p.InputUSD
	}
	total := float64(u.InputTokens)**p.InputUSD + float64(u.OutputTokens)**p.OutputUSD +
		float64(u.CacheReadTokens)*price(p.CacheReadUSD) + float64(u.CacheWriteTokens)*price(p.CacheWriteUSD)
	return int64(total + 0.5), true
}
