package team

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"substrat.dev/substrat"
)

// story is a team that a test plays step by step: a lead with two children, coder and critic. After every step the state
// must hold together and be what its journal folds to.
type story struct {
	t       *testing.T
	s       *State
	ids     int
	now     time.Time
	lim     Limits
	journal []substrat.Event
	// final are the messages that left, turns the outcomes, agents those that ended, by id.
	final  map[string]substrat.Message
	turns  map[string]substrat.Turn
	agents map[string]substrat.Agent
	// items are those that were closed; keep is the rule that holds messages.
	items map[string]substrat.Item
	keep  Gatekeeper
}

var user = Actor{}

func tell(t *testing.T) *story {
	st := &story{
		t: t, s: New("lead"), now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), lim: DefaultLimits(),
		items: map[string]substrat.Item{}, final: map[string]substrat.Message{}, turns: map[string]substrat.Turn{}, agents: map[string]substrat.Agent{},
	}
	st.must(user, Create{ID: "lead", Name: "lead", Provider: "sim", Dir: "/w", Sandbox: substrat.Bubblewrap, Network: substrat.NetworkNone})
	for _, n := range []string{"coder", "critic"} {
		st.must(user, Create{ID: n, Name: n, Parent: "lead"})
	}
	return st
}

func operator(agent string) Actor { return Actor{Agent: agent, Operator: true} }

// do decides a command and folds what comes of it.
func (st *story) do(a Actor, key string, c Command) ([]Entry, string, error) {
	st.t.Helper()
	meta := Meta{At: st.now, Actor: a, Key: key, Limits: st.lim, Keep: st.keep}
	entries, answer, err := Decide(st.s, meta, c)
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		st.apply(e)
	}
	for st.s.Unsettled() {
		follows, _, err := Decide(st.s, Meta{At: st.now, Limits: st.lim, Keep: st.keep}, Settle{})
		if err != nil {
			st.t.Fatal(err)
		}
		st.s.Settled()
		for _, e := range follows {
			st.apply(e)
		}
	}
	if err := st.s.validate(); err != nil {
		st.t.Fatalf("after %T: %v", c, err)
	}
	return entries, string(answer), nil
}

func (st *story) apply(e Entry) {
	st.t.Helper()
	ev, err := e.Event(st.s.Team, st.s.Seq+1)
	if err != nil {
		st.t.Fatal(err)
	}
	st.journal = append(st.journal, ev)
	retired, err := st.s.Apply(e)
	if err != nil {
		st.t.Fatal(err)
	}
	for _, r := range retired {
		switch {
		case r.Message != nil:
			st.final[r.Message.ID] = *r.Message
		case r.Turn != nil:
			st.turns[r.Turn.ID] = *r.Turn
		case r.Item != nil:
			st.items[r.Item.ID] = *r.Item
		default:
			st.agents[r.Agent.ID] = *r.Agent
		}
	}
}

func (st *story) must(a Actor, c Command) string {
	st.t.Helper()
	_, answer, err := st.do(a, "", c)
	if err != nil {
		st.t.Fatalf("%T: %v", c, err)
	}
	return answer
}

// refused wants a command to be refused with a code and a message that says why, and to change nothing.
func (st *story) refused(a Actor, c Command, code substrat.Code, why string) {
	st.t.Helper()
	before := st.s.Seq
	_, _, err := st.do(a, "", c)
	if err == nil || substrat.CodeOf(err) != code || !strings.Contains(err.Error(), why) {
		st.t.Errorf("%T: %v, want %s with %q", c, err, code, why)
	}
	if st.s.Seq != before {
		st.t.Errorf("%T was refused and left %d events", c, st.s.Seq-before)
	}
}

// tellAgent gives an agent a message from the user.
func (st *story) tellAgent(agent, id string) {
	st.t.Helper()
	st.must(user, Send{ID: id, To: agent, Text: "go"})
}

// turn starts an agent's turn; the prompt is what it sees.
func (st *story) turn(agent, id string) (Actor, string) {
	st.t.Helper()
	st.must(user, Start{Agent: agent, Turn: id})
	return Actor{Agent: agent, Turn: id}, unmarked(st.s.Prompt(agent))
}

// busy lets the user wake an agent and starts its turn.
func (st *story) busy(agent, turn string) Actor {
	st.t.Helper()
	st.tellAgent(agent, "wake-"+turn)
	a, _ := st.turn(agent, turn)
	return a
}

