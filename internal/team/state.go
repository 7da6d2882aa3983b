package team

import (
	"encoding/json"
	"errors"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/schedule"
)

// State is one team. It holds what is alive: agents that have not ended and messages that are not final. Everything
// else left as a [Retired] record and lives in the journal.
type State struct {
	// Team is the root agent's id, Seq the number of events folded in.
	Team       string                `json:"team"`
	Seq        int64                 `json:"seq"`
	Agents     map[string]*Agent     `json:"agents"`
	Messages   map[string]*Message   `json:"messages,omitempty"`
	Broadcasts map[string]*Broadcast `json:"broadcasts,omitempty"`
	// Items are the open entries of the person's queue, Workspaces those that were not deleted, Streaks what was seen of
	// the providers' accounts, Spawns when agents were spawned by agents in the last minute.
	Items      map[string]*Item      `json:"items,omitempty"`
	Workspaces map[string]*Workspace `json:"workspaces,omitempty"`
	Streaks    []schedule.Streak     `json:"streaks,omitempty"`
	Spawns     []time.Time           `json:"spawns,omitempty"`

	index
}

// Agent is one live node of the tree.
type Agent struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Parent       string        `json:"parent,omitempty"`
	Children     []string      `json:"children,omitempty"`
	Provider     string        `json:"provider"`
	Role         substrat.Role `json:"role"`
	Model        string        `json:"model,omitempty"`
	Instructions string        `json:"instructions,omitempty"`
	// Dir is a host directory. Workspace is the id of the workspace it lives in instead, Subdir the part of that.
	Dir       string               `json:"dir"`
	Workspace string               `json:"workspace,omitempty"`
	Subdir    string               `json:"subdir,omitempty"`
	Command   []string             `json:"command,omitempty"`
	Sandbox   substrat.Sandbox     `json:"sandbox"`
	Network   substrat.Network     `json:"network"`
	Limits    *substrat.TurnLimits `json:"limits,omitempty"`
	Metadata  map[string]string    `json:"metadata,omitempty"`
	CreatedAt time.Time            `json:"created_at"`

	// Session is the provider's conversation; SessionLost says that an earlier one could not be found, and that no turn
	// has completed since.
	Session     string `json:"session,omitempty"`
	SessionLost bool   `json:"session_lost,omitempty"`
	// SessionPath is the file that the first conversation is copied from, for an agent that was given one.
	SessionPath string `json:"session_path,omitempty"`
	// Queue holds ids of queued messages in order; Awaits those of requests it sent that are unanswered.
	Queue  []string `json:"queue,omitempty"`
	Awaits []string `json:"awaits,omitempty"`
	Turn   *Turn    `json:"turn,omitempty"`
	Turns  int      `json:"turns,omitempty"`
	// Attempts and Interrupts count turns in a row that failed, or were cut off, and left mail to try again. They set the
	// pace; what is given up is decided message by message.
	Attempts   int       `json:"attempts,omitempty"`
	Interrupts int       `json:"interrupts,omitempty"`
	RetryAt    time.Time `json:"retry_at,omitzero"`
	Failed     bool      `json:"failed,omitempty"`
	LastError  string    `json:"last_error,omitempty"`
	// Gated says that the gate is down, Permitted that the next turn passes it.
	Gated     bool `json:"gated,omitempty"`
	Permitted bool `json:"permitted,omitempty"`
	// GivenUp is what a poke brings back, until the next turn.
	GivenUp []Lost `json:"given_up,omitempty"`
	// LastHops is the place of the last turn in its chain of messages.
	LastHops int `json:"last_hops,omitempty"`

	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	Reminders     []Reminder     `json:"reminders,omitempty"`
	// Grants are calls that a person allowed and that were not made yet.
	Grants []Grant `json:"grants,omitempty"`
	// Approved are contents, as sums, that a person approved for good.
	Approved []string `json:"approved,omitempty"`
	Budgets  []Budget `json:"budgets,omitempty"`
	// Own is what the agent used, Below the same with everything that is or was under it.
	Own   Meter `json:"own,omitzero"`
	Below Meter `json:"below,omitzero"`
	// Completing holds the result of an agent that called complete in its open turn.
	Completing *string `json:"completing,omitempty"`
	// StartAfter is the turn of the agent that spawned this one; it does not run before that turn has ended.
	StartAfter string  `json:"start_after,omitempty"`
	Recent     []Brief `json:"recent,omitempty"`
	Heard      []Heard `json:"heard,omitempty"`
	// Overlaps are files that others change too, as far as somebody was told.
	Overlaps []Overlap `json:"overlaps,omitempty"`
	// ChainTold is the turn of which the user was told that a chain of messages ended in it.
	ChainTold string `json:"chain_told,omitempty"`
	// Hosts are what a person let it reach beside what the configuration names; Reached is how far its attempts were noted.
	Hosts   []string `json:"hosts,omitempty"`
	Reached Reached  `json:"reached,omitzero"`
}

