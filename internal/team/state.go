package team

import (
	"encoding/json"
	"time"

	"substrat.dev/substrat"
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

	// candidates are agents with mail and no open turn. Derived; rebuilt after a snapshot is loaded.
	candidates map[string]struct{}
	// open are the agents with an open turn. Derived.
	open map[string]struct{}
	// due are messages with a deadline. Derived.
	due map[string]struct{}
}

// Agent is one live node of the tree.
type Agent struct {
	ID           string               `json:"id"`
	Name         string               `json:"name"`
	Parent       string               `json:"parent,omitempty"`
	Children     []string             `json:"children,omitempty"`
	Provider     string               `json:"provider"`
	Role         substrat.Role        `json:"role"`
	Model        string               `json:"model,omitempty"`
	Instructions string               `json:"instructions,omitempty"`
	Dir          string               `json:"dir"`
	Sandbox      substrat.Sandbox     `json:"sandbox"`
	Network      substrat.Network     `json:"network"`
	Limits       *substrat.TurnLimits `json:"limits,omitempty"`
	Metadata     map[string]string    `json:"metadata,omitempty"`
	CreatedAt    time.Time            `json:"created_at"`

	// Session is the provider's conversation; SessionLost says that an earlier one could not be found.
	Session     string `json:"session,omitempty"`
	SessionLost bool   `json:"session_lost,omitempty"`
	// Queue holds ids of queued messages in order; Awaits those of requests it sent that are unanswered.
	Queue  []string `json:"queue,omitempty"`
	Awaits []string `json:"awaits,omitempty"`
	Turn   *Turn    `json:"turn,omitempty"`
	Turns  int      `json:"turns,omitempty"`
	// Attempts and Interrupts count turns in a row that failed, or were cut off, on the same mail.
	Attempts   int       `json:"attempts,omitempty"`
	Interrupts int       `json:"interrupts,omitempty"`
	RetryAt    time.Time `json:"retry_at,omitzero"`
	Failed     bool      `json:"failed,omitempty"`
	LastError  string    `json:"last_error,omitempty"`
	// Completing holds the result of an agent that called complete in its open turn.
	Completing *string `json:"completing,omitempty"`
	// StartAfter is the turn of the agent that spawned this one; it does not run before that turn has ended.
	StartAfter string  `json:"start_after,omitempty"`
	Recent     []Brief `json:"recent,omitempty"`
	Heard      []Heard `json:"heard,omitempty"`
}

// Turn is an open turn.
type Turn struct {
	ID        string    `json:"id"`
	Number    int       `json:"number"`
	StartedAt time.Time `json:"started_at"`
	// Prompted are the messages in its prompt; Taken those it took itself with check_inbox.
	Prompted []string `json:"prompted"`
	Taken    []string `json:"taken,omitempty"`
	// Retry says why the previous turn on this mail did not complete, empty on a first attempt.
	Retry string `json:"retry,omitempty"`
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
}

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
	s := &State{Team: team, Agents: map[string]*Agent{}, Messages: map[string]*Message{}, Broadcasts: map[string]*Broadcast{}}
	s.reindex()
	return s
}

// Encode gives the snapshot of a state.
func (s *State) Encode() ([]byte, error) { return json.Marshal(s) }

// Decode reads a snapshot.
func Decode(data []byte) (*State, error) {
	s := New("")
	if err := json.Unmarshal(data, s); err != nil || s.Agents == nil || s.Messages == nil || s.Broadcasts == nil {
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

// reindex rebuilds what is derived.
func (s *State) reindex() {
	s.candidates, s.open, s.due = map[string]struct{}{}, map[string]struct{}{}, map[string]struct{}{}
	for _, a := range s.Agents {
		s.touch(a)
	}
	for _, m := range s.Messages {
		if m.Deadline != nil {
			s.due[m.ID] = struct{}{}
		}
	}
}

// touch puts an agent where it belongs in the derived sets.
func (s *State) touch(a *Agent) {
	delete(s.candidates, a.ID)
	delete(s.open, a.ID)
	if s.Agents[a.ID] == nil {
		return
	}
	switch {
	case a.Turn != nil:
		s.open[a.ID] = struct{}{}
	case len(a.Queue) > 0:
		s.candidates[a.ID] = struct{}{}
	}
}
