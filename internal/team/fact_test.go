package team

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

func TestParseEventRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		ev   substrat.Event
		code substrat.Code
	}{
		"a type of a newer version": {substrat.Event{Type: "agent.cloned", Data: []byte(`{}`)}, substrat.CodeVersion},
		"no type":                   {substrat.Event{Data: []byte(`{}`)}, substrat.CodeVersion},
		"no data":                   {substrat.Event{Type: "turn.ended"}, substrat.CodeStorage},
		"half of the data":          {substrat.Event{Type: "turn.ended", Data: []byte(`{"turn":"t`)}, substrat.CodeStorage},
		"data of another shape":     {substrat.Event{Type: "turn.ended", Data: []byte(`{"turn":7}`)}, substrat.CodeStorage},
	} {
		if _, err := ParseEvent(tc.ev); substrat.CodeOf(err) != tc.code || err == nil {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
}

// The types are in journals that exist: a new one may be added, none may change.
func TestEventTypesStay(t *testing.T) {
	for _, typ := range strings.Fields("agent.created agent.completing agent.terminated message.sent message.expired inbox.taken turn.started " +
		"turn.cancel_asked turn.ended session.bound broadcast.closed") {
		if facts[typ] == nil || facts[typ]().Type() != typ {
			t.Errorf("no fact of type %s", typ)
		}
	}
}

// misfits are facts that no journal of Substrat holds, for the state that TestMisfits folds them into.
func misfits() map[string]Fact {
	sent := func(m Message) Fact { return &MessageSent{Message: m} }
	msg := func(id, from, to string, kind substrat.MessageKind, replyTo string) Message {
		return Message{FromID: from, ToID: to, Message: substrat.Message{ID: id, Kind: kind, ReplyTo: replyTo}}
	}
	created := func(a Agent) Fact { return &AgentCreated{Agent: a} }
	return map[string]Fact{
		"no fact":                       nil,
		"agent exists":                  created(Agent{ID: "coder", Name: "x", Parent: "lead"}),
		"agent without id":              created(Agent{Name: "x", Parent: "lead"}),
		"agent without name":            created(Agent{ID: "x", Parent: "lead"}),
		"agent with a past":             created(Agent{ID: "x", Name: "x", Parent: "lead", Queue: []string{"m9"}}),
		"agent with a turn":             created(Agent{ID: "x", Name: "x", Parent: "lead", Turn: &Turn{ID: "t"}}),
		"agent with a count":            created(Agent{ID: "x", Name: "x", Parent: "lead", Turns: -1}),
		"agent without parent":          created(Agent{ID: "x", Name: "x", Parent: "gone"}),
		"second root":                   created(Agent{ID: "x", Name: "x"}),
		"name twice":                    created(Agent{ID: "x", Name: "coder", Parent: "lead"}),
		"message exists":                sent(msg("m1", "lead", "coder", substrat.KindRequest, "")),
		"message without id":            sent(msg("", "lead", "coder", substrat.KindNotification, "")),
		"message to nobody":             sent(msg("m9", "lead", "gone", substrat.KindNotification, "")),
		"request of nobody":             sent(msg("m9", "gone", "coder", substrat.KindRequest, "")),
		"request to the user":           sent(msg("m9", "lead", "", substrat.KindRequest, "")),
		"answer to no request":          sent(msg("m9", "coder", "lead", substrat.KindReply, "wake-t1")),
		"answer from nobody to nobody":  sent(msg("m9", "coder", "gone", substrat.KindReply, "m1")),
		"unknown expired":               &MessageExpired{ID: "m9"},
		"notification expired":          &MessageExpired{ID: "wake-t1"},
		"taken by nobody":               &InboxTaken{Agent: "gone", Turn: "t1"},
		"taken in another turn":         &InboxTaken{Agent: "coder", Turn: "t0", Messages: []string{"m1"}},
		"taken twice":                   &InboxTaken{Agent: "coder", Turn: "t1", Messages: []string{"m1", "m1"}},
		"taken from another":            &InboxTaken{Agent: "coder", Turn: "t1", Messages: []string{"n1"}},
		"taken what is in the turn":     &InboxTaken{Agent: "coder", Turn: "t1", Messages: []string{"wake-t1"}},
		"taken nothing known":           &InboxTaken{Agent: "coder", Turn: "t1", Messages: []string{"m9"}},
		"started twice":                 &TurnStarted{Agent: "coder", Turn: "t9", Number: 2},
		"started by nobody":             &TurnStarted{Agent: "gone", Turn: "t9", Number: 1},
		"started without id":            &TurnStarted{Agent: "critic", Number: 1},
		"started with another's mail":   &TurnStarted{Agent: "critic", Turn: "t9", Number: 1, Messages: []string{"m1"}},
		"started again":                 &TurnStarted{Agent: "critic", Turn: "t9"},
		"turn of that id is open":       &TurnStarted{Agent: "critic", Turn: "t1", Number: 1, Messages: []string{"n1"}},
		"cancelled what is not open":    &TurnCancelled{Agent: "coder", Turn: "t9"},
		"ended what is not open":        &TurnEnded{Agent: "coder", Turn: "t9"},
		"ended with mail left":          &TurnEnded{Agent: "coder", Turn: "t1", Outcome: substrat.Completed},
		"ended with mail twice":         &TurnEnded{Agent: "coder", Turn: "t1", Outcome: substrat.FailedTurn, Dead: []string{"wake-t1"}, Requeued: []string{"wake-t1"}},
		"ended with another's mail":     &TurnEnded{Agent: "coder", Turn: "t1", Handled: []string{"wake-t1", "n1"}},
		"ended with mail of no turn":    &TurnEnded{Agent: "coder", Turn: "t1", Handled: []string{"wake-t1", "m1"}},
		"ended below zero":              &TurnEnded{Agent: "coder", Turn: "t1", Handled: []string{"wake-t1"}, Attempts: -1},
		"bound to nobody":               &SessionBound{Agent: "gone"},
		"completing without a turn":     &AgentCompleting{Agent: "critic"},
		"completing root":               &AgentCompleting{Agent: "lead"},
		"completing nobody":             &AgentCompleting{Agent: "gone"},
		"terminated nobody":             &AgentTerminated{Agents: []string{"critic", "gone"}},
		"terminated twice":              &AgentTerminated{Agents: []string{"critic", "critic"}},
		"terminated before the child":   &AgentTerminated{Agents: []string{"lead"}},
		"terminated parent first":       &AgentTerminated{Agents: []string{"lead", "coder", "critic"}},
		"closed what is not there":      &BroadcastClosed{ID: "b9"},
		"closed what is not settled":    &BroadcastClosed{ID: "b1"},
		"message expired that was sent": &MessageExpired{ID: "n1"},
	}
}

// A fact that does not fit is an error and changes nothing: half a fold is worse than none.
func TestMisfits(t *testing.T) {
	for name, fact := range misfits() {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			coder := st.busy("coder", "t1")
			st.must(coder, SendAll{ID: "b1", Text: "who?"})
			st.must(operator("lead"), Send{ID: "m1", Recipient: "coder", Text: "?", Sync: true})
			st.must(operator("lead"), Send{ID: "n1", Recipient: "critic", Text: "fyi"})
			lead := st.busy("lead", "t2")
			before, err := refold("lead", st.journal)
			if err != nil {
				t.Fatal(err)
			}
			retired, err := st.s.Apply(Entry{Fact: fact, At: st.now, Key: lead.Turn + "/1", Answer: json.RawMessage(`{}`)})
			if substrat.CodeOf(err) != substrat.CodeStorage || err == nil || len(retired) > 0 {
				t.Errorf("%d records, %v", len(retired), err)
			}
			if diff := diffStates(before, st.s); diff != "" {
				t.Errorf("the state changed (-before +after):\n%s", diff)
			}
		})
	}
}

