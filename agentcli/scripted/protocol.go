package scripted

import (
	"encoding/json"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// Protocol is the version of the lines. A program that does not know it says so with a fail.
const Protocol = 1

// idMost bounds the id of a call: it becomes part of a key in the journal.
const idMost = 100

// The types of lines to the program.
const (
	typeHello   = "hello"
	typeHistory = "history"
	typeTurn    = "turn"
	typeResult  = "result"
	typeCancel  = "cancel"
)

// The types of lines from the program.
const (
	typeCall = "call"
	typeText = "text"
	typeDone = "done"
	typeFail = "fail"
	typeLog  = "log"
)

// typeRestart stands in a transcript, written by the host: another process goes on with the turn from here.
const typeRestart = "restart"

// line is one line from the program, or one of a transcript, where the host's stand too.
type line struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id"`
	Turn    string          `json:"turn"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Value   json.RawMessage `json:"value"`
	Text    string          `json:"text"`
	Message string          `json:"message"`
	Void    bool            `json:"void"`
	State   json.RawMessage `json:"state"`
	Result  json.RawMessage `json:"result"`
	Error   *substrat.Error `json:"error"`
}

// id gives a line's id as text: programs may number their calls.
func (l line) id() string {
	var text string
	if json.Unmarshal(l.ID, &text) == nil {
		return text
	}
	var n json.Number
	if json.Unmarshal(l.ID, &n) == nil {
		return n.String()
	}
	return ""
}

// about is what a program is told of its agent.
type about struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Path         string            `json:"path"`
	Parent       string            `json:"parent,omitempty"`
	Role         substrat.Role     `json:"role,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
}

// hello is the first line that a process gets.
type hello struct {
	Type     string          `json:"type"`
	Protocol int             `json:"protocol"`
	Agent    about           `json:"agent"`
	State    json.RawMessage `json:"state,omitempty"`
}

// history is one past turn.
type history struct {
	Type string `json:"type"`
	agentcli.PastTurn
}

// turnLine is the turn to do now.
type turnLine struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Number   int             `json:"number"`
	Prompt   string          `json:"prompt"`
	Retry    string          `json:"retry,omitempty"`
	Messages []agentcli.Mail `json:"messages"`
	Calls    []agentcli.Call `json:"calls"`
}

// resultLine answers a call.
type resultLine struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *substrat.Error `json:"error,omitempty"`
}

// encode makes a line. What is encoded came as JSON or is made of strings and numbers.
func encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot encode a line for the program: %v", err)
	}
	return data, nil
}
