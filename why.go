package substrat

import "time"

// ReasonKind is what an agent may wait for.
type ReasonKind string

// The things an agent may wait for.
const (
	WaitsNothing  ReasonKind = "nothing"  // no mail
	WaitsTurn     ReasonKind = "turn"     // its own open turn
	WaitsSlot     ReasonKind = "slot"     // all slots, or all of its pool, are taken
	WaitsMemory   ReasonKind = "memory"   // the machine is short of it
	WaitsGate     ReasonKind = "gate"     // its gate is down
	WaitsReply    ReasonKind = "reply"    // of the agent On
	WaitsQuestion ReasonKind = "question" // a person's answer; On is the item
	WaitsBackoff  ReasonKind = "backoff"  // the next attempt after a failure
	WaitsAccount  ReasonKind = "account"  // its provider's account On is on hold
	WaitsBudget   ReasonKind = "budget"   // a budget of the agent On is used up
	WaitsSpawner  ReasonKind = "spawner"  // the turn of its parent that made it
	WaitsDrain    ReasonKind = "drain"    // the daemon starts no more turns
)

// Reason is one thing an agent waits for.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	// Text says it in words.
	Text string `json:"text"`
	// On is whom or what it waits for.
	On    string     `json:"on,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// Why is what keeps an agent from running, most binding first.
type Why struct {
	Agent   Agent    `json:"agent"`
	Reasons []Reason `json:"reasons"`
	// Next is the mail that its next turn begins with, oldest first, at most ten.
	Next []Message `json:"next,omitempty"`
	// WaitedOnBy are the agents that wait for it.
	WaitedOnBy []string `json:"waited_on_by,omitempty"`
}

// Wait is one edge of the graph of who waits for whom.
type Wait struct {
	From string `json:"from"` // path
	To   string `json:"to"`   // path, or USER
	// On is the message or the item.
	On    string     `json:"on"`
	Kind  ReasonKind `json:"kind"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until,omitempty"`
}

// Graph is who waits for whom. Cycles are harmless, because a request wakes an agent that waits, but tell of agents that
// do not get on.
type Graph struct {
	Waits  []Wait     `json:"waits"`
	Cycles [][]string `json:"cycles,omitempty"`
}
