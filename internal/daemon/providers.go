package daemon

import (
	"os"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/cursor"
	"substrat.dev/substrat/agentcli/scripted"
)

// providers are the agent CLIs this daemon can run.
func providers() []agentcli.Provider {
	return []agentcli.Provider{
		// The simulator is our own binary under the name it answers to; the search path of a turn leads there first.
		cursor.New(cursor.Options{Name: "sim", Command: []string{"cursor-agent"}}),
		scripted.New(),
		cursor.New(cursor.Options{Name: "cursor", Network: true, Env: cursor.HostEnv(os.Getenv)}),
	}
}
