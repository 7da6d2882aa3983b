// Package tool holds what agents may call: one file and one page of prose for each tool, and the MCP server they come in on.
//
// A tool validates, issues one command of the core or takes one look at the state, and answers. It never waits for
// another agent. Everything that can be wrong with a call is an answer that an agent can read and act on
// ({"error":{"code","message","hint"}}), never a protocol error.
//
// Who calls is decided by the socket the call came in on, by the sandbox that the process at its other end is in, and by the
// token of the turn it belongs to. An id in arguments is never believed; a relay that names another agent is refused. The package keeps nothing between calls: a repeated call is recognised by the core, under a key made
// of the turn, the relay and the JSON-RPC id.
package tool

import (
	"context"
	"encoding/json"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// Host carries out what the tools ask for. Its methods are safe for concurrent use.
type Host interface {
	// Do decides a command, makes it durable and gives its answer.
	Do(ctx context.Context, team string, m team.Meta, c team.Command) (json.RawMessage, error)
	// Look shows the durable state of a team.
	Look(ctx context.Context, team string, f func(*team.State) error) error
	// Message finds a message, also one that is final.
	Message(ctx context.Context, id string) (substrat.Message, error)
	// CheckProvider tells what network a provider's agents get, or that there is no such provider.
	CheckProvider(name string) (substrat.Network, error)
	// Admit decides whether a call may be made: whether it comes too fast, and what the policy says. A refusal is an error
	// for the agent; grant is the item by which a person allowed the call. A key that was answered before is let through.
	Admit(ctx context.Context, c Caller, key, tool string, args json.RawMessage) (grant string, err error)
	// PlaceWorkspace says where a new workspace of the caller's will be, and for a worktree of what and on which branch.
	PlaceWorkspace(ctx context.Context, c Caller, worktree bool, cmd *team.CreateWorkspace) error
	// Refused puts on record that somebody was refused at the caller's socket.
	Refused(ctx context.Context, c Caller, why string)
	// NewID makes an id.
	NewID() string
}

// Caller is the agent behind a connection.
type Caller struct {
	Team, Agent, Turn string
	// Token is the turn's secret, which the relay shows first. Empty for an operator.
	Token string
	// Operator marks a person who speaks as the agent over the control socket.
	Operator bool
	// Name is the agent's path, for logs.
	Name string
	// Sandboxes gives the pid namespaces of what runs of the caller, none while that is not known. A connection from
	// elsewhere is refused. It is nil where the caller has no sandbox.
	Sandboxes func() []uint64
	// Hide takes secrets out of the arguments of a call. Nil: there are none.
	Hide func(args []byte) []byte
	// Launch tells how one of the agent's further MCP servers is started, with its keys. Nil: it has none.
	Launch func(ctx context.Context, server string) (Launch, error)
}

// Launch is how a program is started. It is told over the agent's socket to the one who becomes that program, because no
// other way is open to it alone: a configuration file is kept, and everybody on the machine can read argv.
type Launch struct {
	Argv []string          `json:"argv"`
	Env  map[string]string `json:"env"`
}

// call is one call of a tool.
type call struct {
	host   Host
	caller Caller
	key    string
	// grant is the item by which a person allowed this call.
	grant string
}

// do issues a command as the caller.
func (c *call) do(ctx context.Context, cmd team.Command) (any, error) {
	meta := team.Meta{
		Key: c.key, Grant: c.grant, Actor: team.Actor{Agent: c.caller.Agent, Turn: c.caller.Turn, Operator: c.caller.Operator},
	}
	answer, err := c.host.Do(ctx, c.caller.Team, meta, cmd)
	return answer, err
}

// answered finds the answer that the same call was given before.
func (c *call) answered(ctx context.Context) (answer json.RawMessage, ok bool) {
	_ = c.host.Look(ctx, c.caller.Team, func(s *team.State) error {
		answer, ok = s.Answered(c.key)
		return nil
	})
	return answer, ok
}