// Turn is an open turn.
type Turn struct {
	ID        string    `json:"id"`
	Number    int       `json:"number"`
	StartedAt time.Time `json:"started_at"`
	// Prompted are the messages in its prompt; Taken those it took itself with check_inbox.
	Prompted []string `json:"prompted"`
	Taken    []string `json:"taken,omitempty"`
	// Cause is the message with the most Hops among these: what the agent sends in this turn continues its chain, also
	// when the message itself is final meanwhile.
	Cause string `json:"cause,omitempty"`
	Hops  int    `json:"hops,omitempty"`
	// Retry says why the previous turn on this mail did not complete, empty on a first attempt.
	Retry string `json:"retry,omitempty"`
	// Permitted says that it was let through the gate, which nobody has touched since.
	Permitted bool `json:"permitted,omitempty"`
	// NewSession says that the conversation the agent had before was lost.
	NewSession bool `json:"new_session,omitempty"`
	// Cancel says who asked to end it.
	Cancel string `json:"cancel,omitempty"`
	// Answers are the tool calls done so far, by idempotency key.
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
}

// Message is a message that is not final, with the ids behind its paths. An empty id stands for USER or the system.
type Message struct {
	substrat.Message
	FromID string `json:"from_id,omitempty"`
	ToID   string `json:"to_id,omitempty"`
	// Seq is the number of the event that sent it. A mailbox is in this order, also after messages came back to it.
	Seq int64 `json:"seq,omitempty"`
	// Failures and Cuts count its turns that failed, and those that were cut off, so far.
	Failures int `json:"failures,omitempty"`
	Cuts     int `json:"cuts,omitempty"`
}

// expires reports whether time alone settles a message.
func (m *Message) expires() bool { return m.Kind == substrat.KindRequest && m.Deadline != nil }

// Broadcast follows the requests of one broadcast until the last one is settled.
type Broadcast struct {
	From     string   `json:"from"`
	Open     []string `json:"open"`
	Answered []string `json:"answered,omitempty"`
	Missing  []string `json:"missing,omitempty"`
}

// Brief is one past turn, for inspect_agent. Five are kept.
type Brief struct {
	Turn       string                `json:"turn"`
	Outcome    substrat.Outcome      `json:"outcome"`
	Class      substrat.FailureClass `json:"class,omitempty"`
	DurationMS int64                 `json:"duration_ms"`
	ToolCalls  int                   `json:"tool_calls"`
	Files      []string              `json:"files,omitempty"`
	Text       string                `json:"text,omitempty"`
}

// Heard is one message an agent got, for inspect_agent. Five are kept.
type Heard struct {
	From string               `json:"from"`
	Kind substrat.MessageKind `json:"kind"`
	Text string               `json:"text"`
	At   time.Time            `json:"at"`
}

// New returns the empty state that a team begins with.
func New(team string) *State {
	s := &State{
		Team: team, Agents: map[string]*Agent{}, Messages: map[string]*Message{}, Broadcasts: map[string]*Broadcast{},
		Items: map[string]*Item{}, Workspaces: map[string]*Workspace{},
	}
	s.reindex()
	return s
}

// Encode gives the snapshot of a state.
func (s *State) Encode() ([]byte, error) { return json.Marshal(s) }

// Decode reads a snapshot. One that is damaged or does not hold together is refused with CodeStorage.
func Decode(data []byte) (*State, error) {
	s := New("")
	err := json.Unmarshal(data, s)
	if err == nil && (s.Agents == nil || s.Messages == nil || s.Broadcasts == nil ||
		s.Items == nil || s.Workspaces == nil) {
		err = errors.New("a part of it is null")
	}
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeStorage, "cannot read the snapshot of a team: %v", err)
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	s.reindex()
	return s, nil
}

// Ended reports whether the root has been terminated.
func (s *State) Ended() bool { return s.Seq > 0 && len(s.Agents) == 0 }
