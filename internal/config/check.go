package config

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"substrat.dev/substrat"
)

// checker collects what is wrong with values of the right type.
type checker struct {
	name  string
	data  []byte
	wrong []string
}

// bad notes a mistake at the nth place where the key is set below a heading.
func (c *checker) bad(heading string, n int, key, format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf("%s:%d: ", c.name, c.line(heading, n, key))+fmt.Sprintf(format, args...))
}

// line finds where a key is set below the nth heading of a name. It is for people: where a file is written in another
// style than one key a line, it gives the line of the heading.
func (c *checker) line(heading string, n int, key string) int {
	in, at := heading == "", 0
	for i, raw := range bytes.Split(c.data, []byte("\n")) {
		text := strings.TrimSpace(string(raw))
		if strings.HasPrefix(text, "[") {
			title := strings.Trim(strings.SplitN(text, "#", 2)[0], "[] \t\"'")
			if in = strings.ReplaceAll(title, `"`, "") == heading; in {
				if n > 0 {
					n, in = n-1, false
					continue
				}
				at = i + 1
			}
			continue
		}
		if k, _, ok := strings.Cut(text, "="); in && ok && strings.Trim(k, " \t\"'") == key {
			return i + 1
		}
	}
	return max(at, 1)
}

// pattern refuses patterns that are none.
func (c *checker) pattern(heading string, n int, key string, paths ...Path) {
	for _, p := range paths {
		if err := p.check(); err != nil {
			c.bad(heading, n, key, "%v", err)
		}
	}
}

func (c *checker) positive(heading, key string, v int) {
	if v < 0 {
		c.bad(heading, 0, key, "%s must not be below 0", key)
	}
}

// check refuses values that make no sense, all of them at once.
func (c *Config) check(name string, data []byte) error {
	k := &checker{name: name, data: data}
	k.positive("slots", "total", c.Slots.Total)
	for _, p := range slices.Sorted(maps.Keys(c.Slots.Providers)) {
		if c.Slots.Providers[p] < 1 {
			k.bad("slots.providers", 0, p, "a provider has 1 slot at the least; to run none of its agents, create none")
		}
	}
	k.limits("limits", c.Limits.TeamLimits)
	for _, t := range slices.Sorted(maps.Keys(c.Limits.Teams)) {
		k.limits("limits.teams."+t, c.Limits.Teams[t])
	}
	for key, v := range map[string]int{
		"agent_per_minute": c.Rates.AgentPerMinute, "agent_burst": c.Rates.AgentBurst, "team_per_minute": c.Rates.TeamPerMinute, "team_burst": c.Rates.TeamBurst,
	} {
		k.positive("rates", key, v)
	}
	for i := range c.Budgets {
		k.budget(i, c.Budgets[i])
	}
	for i, p := range c.Policies {
		if p.Effect != "allow" && p.Effect != "deny" && p.Effect != "ask" {
			k.bad("policy", i, "effect", "a policy's effect is allow, deny or ask, not %q", p.Effect)
		}
		k.pattern("policy", i, "agent", p.Agent)
		if p.Effect == "allow" && (p.Command != "" || p.Path != "") {
			k.bad("policy", i, "effect", "commands and paths are denied or asked about; what is not is allowed")
		}
		if (p.Command != "" || p.Path != "") && len(p.Tool) > 0 {
			k.bad("policy", i, "tool", "a policy is about the agents' tools, or about commands and paths of their CLI: not both")
		}
		if len(p.Command) > patternMost || len(p.Path) > patternMost {
			k.bad("policy", i, "command", "a pattern has at most %d bytes", patternMost)
		}
	}
	for i := range c.Gates {
		k.gate(i, &c.Gates[i])
	}
	for _, s := range slices.Sorted(maps.Keys(c.Servers)) {
		k.server(s, c.Servers[s])
	}
	k.api(c.API)
	for _, p := range slices.Sorted(maps.Keys(c.Providers)) {
		for _, path := range c.Providers[p].Paths {
			if !filepath.IsAbs(path) || path == "/" {
				k.bad("providers."+p, 0, "paths", "a path that is shown in a sandbox is absolute, and not all there is: %q", path)
			}
		}
		for _, price := range []*float64{c.Providers[p].InputUSD, c.Providers[p].OutputUSD, c.Providers[p].CacheReadUSD, c.Providers[p].CacheWriteUSD} {
			if price != nil && !(*price >= 0 && *price < 1e6) {
				k.bad("providers."+p, 0, "input_usd_per_mtok", "a price is 0 or more dollars")
			}
		}
	}
	k.walls(c)
	if len(k.wrong) == 0 {
		return nil
	}
	slices.Sort(k.wrong)
	return substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration:\n%s", strings.Join(k.wrong, "\n"))
}

