// Package providers names the agent CLIs that this build can drive. It owns the list and nothing else: what a provider
// does is its package's, and what is done with it is the daemon's or the command line's.
package providers

import (
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/acp"
	"substrat.dev/substrat/agentcli/claude"
	"substrat.dev/substrat/agentcli/codex"
	"substrat.dev/substrat/agentcli/cursor"
	"substrat.dev/substrat/agentcli/gemini"
	"substrat.dev/substrat/agentcli/scripted"
	"substrat.dev/substrat/agentcli/turnjson"
)

// All gives them, the ones that need no account first. Getenv is where keys and endpoints come from. Simulator is the
// command that runs this binary under the name that makes it the simulator.
func All(getenv func(string) string, simulator string) []agentcli.Provider {
	all := []agentcli.Provider{
		cursor.New(cursor.Options{Name: "sim", Command: []string{simulator}}),
		scripted.New(),
		cursor.New(cursor.Options{Name: "cursor", Network: true, Env: cursor.HostEnv(getenv)}),
		claude.New(claude.Options{Env: claude.HostEnv(getenv)}),
		codex.New(codex.Options{Env: codex.HostEnv(getenv)}),
		gemini.New(gemini.Options{Env: gemini.HostEnv(getenv)}),
	}
	all = append(all, turnjson.New(turnjson.Options{Network: true}))
	for _, p := range acp.Presets(getenv) {
		all = append(all, p)
	}
	return all
}

// Find gives the one that is called so.
func Find(all []agentcli.Provider, name string) (agentcli.Provider, error) {
	names := make([]string, len(all))
	for i, p := range all {
		if names[i] = p.Info().Name; names[i] == name {
			return p, nil
		}
	}
	slices.Sort(names)
	return nil, substrat.Errorf(substrat.CodeInvalid, "there is no provider %.80q", name).WithHint("there are %s", strings.Join(names, ", "))
}
