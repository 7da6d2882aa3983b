package team

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Meta is what comes with every command: when, by whom, and the key under which a repeat is recognised.
// Commands that the daemon gives itself (Start, Bind, End, Expire, Settle) have the zero Actor; the journal names the
// system.
type Meta struct {
	At    time.Time
	Actor Actor
	// Key is "<turn>/<call>" for an agent's tool call, empty otherwise.
	Key string
	// Limits are those of the team as configured now.
	Limits Limits
	// Keep holds messages between agents for a person. It may be nil.
	Keep Gatekeeper
	// Budgets are those that an agent is created with beside its own. It may be nil.
	Budgets func(path string, role substrat.Role) []substrat.Budget
	// Grant is the item by which a person allowed this call; it is used up if the command is carried out.
	Grant string
}

// Actor is who asks: an agent in its open turn, an operator who speaks as an agent, or USER (the zero Actor).
type Actor struct {
	// Agent is the agent's id, empty for USER. Turn is its open turn; an operator has none.
	Agent, Turn string
	// Operator marks a person acting as the agent. The journal shows it.
	Operator bool
}

// Command is one request to a team.
type Command interface {
	decide(d *decision) (answer any, err error)
}

// decision collects the facts of one command. It reads the state and never changes it.
type decision struct {
	*State
	Meta
	facts []Fact
	// settled are the requests that a fact of this decision settles, and whether by a reply.
	settled map[string]bool
	// left counts, for the broadcasts this decision touches, the requests it leaves open.
	left map[string]int
}

// Decide answers a command with the entries to append and the answer for the caller, or refuses. The state is not
// changed; the caller applies the entries once they are durable. A key that was answered before gets the same answer
// and no entries.
func Decide(s *State, m Meta, c Command) ([]Entry, json.RawMessage, error) {
	if err := s.admit(m.Actor); err != nil {
		return nil, nil, err
	}
	if answer, done := s.answered(m.Key); done {
		return nil, answer, nil
	}
	// The journal keeps wall time in UTC: a state that was folded live must not differ from one that was read back.
	m.At = m.At.UTC().Round(0)
	d := &decision{State: s, Meta: m, settled: map[string]bool{}, left: map[string]int{}}
	result, err := c.decide(d)
	if err != nil {
		return nil, nil, err
	}
	if m.Grant != "" {
		d.add(&GrantUsed{Agent: m.Actor.Agent, Item: m.Grant})
	}
	answer, err := json.Marshal(result)
	if err != nil {
		return nil, nil, substrat.Errorf(substrat.CodeInternal, "cannot encode an answer: %v", err)
	}
	actor := s.actorName(m.Actor)
	switch c.(type) {
	case Start, Bind, End, Expire, Settle, Warn, NoteRefusal, NoteWalls:
		actor = substrat.System
	}
	entries := make([]Entry, len(d.facts))
	for i, f := range d.facts {
		entries[i] = Entry{Fact: f, At: m.At, Actor: actor}
	}
	if len(entries) > 0 && m.Key != "" {
		entries[0].Key, entries[0].Answer = m.Key, answer
	}
	return entries, answer, nil
}

// admit refuses a caller that is not who it was: an agent acts only within its open turn.
func (s *State) admit(a Actor) error {
	if a.Agent == "" {
		return nil
	}
	agent := s.Agents[a.Agent]
	if agent == nil {
		return substrat.Errorf(substrat.CodeTerminated, "the agent has ended")
	}
	if !a.Operator && (agent.Turn == nil || agent.Turn.ID != a.Turn) {
		return substrat.Errorf(substrat.CodeForbidden, "the turn this call belongs to is over")
	}
	return nil
}

// caller is the agent that a command is from, for commands that only an agent can give.
func (d *decision) caller() (*Agent, error) {
	if a := d.Agents[d.Actor.Agent]; a != nil {
		return a, nil
	}
	return nil, substrat.Errorf(substrat.CodeForbidden, "only an agent can ask for this")
}

// Answered finds the answer that was given under a key, among the open turns. The caller must not change it.
func (s *State) Answered(key string) (json.RawMessage, bool) { return s.answered(key) }

// answered looks a key up among the open turns.
func (s *State) answered(key string) (json.RawMessage, bool) {
	if key == "" {
		return nil, false
	}
	turn, call := splitKey(key)
	if t := s.openTurn(turn); t != nil {
		answer, ok := t.Answers[call]
		return answer, ok
	}
	return nil, false
}

// openTurn finds an open turn by its id. There are no more of them than slots.
func (s *State) openTurn(id string) *Turn {
	for agent := range s.open {
		if t := s.Agents[agent].Turn; t.ID == id {
			return t
		}
	}
	return nil
}

func splitKey(key string) (turn, call string) {
	turn, call, _ = strings.Cut(key, "/")
	return turn, call
}

// actorName is how the journal names who asked.
func (s *State) actorName(a Actor) string {
	switch {
	case a.Agent == "":
		return substrat.User
	case a.Operator:
		return "operator as " + s.Path(a.Agent)
	default:
		return s.Path(a.Agent)
	}
}

func (d *decision) add(f Fact) { d.facts = append(d.facts, f) }

// clean makes text of whatever a program printed: the journal holds UTF-8 only.
func clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// derive makes the id of something that a command causes from the ids that came with it, as a version 8 UUID.
func derive(parts ...string) string {
	u := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
