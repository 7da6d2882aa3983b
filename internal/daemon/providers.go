package daemon

import (
	"os"

	"substrat.dev/substrat/agentcli"
	known "substrat.dev/substrat/internal/providers"
)

// providers are the agent CLIs this daemon can run. The simulator is our own binary under the name it answers to; the
// search path of a turn leads there first.
func providers() []agentcli.Provider { return known.All(os.Getenv, "cursor-agent") }