func (st *story) end(a Actor, o substrat.Outcome, text string) {
	st.t.Helper()
	x := End{Agent: a.Agent, Turn: a.Turn, Outcome: o, Text: text}
	if o != substrat.Completed {
		x.Class, x.Detail = substrat.ClassAgent, text
	}
	st.must(user, x)
}

// asking lets the lead ask the coder, and ends its turn.
func (st *story) asking(id string) {
	st.t.Helper()
	lead := st.busy("lead", "t-"+id)
	st.must(lead, Send{ID: id, Recipient: "coder", Text: "mend", Sync: true})
	st.end(lead, substrat.Completed, "asked")
}

// id makes an id that no test names.
func (st *story) id() string {
	st.ids++
	return fmt.Sprintf("id-%04d", st.ids)
}

// later lets time pass until it changes something.
func (st *story) later() {
	st.t.Helper()
	next := st.s.NextDue(st.now)
	if next.IsZero() {
		st.t.Fatal("time changes nothing any more")
	}
	st.now = next
}

func (st *story) state(agent string, want substrat.AgentState) {
	st.t.Helper()
	if got := st.s.View(agent).State; got != want {
		st.t.Errorf("%s is %s, want %s", agent, got, want)
	}
}

func (st *story) ready(want ...string) {
	st.t.Helper()
	var got []string
	for _, r := range st.s.ReadyAgents(st.now) {
		got = append(got, r.Agent)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		st.t.Errorf("ready (-want +got):\n%s", diff)
	}
}

// became wants a message to be final in a state.
func (st *story) became(id string, want substrat.MessageState) {
	st.t.Helper()
	if m := st.s.Messages[id]; m != nil {
		st.t.Errorf("message %s is still %s, want %s", id, m.State, want)
	} else if got := st.final[id].State; got != want {
		st.t.Errorf("message %s became %q, want %s", id, got, want)
	}
}

// says wants every one of the words in a text.
func (st *story) says(text string, want ...string) {
	st.t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			st.t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

// quiet wants none of the words in a text.
func (st *story) quiet(text string, unwanted ...string) {
	st.t.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			st.t.Errorf("%q in:\n%s", w, text)
		}
	}
}

// queue wants an agent's mailbox to hold these messages, in order.
func (st *story) queue(agent string, want ...string) {
	st.t.Helper()
	if diff := cmp.Diff(want, st.s.Agents[agent].Queue, cmpopts.EquateEmpty()); diff != "" {
		st.t.Errorf("mailbox of %s (-want +got):\n%s", agent, diff)
	}
}

// restart makes the state anew, from its journal or from a snapshot of it.
func (st *story) restart(snapshot bool) {
	st.t.Helper()
	var s *State
	var err error
	if snapshot {
		data, encodeErr := st.s.Encode()
		if encodeErr != nil {
			st.t.Fatal(encodeErr)
		}
		s, err = Decode(data)
	} else {
		s, err = refold(st.s.Team, st.journal)
	}
	if err != nil {
		st.t.Fatal(err)
	}
	if diff := diffStates(st.s, s); diff != "" {
		st.t.Fatalf("the state differs after a restart (-live +restarted):\n%s", diff)
	}
	st.s = s
}

// refold makes a state from a journal.
func refold(team string, journal []substrat.Event) (*State, error) {
	s := New(team)
	for _, ev := range journal {
		e, err := ParseEvent(ev)
		if err != nil {
			return nil, err
		}
		if _, err := s.Apply(e); err != nil {
			return nil, err
		}
	}
	s.Settled()
	return s, nil
}

// diffStates compares two states, what is derived included. Empty lists are as good as none.
func diffStates(a, b *State) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(State{}, index{}, sight{}, firing{}), cmpopts.EquateEmpty())
}

// decoded reads an answer.
func decoded[T any](st *story, answer string) (out T) {
	st.t.Helper()
	if err := json.Unmarshal([]byte(answer), &out); err != nil {
		st.t.Fatalf("answer %s: %v", answer, err)
	}
	return out
}

var marks = regexp.MustCompile(`(?m)^--- [0-9a-f]{12}\n|\n--- [0-9a-f]{12}$`)

// unmarked gives a prompt without the lines that bound what others wrote.
func unmarked(prompt string) string { return marks.ReplaceAllString(prompt, "") }
