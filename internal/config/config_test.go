package config

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/secret"
)

const full = `
[slots]
total = 8
[slots.providers]
cursor = 4

[memory]
free_least = "512MB"

[idle]
suspend_after = "5m"

[limits]
depth = 5
reply_deadline = "2h"
[limits.teams.big]
depth = 12

[rates]
agent_per_minute = 60

[ask]
deadline = "1d"

[[budget]]
agent = "lead/**"
period = "day"
turns = 100
cost_usd = 5.5

[[budget]]
role = ["worker"]
scope = "agent"
wall = "2h"

[providers.cursor]
model = "auto"
account = "work"
input_usd_per_mtok = 1.25
output_usd_per_mtok = 10.0
cache_read_usd_per_mtok = 0.125

[models]
fast = "gpt-5-mini"

[[policy]]
effect = "allow"
agent = "lead"
[[policy]]
effect = "deny"
tool = ["terminate_*"]
role = ["worker"]
reason = "workers end nobody"
[[policy]]
effect = "ask"
command = "git push*"

[[gate]]
from = "lead/*"
to = "lead"
kind = ["notification"]
text = "(?i)password"

[mcp.github]
command = ["github-mcp", "stdio"]
env = { TOKEN = "$GITHUB_TOKEN", MODE = "ro" }
roles = ["worker"]
tools = 12
`

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("substrat.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnswers(t *testing.T) {
	c := parse(t, full)
	if l := c.Limits.For("big"); l.Depth != 12 || time.Duration(l.ReplyDeadline) != 2*time.Hour {
		t.Errorf("limits of big: %+v", l)
	}
	if l := c.Limits.For("small"); l.Depth != 5 {
		t.Errorf("limits of small: %+v", l)
	}
	if c.Memory.FreeLeast != 512e6 || c.Slots.Total != 8 || c.Slots.Providers["cursor"] != 4 || time.Duration(c.Ask.Deadline) != 24*time.Hour {
		t.Errorf("%+v", c)
	}
	want := []substrat.Budget{{Period: substrat.PeriodDay, Turns: 100, CostMicros: 5_500_000}, {Scope: substrat.ScopeAgent, WallSeconds: 7200}}
	if got := c.BudgetsFor("lead/coder", "worker"); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("budgets: %+v", got)
	}
	if got := c.BudgetsFor("other", "manager"); got != nil {
		t.Errorf("budgets of another: %+v", got)
	}
	if micros, known := c.Cost("cursor", substrat.Usage{InputTokens: 1000, OutputTokens: 100, CacheReadTokens: 8000}); micros != 1250+1000+1000 || !known {
		t.Errorf("cost %d %v", micros, known)
	}
	if _, known := c.Cost("sim", substrat.Usage{InputTokens: 1}); known {
		t.Error("the simulator has a price")
	}
	if c.Model("fast") != "gpt-5-mini" || c.Model("slow") != "slow" || c.Account("cursor") != "work" || c.Account("sim") != "sim" {
		t.Error("models or accounts")
	}
	t.Setenv("GITHUB_TOKEN", "value of it")
	value := func(s secret.Source) string { v, _ := s.Value(t.Context()); return v.Reveal() }
	servers := c.ServersFor("lead/x", "worker")
	if len(servers) != 1 || value(servers[0].Env["TOKEN"]) != "value of it" || value(servers[0].Env["MODE"]) != "ro" || servers[0].Tools != 12 {
		t.Errorf("servers: %+v", servers)
	}
	t.Setenv("TOKEN", "t")
	remote := parse(t, "[mcp.x]\nurl = 'https://a/mcp'\nheaders = { A = '$TOKEN', B = 'Bearer $TOKEN', C = 'Bearer x', D = 'Basic x' }")
	servers = remote.ServersFor("a", "worker")
	for name, want := range map[string]string{"A": "t", "B": "Bearer t", "C": "Bearer x", "D": "Basic x"} {
		if h := servers[0].Headers[name]; servers[0].URL != "https://a/mcp" || h.Scheme+value(h.Source) != want {
			t.Errorf("header %s is %s", name, h.Scheme+value(h.Source))
		}
	}
	if keys := parse(t, "[mcp.x]\nurl = 'https://a'\nheaders = { X-Api-Key = 'k' }").Keys(); len(keys) != 1 || keys[0].Name != "mcp.x X-Api-Key" || !keys[0].Open {
		t.Errorf("keys: %+v", keys)
	}
	if c.ServersFor("lead", "manager") != nil {
		t.Error("a manager has the worker's server")
	}
}

