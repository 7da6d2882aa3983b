package acp

import (
	"context"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// pagesMost bounds how many pages of a list are asked for.
const pagesMost = 100

// TellSessions implements agentcli.Teller by session/list.
func (p *Provider) TellSessions(ctx context.Context, conn agentcli.Conn, req agentcli.Request) ([]agentcli.StoredSession, error) {
	g := &greeter{link: &link{conn: conn}, p: p, req: req}
	if err := g.initialize(ctx); err != nil {
		return nil, err
	}
	if !present(g.init.Capabilities.Session.List) {
		return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot list the agent's sessions: it does not offer that")
	}
	out, cursor := []agentcli.StoredSession{}, ""
	for range pagesMost {
		params := map[string]string{}
		if req.Dir != "" {
			params["cwd"] = req.Dir
		}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var page struct {
			Sessions []struct {
				ID        string `json:"sessionId"`
				Cwd       string `json:"cwd"`
				Title     string `json:"title"`
				UpdatedAt string `json:"updatedAt"`
			} `json:"sessions"`
			Next string `json:"nextCursor"`
		}
		refusal, err := g.call(ctx, "list:"+cursor, "session/list", params, &page)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			return nil, failureOf("the agent does not list its sessions", refusal)
		}
		for _, s := range page.Sessions {
			at, _ := time.Parse(time.RFC3339, s.UpdatedAt)
			out = append(out, agentcli.StoredSession{Provider: p.opts.Name, ID: s.ID, Dir: s.Cwd, Title: clip(s.Title), UpdatedAt: at})
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	return out, nil
}
