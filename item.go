package substrat

import (
	"encoding/json"
	"time"
)

// ItemKind is what a person is needed for.
type ItemKind string

// The kinds of items in the person's queue, with the choices that answer them.
const (
	// ItemQuestion: an agent asked. Choices are its options; without options any text answers.
	ItemQuestion ItemKind = "question"
	// ItemPermission: an agent wants to do something that a rule leaves to a person. Choices: allow, deny.
	ItemPermission ItemKind = "permission"
	// ItemPlan: an agent shows a plan before it goes on. Choices: accept, reject.
	ItemPlan ItemKind = "plan"
	// ItemBudget: a budget is used up and what it bounds is paused. Choices: extend (the same amount again), leave.
	ItemBudget ItemKind = "budget"
	// ItemFailure: the root of a team failed for good. Choices: retry, dismiss.
	ItemFailure ItemKind = "failure"
	// ItemLogin: a provider's account needs a login. Choices: resume, dismiss.
	ItemLogin ItemKind = "login"
	// ItemMessage: a rule holds a message between agents. Choices: release (with a text: edited), reject.
	ItemMessage ItemKind = "message"
)

// ItemState is where an item is.
type ItemState string

// The states of items. All but open are final.
const (
	ItemOpen     ItemState = "open"
	ItemAnswered ItemState = "answered"
	// ItemExpired: its deadline passed; the default was taken, if it had one.
	ItemExpired ItemState = "expired"
	// ItemWithdrawn: it settled itself, or whoever asked has ended.
	ItemWithdrawn ItemState = "withdrawn"
)

// Item is one thing that needs a person.
type Item struct {
	ID    string    `json:"id"`
	Team  string    `json:"team"`
	Kind  ItemKind  `json:"kind"`
	State ItemState `json:"state"`
	// Agent is the path of the agent it is about, AgentID its id, Turn the turn in which it came up, if any.
	Agent   string `json:"agent"`
	AgentID string `json:"agent_id"`
	Turn    string `json:"turn,omitempty"`
	Text    string `json:"text"`
	// Options are the choices; Multiple allows several. Free says that a text may answer instead of, or beside, a choice.
	Options  []string `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
	Free     bool     `json:"free,omitempty"`
	// Tool and Input are what a permission is asked for, Message what is held.
	Tool    string          `json:"tool,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Message string          `json:"message,omitempty"`
	// Deadline is when Default is taken as the answer. Without a default the item expires and whoever asked is told.
	Deadline  *time.Time `json:"deadline,omitempty"`
	Default   string     `json:"default,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	// Answer is what was decided, By whom.
	Answer   *Answer    `json:"answer,omitempty"`
	By       string     `json:"by,omitempty"`
	ClosedAt *time.Time `json:"closed_at,omitempty"`
}

// Answer is a person's word on an item: choices among its options, a text, or both.
type Answer struct {
	Choices []string `json:"choices,omitempty"`
	Text    string   `json:"text,omitempty"`
}