func (c *checker) server(name string, s Server) {
	heading := "mcp." + name
	switch {
	case s.URL != "" && len(s.Command) > 0:
		c.bad(heading, 0, "url", "the MCP server %s has a command or a url: not both", name)
	case s.URL != "":
		u, err := url.Parse(s.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			c.bad(heading, 0, "url", "the url of the MCP server %s is no address like https://example.com/mcp", name)
		} else if u.User != nil {
			c.bad(heading, 0, "url", "the url of the MCP server %s holds a login: put it into headers", name)
		}
	case len(s.Command) == 0 || s.Command[0] == "":
		c.bad(heading, 0, "command", "the MCP server %s has no command and no url", name)
	}
	if s.URL != "" && len(s.Env) > 0 {
		c.bad(heading, 0, "env", "the MCP server %s is no program of ours: it has headers, and no env", name)
	}
	if s.URL == "" && len(s.Headers) > 0 {
		c.bad(heading, 0, "headers", "headers go with the url of an MCP server")
	}
	for k := range s.Headers {
		if !httpguts.ValidHeaderFieldName(k) {
			c.bad(heading, 0, "headers", "%q is no header of HTTP", k)
		}
	}
	if name == "substrat" {
		c.bad(heading, 0, "command", "substrat is the name of the built-in MCP server")
	}
	c.positive(heading, "tools", s.Tools)
	c.pattern(heading, 0, "agents", s.Agents...)
}

func (c *checker) limits(heading string, l TeamLimits) {
	for key, v := range map[string]int{
		"depth": l.Depth, "descendants": l.Descendants, "hops": l.Hops, "attempts": l.Attempts, "interrupts": l.Interrupts, "mailbox": l.Mailbox,
		"spawns_per_minute": l.SpawnsPerMinute, "reminders": l.Reminders, "subscriptions": l.Subscriptions, "questions": l.Questions,
	} {
		c.positive(heading, key, v)
	}
	if l.TextBytes > 64<<20 {
		c.bad(heading, 0, "text_bytes", "text_bytes is at most 64MiB")
	}
}

func (c *checker) budget(i int, b Budget) {
	c.pattern("budget", i, "agent", b.Agent)
	if b.Scope != "" && b.Scope != substrat.ScopeAgent && b.Scope != substrat.ScopeSubtree {
		c.bad("budget", i, "scope", "a budget's scope is agent or subtree, not %q", b.Scope)
	}
	if b.Period != "" && b.Period != substrat.PeriodDay && b.Period != substrat.PeriodTotal {
		c.bad("budget", i, "period", "a budget's period is day or total, not %q", b.Period)
	}
	if b.Turns < 0 || b.Tokens < 0 || !(b.CostUSD >= 0 && b.CostUSD < 1e9) {
		c.bad("budget", i, "turns", "a budget must not be below 0")
	}
	if b.Turns == 0 && b.Tokens == 0 && b.CostUSD == 0 && b.Wall == 0 {
		c.bad("budget", i, "turns", "a budget bounds at least one of turns, wall, tokens, cost_usd")
	}
}

func (c *checker) gate(i int, g *Gate) {
	c.pattern("gate", i, "from", g.From)
	c.pattern("gate", i, "to", g.To)
	for _, kind := range g.Kind {
		if !slices.Contains([]string{"request", "notification", "reply", "result", "start"}, kind) {
			c.bad("gate", i, "kind", "messages between agents are request, notification, reply, result or start, not %q", kind)
		}
	}
	if g.Text == "" {
		return
	}
	re, err := regexp.Compile(g.Text)
	if err != nil {
		c.bad("gate", i, "text", "text is no regular expression: %v", err)
		return
	}
	g.text = re
}
