package team

import (
	"encoding/json"
	"time"

	"substrat.dev/substrat"
)

// Fact is one thing that happened to a team: the typed form of a journal event. Facts say what became of things, never
// how it was decided, so that folding needs no rules and no limits.
type Fact interface {
	// Type is the event type in the journal. It never changes once released.
	Type() string
	// fold changes the state. It trusts the fact; what it cannot make sense of is an error, never a panic.
	fold(f *folding) error
}

// folding is the fold of one fact: the state, when it happened, and what leaves the hot state by it.
type folding struct {
	*State
	at      time.Time
	retired []Retired
}

// Retired is a record that left the hot state: a final message, an ended turn or agent, a closed item. Exactly one field
// is set.
type Retired struct {
	Message *substrat.Message
	Turn    *substrat.Turn
	Agent   *substrat.Agent
	Item    *substrat.Item
}

// facts makes an empty fact for each event type.
var facts = map[string]func() Fact{
	"agent.created":     func() Fact { return &AgentCreated{} },
	"agent.completing":  func() Fact { return &AgentCompleting{} },
	"agent.terminated":  func() Fact { return &AgentTerminated{} },
	"message.sent":      func() Fact { return &MessageSent{} },
	"message.expired":   func() Fact { return &MessageExpired{} },
	"inbox.taken":       func() Fact { return &InboxTaken{} },
	"turn.started":      func() Fact { return &TurnStarted{} },
	"turn.cancel_asked": func() Fact { return &TurnCancelled{} },
	"turn.ended":        func() Fact { return &TurnEnded{} },
	"session.bound":     func() Fact { return &SessionBound{} },
	"broadcast.closed":  func() Fact { return &BroadcastClosed{} },

	"message.released":   func() Fact { return &MessageReleased{} },
	"message.rejected":   func() Fact { return &MessageRejected{} },
	"item.opened":        func() Fact { return &ItemOpened{} },
	"item.closed":        func() Fact { return &ItemClosed{} },
	"permission.granted": func() Fact { return &PermissionGranted{} },
	"permission.used":    func() Fact { return &GrantUsed{} },
	"agent.gated":        func() Fact { return &AgentGated{} },
	"turn.permitted":     func() Fact { return &TurnPermitted{} },
	"agent.poked":        func() Fact { return &AgentPoked{} },
	"agent.annotated":    func() Fact { return &AgentAnnotated{} },
	"agent.changed":      func() Fact { return &AgentChanged{} },
	"subscription.made":  func() Fact { return &SubscriptionMade{} },
	"subscription.ended": func() Fact { return &SubscriptionEnded{} },
	"subscription.fired": func() Fact { return &SubscriptionFired{} },
	"reminder.set":       func() Fact { return &ReminderSet{} },
	"reminder.fired":     func() Fact { return &ReminderFired{} },
	"reminder.cancelled": func() Fact { return &ReminderCancelled{} },
	"budget.set":         func() Fact { return &BudgetsSet{} },
	"budget.noted":       func() Fact { return &BudgetNoted{} },
	"budget.extended":    func() Fact { return &BudgetExtended{} },
	"account.released":   func() Fact { return &AccountReleased{} },
	"cycle.found":        func() Fact { return &CycleFound{} },
	"workspace.created":  func() Fact { return &WorkspaceCreated{} },
	"workspace.deleted":  func() Fact { return &WorkspaceDeleted{} },
	"workspace.linked":   func() Fact { return &DirLinked{} },
	"workspace.unlinked": func() Fact { return &DirUnlinked{} },
	"workspace.env_set":  func() Fact { return &WorkspaceEnvSet{} },
	"workspace.overlap":  func() Fact { return &OverlapFound{} },
	"chain.stopped":      func() Fact { return &ChainStopped{} },
	"net.attempt":        func() Fact { return &HostReached{} },
	"net.allowed":        func() Fact { return &HostAllowed{} },
	"permission.kept":    func() Fact { return &ContentApproved{} },
	"access.refused":     func() Fact { return &AccessRefused{} },
	"sandbox.partial":    func() Fact { return &WallsNoted{} },
	"workspace.flagged":  func() Fact { return &FilesFlagged{} },
}

// AgentCreated means: a node was added to the tree.
type AgentCreated struct {
	Agent Agent  `json:"agent"`
	Path  string `json:"path"`
	// By is the agent that spawned it, empty if a person created it.
	By string `json:"by,omitempty"`
}

// AgentCompleting means: an agent called complete and ends with its open turn.
type AgentCompleting struct {
	Agent  string `json:"agent"`
	Result string `json:"result"`
}

// AgentTerminated means: agents ended, children before parents. Their open turns are cancelled with them.
type AgentTerminated struct {
	Agents []string `json:"agents"`
	Reason string   `json:"reason"`
}

// MessageSent means: a message entered a mailbox or the user's inbox, or is held. One with ReplyTo answers that message.
type MessageSent struct {
	Message Message `json:"message"`
	// Held says that a rule keeps it for a person; the item is opened before.
	Held bool `json:"held,omitempty"`
}

// MessageExpired means: a request's deadline passed.
type MessageExpired struct {
	ID     string `json:"id"`
	Detail string `json:"detail"`
}

// InboxTaken means: an agent took queued messages into its open turn.
type InboxTaken struct {
	Agent    string   `json:"agent"`
	Turn     string   `json:"turn"`
	Messages []string `json:"messages"`
}

