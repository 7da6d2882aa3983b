package turnjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Config is a configuration in the shape of the adapter's own: models by their ids, and which is the default.
type Config struct {
	Default string
	Models  map[string]Model
	// Warnings name what was left out, for people.
	Warnings []string
}

// Model is one entry.
type Model struct {
	Options Options
	// Silence is how long it may print nothing: timeoutMs, which starts again with each line.
	Silence   time.Duration
	Profiles  []string
	Fallbacks []string
	Enabled   bool
}

// entry is a model as it is written. What is left out has the adapter's defaults.
type entry struct {
	Provider       string    `json:"provider"`
	Command        string    `json:"command"`
	Args           *[]string `json:"args"`
	PromptAsArg    bool      `json:"promptAsArg"`
	TimeoutMS      *int64    `json:"timeoutMs"`
	AuthProfiles   *[]string `json:"authProfiles"`
	FallbackModels []string  `json:"fallbackModels"`
	Enabled        *bool     `json:"enabled"`
}

// The provider of an entry that is a CLI of the contract, and the adapter's defaults.
const (
	contractProvider = "cursor-agent-cli"
	defaultCommand   = "cursor-agent"
	defaultTimeout   = 10 * time.Minute
)

// elsewhere are members of the adapter's file that are about other things than CLIs, ignored those of a model that are.
var (
	elsewhere = []string{"gateway", "session", "tools", "privacy", "providerModelResilience", "profiles", "memory", "heartbeat", "autonomyBudget", "contextCompression", "reliability", "skills", "channels", "metrics", "workspaces", "substrate"}
	ignored   = []string{"maxContextTokens", "truncationPriority", "summarizeOldTurns", "summarizeOldTurnsMaxTokens", "no_think", "paidApi", "toolTurnContext", "ollamaOptions"}
)

// ParseConfig reads a configuration. Models of other providers are left out with a warning, and so is what is not about
// CLIs; a name that means nothing is an error.
func ParseConfig(data []byte) (Config, error) {
	c := Config{Models: map[string]Model{}}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return c, substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration: %v", err).WithHint("it is one JSON object with \"models\"")
	}
	models := object(top["models"])
	if models == nil {
		return c, substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration: it has no \"models\"").WithHint(`as in {"models": {"auto": {"command": "agent"}}, "defaultModel": "auto"}`)
	}
	for _, key := range slices.Sorted(maps.Keys(top)) {
		switch {
		case key == "models":
		case key == "defaultModel":
			if c.Default = str(top[key]); c.Default == "" {
				return c, substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration: defaultModel is no name")
			}
		case slices.Contains(elsewhere, key):
			c.Warnings = append(c.Warnings, key+" is not about CLIs and is left out")
		default:
			return c, unknownMember(key, "the configuration", append([]string{"models", "defaultModel"}, elsewhere...))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(models)) {
		if err := c.add(id, models[id]); err != nil {
			return c, err
		}
	}
	if c.Default == "" && len(c.Models) == 1 {
		c.Default = slices.Sorted(maps.Keys(c.Models))[0]
	}
	if _, ok := c.Models[c.Default]; c.Default != "" && !ok {
		return c, substrat.Errorf(substrat.CodeInvalid, "cannot use the configuration: its defaultModel %q is none of its CLIs", c.Default).
			WithHint("it has %s", strings.Join(slices.Sorted(maps.Keys(c.Models)), ", "))
	}
	return c, nil
}

func unknownMember(key, where string, known []string) error {
	return substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration: %s has no member %q", where, key).
		WithHint("there are %s", strings.Join(known, ", "))
}

// members are those of an entry.
var members = []string{"provider", "command", "args", "promptAsArg", "timeoutMs", "authProfiles", "fallbackModels", "enabled"}

func (c *Config) add(id string, raw json.RawMessage) error {
	where := fmt.Sprintf("models.%s", id)
	fields := object(raw)
	if fields == nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration: %s is no object", where)
	}
	if p := str(fields["provider"]); p != "" && p != contractProvider {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s is of the provider %q, which is no CLI, and is left out", where, p))
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case slices.Contains(members, key):
		case slices.Contains(ignored, key):
			c.Warnings = append(c.Warnings, where+"."+key+" is the host's business and is left out")
		default:
			return unknownMember(key, where, members)
		}
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot read the configuration: %s: %v", where, err)
	}
	m := Model{Silence: defaultTimeout, Profiles: []string{"default"}, Fallbacks: e.FallbackModels, Enabled: e.Enabled == nil || *e.Enabled}
	m.Options = Options{Name: id, Command: e.Command, Args: []string{"auto", "--stream-json"}, PromptAsArg: e.PromptAsArg, Network: true}
	if m.Options.Command == "" {
		m.Options.Command = defaultCommand
	}
	if e.Args != nil {
		m.Options.Args = *e.Args
	}
	if e.TimeoutMS != nil {
		if *e.TimeoutMS <= 0 || *e.TimeoutMS > int64(24*time.Hour/time.Millisecond) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot use the configuration: %s.timeoutMs is %d; it is between 1 and a day", where, *e.TimeoutMS)
		}
		m.Silence = time.Duration(*e.TimeoutMS) * time.Millisecond
	}
	if e.AuthProfiles != nil {
		m.Profiles = *e.AuthProfiles
	}
	if len(m.Profiles) == 0 {
		return substrat.Errorf(substrat.CodeInvalid, "cannot use the configuration: %s has no authProfiles", where).WithHint(`leave it out for ["default"]`)
	}
	c.Models[id] = m
	return nil
}

// Plan gives the ways to do a turn with a model, the default for an empty name: the model, then its fallbacks, each with
// its profiles. Fallbacks of fallbacks do not count. What is disabled or not there is passed over.
func (c Config) Plan(id string) (agentcli.Plan, error) {
	if id == "" {
		id = c.Default
	}
	chosen, ok := c.Models[id]
	if !ok {
		return nil, substrat.Errorf(substrat.CodeNotFound, "there is no model %q in the configuration", id).
			WithHint("it has %s", strings.Join(slices.Sorted(maps.Keys(c.Models)), ", "))
	}
	var plan agentcli.Plan
	var seen []string
	for _, name := range append([]string{id}, chosen.Fallbacks...) {
		m, ok := c.Models[name]
		if !ok || !m.Enabled || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		for _, p := range m.Profiles {
			plan = append(plan, agentcli.Attempt{Model: name, Profile: agentcli.Profile{Name: p}})
		}
	}
	if len(plan) == 0 {
		return nil, substrat.Errorf(substrat.CodeUnavailable, "cannot use the model %q: it is disabled, and so is every fallback of it", id)
	}
	return plan, nil
}
