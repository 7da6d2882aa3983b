package engine

import (
	"context"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/team"
)

// aside reads what an agent's next turn would be about, without one: for a person who looks at its sandbox or into it. Sock is the
// directory of the agent's socket where it is in a turn, else empty. Nothing is made yet.
func (e *Engine) aside(ctx context.Context, ref, name, dir string) (r *runner, a *attempt, sock string, err error) {
	teamID, agentID, err := e.resolve(ref)
	if err != nil {
		return nil, nil, "", err
	}
	r = &runner{e: e, team: teamID, agent: agentID, turn: name, dir: dir, aside: filepath.Join(dir, "sock")}
	a = &attempt{}
	var data standing
	inTurn := ""
	err = e.Look(ctx, teamID, func(s *team.State) error {
		agent := s.Agents[agentID]
		if agent == nil {
			return substrat.Errorf(substrat.CodeTerminated, "%s has ended", ref)
		}
		a.agent, a.path, a.living = *agent, s.Path(agentID), s.Living(agentID)
		data = standingOf(s, agent)
		view := s.View(agentID)
		a.request.Agent = &view
		a.live = &agentcli.LiveTurn{ID: name, Number: agent.Turns}
		if agent.Turn != nil {
			inTurn = agent.Turn.ID
		}
		return nil
	})
	if err != nil {
		return nil, nil, "", err
	}
	if a.agent.Sandbox == substrat.Landlock {
		return nil, nil, "", substrat.Errorf(substrat.CodeUnsupported, "%s is held by Landlock alone: there are no mounts to look at", a.path).
			WithHint("its workspace is %s; substrat doctor tells what Landlock leaves open", a.living.Dir())
	}
	if a.agent.Sandbox != substrat.Bubblewrap {
		return nil, nil, "", substrat.Errorf(substrat.CodeUnsupported, "%s has no sandbox: it runs with all of your rights", a.path).
			WithHint("look around in %s", a.living.Dir())
	}
	if a.provider = e.providers[a.agent.Provider]; a.provider == nil {
		return nil, nil, "", substrat.Errorf(substrat.CodeNotInstalled, "cannot tell the sandbox of %s: no provider %q", a.path, a.agent.Provider)
	}
	if a.instructions, err = e.instructions(data); err != nil {
		return nil, nil, "", err
	}
	if inTurn != "" {
		sock = (&runner{e: e, agent: agentID, dir: e.turnDir(inTurn)}).sockDir(a)
		if _, err := os.Stat(sock); err != nil {
			sock = "" // the turn begins or ends just now
		}
	}
	a.agent.Dir = a.living.Dir()
	a.walls = e.cfg.Rules.Walls(a.path, a.agent.Role, a.agent.Provider)
	a.prompt = "-"
	return r, a, sock, nil
}

// asideCommand is how the agent's CLI would be started, of which the files and what it has to see matter. Keys says whether its keys
// were fetched.
func (r *runner) asideCommand(a *attempt, keys bool) (agentcli.Command, error) {
	r.fillRequest(a)
	if a.provider.Info().MCP {
		for _, s := range r.e.cfg.Rules.Servers(a.path, a.agent.Role) {
			a.request.MCP = append(a.request.MCP, r.starter(a, s))
		}
	}
	if !keys {
		return a.provider.Command(a.request)
	}
	return r.command(a)
}