// TurnStarted means: an agent was given a slot and the mail that is its prompt.
type TurnStarted struct {
	Turn     string   `json:"turn"`
	Agent    string   `json:"agent"`
	Number   int      `json:"number"`
	Messages []string `json:"messages"`
	Retry    string   `json:"retry,omitempty"`
}

// TurnCancelled means: somebody asked to end the open turn. The outcome follows with TurnEnded.
type TurnCancelled struct {
	Turn  string `json:"turn"`
	Agent string `json:"agent"`
	By    string `json:"by"`
}

// TurnEnded means: the one outcome of a turn, and what became of the mail that was in it.
type TurnEnded struct {
	Turn      string                `json:"turn"`
	Agent     string                `json:"agent"`
	Outcome   substrat.Outcome      `json:"outcome"`
	Class     substrat.FailureClass `json:"class,omitempty"`
	Detail    string                `json:"detail,omitempty"`
	Text      string                `json:"text,omitempty"`
	Usage     *substrat.Usage       `json:"usage,omitempty"`
	ToolCalls int                   `json:"tool_calls,omitempty"`
	Files     []string              `json:"files,omitempty"`
	Handled   []string              `json:"handled,omitempty"`
	Requeued  []string              `json:"requeued,omitempty"`
	Dead      []string              `json:"dead,omitempty"`
	RetryAt   time.Time             `json:"retry_at,omitzero"`
	// Spared says that the failure was not the mail's: its attempts are not counted.
	Spared bool `json:"spared,omitempty"`
	// Account is the provider's account it ran on, ResetAt when the provider said that it goes on.
	Account string    `json:"account,omitempty"`
	ResetAt time.Time `json:"reset_at,omitzero"`
	// CostMicros is what the turn cost, if Priced.
	CostMicros int64 `json:"cost_micros,omitempty"`
	Priced     bool  `json:"priced,omitempty"`
	// LoseSession says that the provider no longer has the conversation: the next turn begins another.
	LoseSession bool `json:"lose_session,omitempty"`
	// Attempts and Interrupts are the agent's counters after this turn.
	Attempts   int `json:"attempts,omitempty"`
	Interrupts int `json:"interrupts,omitempty"`
}

// reason tells why the turn did not complete, as far as the provider and the engine said.
func (x *TurnEnded) reason() string {
	if x.Detail == "" {
		return string(x.Class)
	}
	return string(x.Class) + ": " + clip(x.Detail, keepBriefText)
}

// why says in words how the turn ended: "failed (agent_error: …)".
func (x *TurnEnded) why() string {
	how := string(x.Outcome)
	switch x.Outcome {
	case substrat.Cancelled:
		how = "was cancelled"
	case substrat.TimedOut:
		how = "timed out"
	case substrat.Interrupted:
		how = "was interrupted"
	}
	return how + " (" + x.reason() + ")"
}

// SessionBound means: the provider's conversation of an agent is known.
type SessionBound struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
}

// BroadcastClosed means: every request of a broadcast is settled. The summary to its sender follows as a message.
type BroadcastClosed struct {
	ID string `json:"id"`
}

// The event types.
func (*AgentCreated) Type() string    { return "agent.created" }
func (*AgentCompleting) Type() string { return "agent.completing" }
func (*AgentTerminated) Type() string { return "agent.terminated" }
func (*MessageSent) Type() string     { return "message.sent" }
func (*MessageExpired) Type() string  { return "message.expired" }
func (*InboxTaken) Type() string      { return "inbox.taken" }
func (*TurnStarted) Type() string     { return "turn.started" }
func (*TurnCancelled) Type() string   { return "turn.cancel_asked" }
func (*TurnEnded) Type() string       { return "turn.ended" }
func (*SessionBound) Type() string    { return "session.bound" }
func (*BroadcastClosed) Type() string { return "broadcast.closed" }

// Entry is a fact with its envelope, ready for the journal.
type Entry struct {
	Fact   Fact
	At     time.Time
	Actor  string
	Key    string
	Answer json.RawMessage
}

// Event encodes an entry as the team's event number seq.
func (e Entry) Event(team string, seq int64) (substrat.Event, error) {
	data, err := json.Marshal(e.Fact)
	if err != nil {
		return substrat.Event{}, substrat.Errorf(substrat.CodeInternal, "cannot encode %s: %v", e.Fact.Type(), err)
	}
	return substrat.Event{
		Team: team, TeamSeq: seq, Type: e.Fact.Type(), At: e.At, Actor: e.Actor, Data: data, Key: e.Key, Answer: e.Answer,
	}, nil
}

// ParseEvent reads an entry back from the journal. An event of an unknown type is refused with CodeVersion, one that
// cannot be read with CodeStorage.
func ParseEvent(ev substrat.Event) (Entry, error) {
	empty, ok := facts[ev.Type]
	if !ok {
		return Entry{}, substrat.Errorf(substrat.CodeVersion, "cannot read event %d: unknown type %q", ev.Seq, ev.Type).
			WithHint("the journal was written by a newer version")
	}
	f := empty()
	if err := json.Unmarshal(ev.Data, f); err != nil {
		return Entry{}, substrat.Errorf(substrat.CodeStorage, "cannot read event %d (%s): %v", ev.Seq, ev.Type, err)
	}
	return Entry{Fact: f, At: ev.At, Actor: ev.Actor, Key: ev.Key, Answer: ev.Answer}, nil
}
