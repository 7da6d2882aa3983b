// Package tool holds what agents may call: one file and one page of prose for each tool, and the MCP server they come in on.
//
// A tool validates, issues one command of the core or takes one look at the state, and answers. It never waits for
// another agent. Everything that can be wrong with a call is an answer that an agent can read and act on
// ({"error":{"code","message","hint"}}), never a protocol error.
//
// Who calls is decided by the socket the call came in on and by the token of the turn it belongs to. An id in arguments
// is never believed. The package keeps nothing between calls: a repeated call is recognised by the core, under a key made
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
}

// call is one call of a tool.
type call struct {
	host   Host
	caller Caller
	key    string
}

// do issues a command as the caller.
func (c *call) do(ctx context.Context, cmd team.Command) (any, error) {
	meta := team.Meta{Key: c.key, Actor: team.Actor{Agent: c.caller.Agent, Turn: c.caller.Turn, Operator: c.caller.Operator}}
	answer, err := c.host.Do(ctx, c.caller.Team, meta, cmd)
	return answer, err
}
