package engine

import (
	"context"
	"encoding/json"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/tool"
)

// teamTools are the agents' tools for a CLI that calls them by the adapter contract instead of MCP. A call goes under a key of
// the turn's and its id: one that is repeated, as after a restart, is answered and not done again.
type teamTools struct {
	r *runner
	a *attempt
}

// Specs implements agentcli.ToolSet.
func (t teamTools) Specs() []agentcli.ToolSpec {
	out := make([]agentcli.ToolSpec, 0, len(tool.All))
	for i := range tool.All {
		x := &tool.All[i]
		schema, err := json.Marshal(x.Schema())
		if err != nil {
			continue
		}
		out = append(out, agentcli.ToolSpec{Name: x.Name, Description: x.Prose(), Schema: schema})
	}
	return out
}

// Call implements agentcli.ToolSet.
func (t teamTools) Call(ctx context.Context, c agentcli.Call) (agentcli.Call, error) {
	caller := tool.Caller{Team: t.r.team, Agent: t.r.agent, Turn: t.r.turn, Token: t.a.token, Name: t.a.path}
	result, err := tool.Call(ctx, t.r.e, caller, t.r.turn+"/contract/"+c.ID, c.Tool, c.Args)
	switch {
	case err != nil && ctx.Err() != nil:
		return c, err
	case err != nil:
		c.Error = toError(err)
	default:
		c.Result = result
	}
	return c, nil
}

// ownTools names the tools that Substrat gives every agent.
func ownTools() []string {
	names := make([]string, len(tool.All))
	for i := range tool.All {
		names[i] = tool.All[i].Name
	}
	return names
}
