package providers

import (
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Historian is one that can be named.
type Historian struct {
	Name string
	agentcli.Historian
}

// Historians gives those whose CLIs keep conversations, or the one that is called so. The simulator keeps its chats where
// Cursor's CLI does, and is given only when it is asked for.
func Historians(all []agentcli.Provider, name string) ([]Historian, error) {
	var out []Historian
	var names []string
	for _, p := range all {
		h, ok := p.(agentcli.Historian)
		if !ok {
			continue
		}
		known := p.Info().Name
		names = append(names, known)
		if name == known || name == "" && known != "sim" {
			out = append(out, Historian{known, h})
		}
	}
	if len(out) == 0 {
		slices.Sort(names)
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read sessions of %.80q", name).WithHint("there are %s", strings.Join(names, ", "))
	}
	slices.SortFunc(out, func(a, b Historian) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