// Entries and the state share nothing that changes: a journal in memory can be folded as often as one likes.
func TestFoldKeepsItsFacts(t *testing.T) {
	s := New("lead")
	at := time.Unix(1, 0).UTC()
	var entries []Entry
	step := func(a Actor, c Command) {
		got, _, err := Decide(s, Meta{At: at, Actor: a, Limits: DefaultLimits()}, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got {
			if _, err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		entries = append(entries, got...)
	}
	step(user, Create{ID: "lead", Name: "lead", Provider: "sim", Dir: "/w"})
	for _, id := range []string{"a", "b", "c"} {
		step(user, Send{ID: id, To: "lead", Text: id})
	}
	step(user, Start{Agent: "lead", Turn: "t1", Most: 1})
	step(Actor{Agent: "lead", Turn: "t1"}, Take{Limit: 1})
	step(user, End{Agent: "lead", Turn: "t1", Outcome: substrat.FailedTurn})
	at = at.Add(time.Hour)
	step(user, Start{Agent: "lead", Turn: "t2"})
	step(user, End{Agent: "lead", Turn: "t2", Outcome: substrat.Completed})
	again := New("lead")
	for _, e := range slices.Clone(entries) {
		if _, err := again.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := diffStates(s, again); diff != "" {
		t.Errorf("the second fold of the same entries differs (-first +second):\n%s", diff)
	}
}