func TestPolicy(t *testing.T) {
	c := parse(t, full)
	for _, x := range []struct {
		call Call
		want string
	}{
		{Call{Role: "worker", Agent: "lead", Tool: "terminate_agent"}, "allow"},
		{Call{Role: "worker", Agent: "lead/a", Tool: "terminate_agent"}, "deny"},
		{Call{Role: "manager", Agent: "lead/a", Tool: "terminate_agent"}, "allow"},
		{Call{Role: "worker", Agent: "lead/a", Tool: "Bash", Command: "git push origin"}, "ask"},
		{Call{Role: "worker", Agent: "lead/a", Tool: "Bash", Command: "git pull"}, "allow"},
		{Call{Role: "worker", Agent: "lead/a", Tool: "poke"}, "allow"},
	} {
		if got, _, _ := c.Decide(x.call); got != x.want {
			t.Errorf("%+v: %s, want %s", x.call, got, x.want)
		}
	}
	if _, rule, reason := c.Decide(Call{Role: "worker", Agent: "x", Tool: "terminate_agent"}); rule != "policy 2 of substrat.toml" || reason != "workers end nobody" {
		t.Errorf("%s, %s", rule, reason)
	}
}

// TestAskFirst: a CLI has to ask when a policy may have something against what it does by itself.
func TestAskFirst(t *testing.T) {
	own := []string{"terminate_agent", "spawn_agent"}
	for text, want := range map[string]bool{
		"": false,
		"effect = 'deny'\ntool = ['terminate_*']":                                               false,
		"effect = 'deny'\ntool = ['terminate_*', 'Bash']":                                       true,
		"effect = 'deny'\ntool = ['*']":                                                         true,
		"effect = 'ask'":                                                                        true,
		"effect = 'ask'\ncommand = 'git push*'":                                                 true,
		"effect = 'deny'\npath = '/etc/**'":                                                     true,
		"effect = 'deny'\npath = '/etc/**'\nrole = ['reviewer']":                                false,
		"effect = 'deny'\npath = '/etc/**'\nagent = 'other'":                                    false,
		"effect = 'allow'\n[[policy]]\neffect = 'deny'\ncommand = 'git push*'":                  false,
		"effect = 'allow'\ntool = ['Read']\n[[policy]]\neffect = 'deny'\ncommand = 'git push*'": true,
	} {
		if text != "" {
			text = "[[policy]]\n" + text
		}
		if got := parse(t, text).AskFirst("lead/a", "worker", own); got != want {
			t.Errorf("%s\nis %v", text, got)
		}
	}
}

func TestHold(t *testing.T) {
	c := parse(t, full)
	if c.Hold("lead/a", "lead", "notification", "the Password is x") == "" {
		t.Error("it is not held")
	}
	for _, x := range [][4]string{
		{"lead/a/b", "lead", "notification", "password"}, {"lead/a", "lead/b", "notification", "password"},
		{"lead/a", "lead", "request", "password"}, {"lead/a", "lead", "notification", "hello"},
	} {
		if rule := c.Hold(x[0], x[1], x[2], x[3]); rule != "" {
			t.Errorf("%v is held by %s", x, rule)
		}
	}
}

