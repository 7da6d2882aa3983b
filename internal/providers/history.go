package providers

import (
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/claude"
	"substrat.dev/substrat/agentcli/codex"
	"substrat.dev/substrat/agentcli/gemini"
)

// Historian is one that can be named.
type Historian struct {
	Name string
	agentcli.Historian
}

// Historians gives those whose CLIs keep conversations, or the one that is called so. The simulator keeps its chats where
// Cursor's CLI does, and is given only when it is asked for.
func Historians(all []agentcli.Provider, name string) ([]Historian, error) {
	known := []Historian{{"claude", claude.History{}}, {"codex", codex.History{}}, {"gemini", gemini.History{}}}
	for _, p := range all {
		if h, ok := p.(agentcli.Historian); ok {
			known = slices.DeleteFunc(known, func(x Historian) bool { return x.Name == p.Info().Name })
			known = append(known, Historian{p.Info().Name, h})
		}
	}
	var out []Historian
	var names []string
	for _, h := range known {
		names = append(names, h.Name)
		if name == h.Name || name == "" && h.Name != "sim" {
			out = append(out, h)
		}
	}
	if len(out) == 0 {
		slices.Sort(names)
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read sessions of %.80q", name).WithHint("there are %s", strings.Join(names, ", "))
	}
	slices.SortFunc(out, func(a, b Historian) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
