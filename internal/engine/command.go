package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// CreateAgent adds an agent for a person. It starts no process.
func (e *Engine) CreateAgent(ctx context.Context, n substrat.NewAgent) (substrat.Agent, error) {
	id := e.NewID()
	c := team.Create{
		ID: id, Name: n.Name, Provider: n.Provider, Role: n.Role, Model: n.Model, Instructions: n.Instructions, Dir: n.Dir,
		Sandbox: n.Sandbox, Limits: n.Limits, Metadata: n.Metadata, Command: n.Command, Gated: n.Gated, Budgets: n.Budgets,
	}
	r := &request{team: id, cmd: &c, root: n.Name}
	if n.Parent != "" {
		teamID, parent, err := e.resolve(n.Parent)
		if err != nil {
			return substrat.Agent{}, err
		}
		r.team, r.root, c.Parent = teamID, "", parent
	}
	if err := e.fillNew(n, &c, id); err != nil {
		return substrat.Agent{}, err
	}
	if err := e.houseNew(ctx, n, r.team, &c); err != nil {
		return substrat.Agent{}, err
	}
	if err := e.adopt(ctx, n, &c); err != nil {
		return substrat.Agent{}, err
	}
	r.cmd = c
	if _, err := e.submit(ctx, r); err != nil {
		return substrat.Agent{}, err
	}
	return e.Agent(ctx, id)
}

// fillNew checks what a person gave and fills in a root's defaults.
func (e *Engine) fillNew(n substrat.NewAgent, c *team.Create, id string) (err error) {
	if c.Provider == "" && c.Parent == "" {
		c.Provider = DefaultProvider
	}
	if c.Provider != "" {
		network, err := e.checkProgram(c.Provider, c.Command)
		if err != nil {
			return err
		}
		c.Network = network
	}
	switch n.Network {
	case "":
		path := c.Name
		if c.Parent != "" {
			path = n.Parent + "/" + c.Name
		}
		if w := e.cfg.Rules.Walls(path, c.Role, c.Provider); w.Network != "" {
			c.Network = w.Network
		}
	case substrat.NetworkNone, substrat.NetworkDoor, substrat.NetworkHost:
		c.Network = n.Network
	default:
		return substrat.Errorf(substrat.CodeInvalid, "cannot use network %.40q", n.Network).WithHint("none, door or host")
	}
	switch c.Sandbox {
	case substrat.Bubblewrap, substrat.Landlock, substrat.NoSandbox:
	case "":
		if c.Parent == "" {
			c.Sandbox = substrat.Bubblewrap
		}
	default:
		return substrat.Errorf(substrat.CodeInvalid, "cannot use sandbox %.40q", c.Sandbox).WithHint("bwrap, landlock or none")
	}
	if c.Sandbox == substrat.NoSandbox {
		if n.Network != "" && n.Network != substrat.NetworkHost {
			return substrat.Errorf(substrat.CodeInvalid, "cannot give network %s to an agent without a sandbox: it has the host's", n.Network)
		}
		c.Network = substrat.NetworkHost
	}
	if c.Dir == "" {
		if c.Parent == "" {
			c.Dir = filepath.Join(e.cfg.Home, "agents", id, "work")
		}
		return nil
	}
	c.Dir, err = checkDir(c.Dir)
	return err
}

// checkDir refuses a workspace that is not there, and gives the path without the links that a person has in it: one that shows up in
// it later is not theirs.
func checkDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || strings.ContainsAny(dir, "\x00\n\r") {
		return "", substrat.Errorf(substrat.CodeInvalid, "cannot use %q as a workspace: not an absolute, clean path", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var st os.FileInfo
		if st, err = os.Stat(real); err == nil && st.IsDir() {
			return real, nil
		}
	}
	return "", substrat.Errorf(substrat.CodeInvalid, "cannot use %s as a workspace: no such directory", dir)
}

// DefaultProvider is what a root agent runs when nobody says otherwise: the built-in simulator, which needs no account.
const DefaultProvider = "sim"

// Send delivers a person's message.
func (e *Engine) Send(ctx context.Context, ref, text string) (substrat.Sent, error) {
	teamID, id, err := e.resolve(ref)
	if err != nil {
		return substrat.Sent{}, err
	}
	answer, err := e.Do(ctx, teamID, team.Meta{}, team.Send{ID: e.NewID(), To: id, Text: text})
	if err != nil {
		return substrat.Sent{}, err
	}
	var sent substrat.Sent
	return sent, json.Unmarshal(answer, &sent)
}

// StopTurn asks to cancel an agent's open turn, and shows it.
func (e *Engine) StopTurn(ctx context.Context, ref string) (substrat.Turn, error) {
	teamID, id, err := e.resolve(ref)
	if err != nil {
		return substrat.Turn{}, err
	}
	answer, err := e.Do(ctx, teamID, team.Meta{}, team.Cancel{Agent: id})
	if err != nil {
		return substrat.Turn{}, err
	}
	var cancelling struct{ Turn string }
	if err := json.Unmarshal(answer, &cancelling); err != nil {
		return substrat.Turn{}, substrat.Errorf(substrat.CodeInternal, "cannot read an answer: %v", err)
	}
	return e.Turn(ctx, cancelling.Turn)
}

// Terminate ends an agent and everything under it.
func (e *Engine) Terminate(ctx context.Context, ref, reason string) error {
	teamID, id, err := e.resolve(ref)
	if err != nil {
		return err
	}
	_, err = e.Do(ctx, teamID, team.Meta{}, team.Terminate{Agent: id, Reason: reason})
	return err
}
