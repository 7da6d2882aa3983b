package agentcli

import (
	"context"
	"encoding/json"

	"substrat.dev/substrat"
)

// ToolSpec describes a tool of the host to a CLI that can be told of them.
type ToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of its arguments.
	Schema json.RawMessage `json:"schema"`
}

// ToolSet is the tools of the host for one turn.
type ToolSet interface {
	// Specs lists them, in an order that does not change.
	Specs() []ToolSpec
	// Call does a call and gives it with its answer. A tool that is not there and arguments that do not fit its schema are
	// answers too, Error, and nothing was done. An error means that there is no answer to give, because the turn is over.
	Call(ctx context.Context, c Call) (Call, error)
}

// InputCloser is a Conn that can close the process's stdin and go on with its output.
type InputCloser interface {
	CloseInput() error
}

// ChatMessage is one entry of a conversation, for a CLI that is given the conversation with each turn.
type ChatMessage struct {
	Role    string `json:"role"` // system, user, assistant or tool
	Content string `json:"content"`
	// Name and CallID say, of a message of a tool, which call it answers.
	Name   string `json:"name,omitempty"`
	CallID string `json:"callId,omitempty"`
}

// Next gives the request that goes on with the conversation: for a turn whose tools were answered when its process could no
// longer hear it, the one that tells it; ok is false for a turn that is complete. Hosts bound how often they go on.
func (r Result) Next(req Request) (next Request, ok bool) {
	if !r.FollowUp || r.Outcome != substrat.Completed {
		return req, false
	}
	req.Messages = r.Conversation(req)
	req.Prompt = ""
	if r.Session != "" {
		req.Session = r.Session
	}
	return req, true
}

// Conversation is what was said up to the end of a turn: what its request held, its prompt, and what came of it.
func (r Result) Conversation(req Request) []ChatMessage {
	out := append([]ChatMessage(nil), req.Messages...)
	if req.Prompt != "" {
		out = append(out, ChatMessage{Role: "user", Content: req.Prompt})
	}
	return append(out, r.Messages...)
}
