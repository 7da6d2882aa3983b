package codex

import (
	"context"

	"substrat.dev/substrat/agentcli"
)

// Sessions implements agentcli.Historian.
func (p *Provider) Sessions(ctx context.Context, o agentcli.HistoryOptions) ([]agentcli.StoredSession, error) {
	return History{}.Sessions(ctx, o)
}

// Load implements agentcli.Historian.
func (p *Provider) Load(ctx context.Context, o agentcli.HistoryOptions, id string, yield func(agentcli.Message) error) (agentcli.StoredSession, error) {
	return History{}.Load(ctx, o, id, yield)
}

// Import implements agentcli.Importer.
func (p *Provider) Import(ctx context.Context, from agentcli.StoredSession, dir string) ([]agentcli.File, error) {
	return History{}.Import(ctx, from, dir)
}