// TestMistakes: every mistake names its line and what would be right.
func TestMistakes(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"[slots]\ntotl = 8", `substrat.toml:2: the key "slots.totl" is not known; did you mean "total"?`},
		{"[slots]\ntotal = \"many\"", "substrat.toml:2:"},
		{"[slots]\ntotal = -1", "substrat.toml:2: total must not be below 0"},
		{"[slots]\ntotal = 1\n[slots.providers]\ncursor = 0", "substrat.toml:4: a provider has 1 slot"},
		{"[limits]\nreply_deadline = \"soon\"", `substrat.toml:2: limits.reply_deadline: "soon" is no length of time`},
		{"[memory]\nfree_least = \"lots\"", `"lots" is no number of bytes`},
		{"[[policy]]\neffect = \"allow\"\n[[policy]]\n# hm\neffect = \"perhaps\"", `substrat.toml:5: a policy's effect is allow, deny or ask, not "perhaps"`},
		{"[[policy]]\neffect = \"deny\"\nagent = \"/lead\"", "is no pattern of agents"},
		{"[[gate]]\ntext = \"(\"", "substrat.toml:2: text is no regular expression"},
		{"[[gate]]\nkind = [\"shout\"]", `not "shout"`},
		{"[[budget]]\nagent = \"**\"", "a budget bounds at least one of"},
		{"[[budget]]\nturns = 1\nscope = \"world\"", "substrat.toml:3: a budget's scope"},
		{"[api]\nlisten = \":7777\"", "substrat.toml:2: \":7777\" is no address with a port"},
		{"[api]\nlisten = \"localhost\"", "is no address with a port"},
		{"[api]\nhosts = [\"http://box\"]", "substrat.toml:2: \"http://box\" is no host name"},
		{"[api]\nhosts = [\"*.example\"]", "there are no patterns"},
		{"[api]\ntls_cert = \"/c\"", "tls_cert and tls_key go together"},
		{"[api]\ntls_cert = \"c\"\ntls_key = \"/k\"", "tls_cert must be an absolute path"},
		{"[mcp.x]\ntools = 1", "the MCP server x has no command and no url"},
		{"[mcp.x]\ncommand = ['a']\nurl = 'https://a/mcp'", "substrat.toml:3: the MCP server x has a command or a url: not both"},
		{"[mcp.x]\nurl = 'ftp://a'", "no address like https://"},
		{"[mcp.x]\nurl = 'https:///mcp'", "no address like https://"},
		{"[mcp.x]\nurl = 'https://me:secret@a/mcp'", "put it into headers"},
		{"[mcp.x]\nurl = 'https://a'\nenv = {A = 'b'}", "substrat.toml:3: the MCP server x is no program"},
		{"[mcp.x]\ncommand = ['a']\nheaders = {A = 'b'}", "substrat.toml:3: headers go with the url"},
		{"[mcp.x]\nurl = 'https://a'\nheaders = {'A b' = 'b'}", "is no header"},
		{"[mcp.x]\nurl = 'https://a'\nheaders = {A = \"b\\nC: d\"}", "no value of a header"},
		{"a = 1\nb = 2", "substrat.toml:2: the key \"b\""},
		{"[slots\n", "substrat.toml:1:"},
	} {
		_, err := Parse("substrat.toml", []byte(x.text))
		if err == nil || substrat.CodeOf(err) != substrat.CodeInvalid || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.text, err, x.want)
		}
	}
}

func TestMissingFile(t *testing.T) {
	c, err := Load(t.TempDir() + "/substrat.toml")
	if err != nil || c.Memory.FreeLeast != DefaultFreeLeast || c.Hold("a", "b", "request", "x") != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

// naive matches by trying everything.
func naive(pattern, names []string) bool {
	if len(pattern) == 0 {
		return len(names) == 0
	}
	if pattern[0] == "**" {
		return naive(pattern[1:], names) || len(names) > 0 && naive(pattern, names[1:])
	}
	return len(names) > 0 && naiveLike(pattern[0], names[0]) && naive(pattern[1:], names[1:])
}

func naiveLike(p, s string) bool {
	switch {
	case p == "":
		return s == ""
	case p[0] == '*':
		return naiveLike(p[1:], s) || s != "" && naiveLike(p, s[1:])
	default:
		return s != "" && p[0] == s[0] && naiveLike(p[1:], s[1:])
	}
}

func TestPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "*", "a", "b", "a*", "*b", "a*b*"}), 1, 5).Draw(t, "pattern")
		names := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,4}`), 1, 6).Draw(t, "names")
		got, want := Path(strings.Join(pattern, "/")).Match(strings.Join(names, "/")), naive(pattern, names)
		if got != want {
			t.Fatalf("%v against %v: %v", pattern, names, got)
		}
	})
}

// TestPatternCost: no pattern takes more than the product of the lengths.
func TestPatternCost(t *testing.T) {
	began := time.Now()
	if Text(strings.Repeat("a*", 250)+"b").Match(strings.Repeat("a", 100_000)) || Path(strings.Repeat("**/", 160)+"x").Match(strings.Repeat("a/", 500)+"y") {
		t.Error("they match")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("matching took %v", took)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("[slots]\ntotal = 99999999999999999999"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("substrat.toml", data)
		if err != nil {
			return
		}
		c.Decide(Call{Role: "worker", Agent: "lead/a", Tool: "poke"})
		c.Hold("a", "b/c", "request", "text")
		c.BudgetsFor("lead", "worker")
		c.Cost("cursor", substrat.Usage{InputTokens: 1})
		c.Limits.For("x")
	})
}
