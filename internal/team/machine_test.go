package team

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
)

// machine drives one team with random commands and a simulated scheduler, and checks what must always hold.
type machine struct {
	s      *State
	now    time.Time
	ids    int
	limits Limits
	// log is the journal, as encoded events.
	log []substrat.Event
	// sent counts messages that were ever sent, final those that left, by id; ended counts outcomes by turn.
	sent, final, ended map[string]int
	// fired counts what subscribers were told, wanted what they should have been, by subscription.
	fired, wanted map[string]int
	// turns counts the turns each agent began, ever; items those that are open or were closed.
	turns map[string]int
	items map[string]int
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		s: New("root"), now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), limits: DefaultLimits(),
		sent: map[string]int{}, final: map[string]int{}, ended: map[string]int{}, fired: map[string]int{}, wanted: map[string]int{},
		turns: map[string]int{}, items: map[string]int{},
	}
	m.limits.Attempts, m.limits.Interrupts, m.limits.Hops, m.limits.Depth, m.limits.Descendants = 2, 3, 12, 4, 8
	m.do(t, Actor{}, "", Create{ID: "root", Name: "root", Provider: "sim", Dir: "/w", Sandbox: substrat.Bubblewrap})
	return m
}

func (m *machine) id(kind string) string {
	m.ids++
	return fmt.Sprintf("%s-%04d", kind, m.ids)
}

// do decides, encodes, decodes and applies, as the engine does, and counts what comes of it.
func (m *machine) do(t *rapid.T, a Actor, key string, c Command) error {
	before, err := m.s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	entries, answer, err := Decide(m.s, m.meta(a, key), c)
	if after, _ := m.s.Encode(); string(after) != string(before) {
		t.Fatalf("Decide(%T) changed the state", c)
	}
	if err != nil {
		if substrat.CodeOf(err) == substrat.CodeInternal {
			t.Fatalf("Decide(%T): %v", c, err)
		}
		return err
	}
	for _, e := range entries {
		m.apply(t, e)
	}
	m.settle(t)
	if key != "" && len(entries) > 0 && m.s.Agents[a.Agent] != nil && m.s.Agents[a.Agent].Turn != nil {
		again, same, err := Decide(m.s, m.meta(a, key), c)
		if err != nil || len(again) > 0 || string(same) != string(answer) {
			t.Fatalf("a repeated %T gave %d entries, %s, %v; want none, %s", c, len(again), same, err, answer)
		}
	}
	return nil
}

func (m *machine) apply(t *rapid.T, e Entry) {
	ev, err := e.Event(m.s.Team, m.s.Seq+1)
	if err != nil {
		t.Fatal(err)
	}
	m.log = append(m.log, ev)
	retired, err := m.s.Apply(e)
	if err != nil {
		t.Fatal(err)
	}
	m.count(e.Fact)
	for _, r := range retired {
		switch {
		case r.Message != nil:
			m.final[r.Message.ID]++
			if !r.Message.State.Final() {
				t.Fatalf("message %s left as %s", r.Message.ID, r.Message.State)
			}
		case r.Turn != nil:
			m.ended[r.Turn.ID]++
		case r.Item != nil:
			if m.items[r.Item.ID]--; m.items[r.Item.ID] != 0 || r.Item.State == substrat.ItemOpen {
				t.Fatalf("item %s left as %s", r.Item.ID, r.Item.State)
			}
		}
	}
}

// pick chooses a live agent, and its turn if it is in one.
func (m *machine) pick(t *rapid.T) *Agent {
	ids := slices.Sorted(maps.Keys(m.s.Agents))
	if len(ids) == 0 {
		t.Skip("the team has ended")
	}
	return m.s.Agents[rapid.SampledFrom(ids).Draw(t, "agent")]
}

// caller is an agent in its turn, as a tool call comes from it.
func (m *machine) caller(t *rapid.T) (Actor, string) {
	open := m.s.OpenTurns()
	if len(open) == 0 {
		t.Skip("no turn is open")
	}
	slices.SortFunc(open, func(a, b *Agent) int { return strings.Compare(a.ID, b.ID) })
	a := rapid.SampledFrom(open).Draw(t, "caller")
	return Actor{Agent: a.ID, Turn: a.Turn.ID}, a.Turn.ID + "/" + m.id("call")
}

func (m *machine) name(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "root", "USER", "x y"}).Draw(t, "name")
}

var outcomes = []substrat.Outcome{substrat.Completed, substrat.Completed, substrat.Completed, substrat.FailedTurn, substrat.Interrupted, substrat.Cancelled, substrat.TimedOut}

func (m *machine) actions() map[string]func(*rapid.T) {
	all := m.moreActions()
	maps.Copy(all, m.firstActions())
	return all
}

func (m *machine) firstActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"create": func(t *rapid.T) {
			_ = m.do(t, Actor{}, "", Create{ID: m.id("agent"), Parent: m.pick(t).ID, Name: m.name(t)})
		},
		"spawn": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, Create{ID: m.id("agent"), Name: m.name(t), Instructions: rapid.SampledFrom([]string{"", "work"}).Draw(t, "i")})
		},
		"user": func(t *rapid.T) {
			_ = m.do(t, Actor{}, "", Send{ID: m.id("msg"), To: m.pick(t).ID, Text: "do"})
		},
		"send": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, Send{ID: m.id("msg"), Recipient: m.name(t), Text: "hello", Sync: rapid.Bool().Draw(t, "sync")})
		},
		"reply": func(t *rapid.T) {
			a, key := m.caller(t)
			ids := slices.Sorted(maps.Keys(m.s.Messages))
			if len(ids) == 0 {
				t.Skip("no message")
			}
			_ = m.do(t, a, key, Send{ID: m.id("msg"), Recipient: m.name(t), Text: "answer", ReplyTo: rapid.SampledFrom(ids).Draw(t, "to")})
		},
		"broadcast": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, SendAll{ID: m.id("cast"), Text: "all", To: rapid.SampledFrom([]string{"siblings", "children"}).Draw(t, "to")})
		},
		"take": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, Take{Limit: rapid.IntRange(0, 2).Draw(t, "limit")})
		},
		"complete": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, Complete{Result: "result"})
		},
		"start": func(t *rapid.T) {
			ready := m.s.ReadyAgents(m.now)
			if len(ready) == 0 {
				t.Skip("nobody is ready")
			}
			r := rapid.SampledFrom(ready).Draw(t, "ready")
			if err := m.do(t, Actor{}, "", Start{Agent: r.Agent, Turn: m.id("turn"), Most: rapid.IntRange(0, 3).Draw(t, "most")}); err != nil {
				t.Fatalf("a ready agent could not start: %v", err)
			}
		},
		"end": func(t *rapid.T) { m.end(t, rapid.SampledFrom(outcomes).Draw(t, "outcome")) },
		"cancel": func(t *rapid.T) {
			_ = m.do(t, Actor{}, "", Cancel{Agent: m.pick(t).ID})
		},
		"terminate": func(t *rapid.T) {
			if rapid.IntRange(0, 5).Draw(t, "rarely") == 0 {
				_ = m.do(t, Actor{}, "", Terminate{Agent: m.pick(t).ID})
			}
		},
		"time": func(t *rapid.T) {
			m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 10 * time.Minute, 2 * time.Hour}).Draw(t, "step"))
			_ = m.do(t, Actor{}, "", Expire{})
		},
		"snapshot": func(t *rapid.T) {
			data, err := m.s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if m.s, err = Decode(data); err != nil {
				t.Fatal(err)
			}
		},
		"restart": func(t *rapid.T) { m.s = m.refold(t) },
		"":        func(t *rapid.T) { m.check(t) },
	}
}

func (m *machine) end(t *rapid.T, o substrat.Outcome) {
	a, _ := m.caller(t)
	x := End{Agent: a.Agent, Turn: a.Turn, Outcome: o, Text: "text"}
	if o != substrat.Completed {
		x.Class = rapid.SampledFrom([]substrat.FailureClass{substrat.ClassAgent, substrat.ClassSession, substrat.ClassAuth, substrat.ClassQuota, substrat.ClassNetwork}).Draw(t, "class")
	}
	x.Account, x.Usage, x.CostMicros = "work", &substrat.Usage{InputTokens: 10, OutputTokens: 1}, 5
	if err := m.do(t, Actor{}, "", x); err != nil {
		t.Fatalf("an open turn could not end: %v", err)
	}
}

// refold makes the state anew from the journal.
func (m *machine) refold(t *rapid.T) *State {
	s := New("root")
	for _, ev := range m.log {
		e, err := ParseEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	s.Settled()
	return s
}

// check holds the state against the invariants.
func (m *machine) check(t *rapid.T) {
	m.checkSame(t, m.refold(t))
	m.checkMessages(t)
	m.checkAgents(t)
	m.checkMore(t)
	for id, n := range m.ended {
		if n != 1 {
			t.Fatalf("turn %s has %d outcomes", id, n)
		}
	}
}

// checkSame: the same journal always folds to the same state, and so does a snapshot of it.
func (m *machine) checkSame(t *rapid.T, other *State) {
	a, errA := m.s.Encode()
	b, errB := other.Encode()
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Fatalf("the journal folds to another state:\n%s\n%s", a, b)
	}
	if !reflect.DeepEqual(keys(m.s.candidates), keys(other.candidates)) || !reflect.DeepEqual(keys(m.s.open), keys(other.open)) || !reflect.DeepEqual(keys(m.s.due), keys(other.due)) {
		t.Fatal("what is derived differs")
	}
}

func keys(m map[string]struct{}) []string { return slices.Sorted(maps.Keys(m)) }

// checkMessages: every message ever sent is in one place, and a final one never comes back.
func (m *machine) checkMessages(t *rapid.T) {
	queued, injected := map[string]int{}, map[string]int{}
	for _, a := range m.s.Agents {
		for _, id := range a.Queue {
			queued[id]++
		}
		if a.Turn != nil {
			for _, id := range slices.Concat(a.Turn.Prompted, a.Turn.Taken) {
				injected[id]++
			}
		}
	}
	for id, n := range m.sent {
		if n != 1 {
			t.Fatalf("message %s was sent %d times", id, n)
		}
		x := m.s.Messages[id]
		switch {
		case x == nil && m.final[id] != 1:
			t.Fatalf("message %s is nowhere, and left %d times", id, m.final[id])
		case x == nil:
			if queued[id] > 0 {
				t.Fatalf("final message %s is in a queue", id)
			}
		case m.final[id] != 0:
			t.Fatalf("message %s left and is still here as %s", id, x.State)
		case x.State == substrat.Queued && queued[id] != 1:
			t.Fatalf("queued message %s is in %d queues", id, queued[id])
		case x.State == substrat.Injected && (injected[id] != 1 || queued[id] != 0):
			t.Fatalf("injected message %s is in %d turns and %d queues", id, injected[id], queued[id])
		case x.State == substrat.Held:
			if i := m.s.Items[x.Item]; queued[id] != 0 || i == nil || i.Message != id {
				t.Fatalf("held message %s is in %d queues, and its item is %+v", id, queued[id], i)
			}
		case x.State == substrat.Handled && x.Kind != substrat.KindRequest:
			t.Fatalf("handled %s %s has not left", x.Kind, id)
		case x.State != substrat.Held && x.State != substrat.Queued && x.State != substrat.Injected && x.State != substrat.Handled:
			t.Fatalf("message %s is hot and %s", id, x.State)
		}
	}
}

// checkAgents: the tree holds together, waits are for requests that are open, and readiness is what its rule says.
func (m *machine) checkAgents(t *rapid.T) {
	ready := map[string]bool{}
	for _, r := range m.s.ReadyAgents(m.now) {
		ready[r.Agent] = true
	}
	for id, a := range m.s.Agents {
		if a.Parent != "" && !slices.Contains(m.s.Agents[a.Parent].Children, id) {
			t.Fatalf("%s is not among its parent's children", id)
		}
		seen := map[string]bool{a.Name: true}
		for _, n := range m.s.reachable(a) {
			if n != substrat.User && seen[n] {
				t.Fatalf("%s can mean two agents to %s", n, m.s.Path(id))
			}
			seen[n] = true
		}
		for _, w := range a.Awaits {
			x := m.s.Messages[w]
			if x == nil || x.FromID != id || x.Kind != substrat.KindRequest {
				t.Fatalf("%s waits for %s, which is no open request of it", id, w)
			}
		}
		want := a.Turn == nil && len(a.Queue) > 0 && a.StartAfter == "" && !m.now.Before(a.RetryAt) && (!a.Gated || a.Permitted) && !m.overBudget(a)
		if want && len(a.Awaits) > 0 {
			want = slices.ContainsFunc(a.Queue, func(q string) bool { return m.s.Messages[q].wakes() })
		}
		if ready[id] != want {
			t.Fatalf("%s: ready %v, want %v", id, ready[id], want)
		}
	}
	for id, x := range m.s.Messages {
		from := m.s.Agents[x.FromID]
		open := x.Kind == substrat.KindRequest && from != nil && slices.Contains(from.Awaits, id)
		if x.State == substrat.Handled && !open {
			t.Fatalf("request %s is handled, nobody waits for it, and it has not left", id)
		}
	}
	for id, b := range m.s.Broadcasts {
		if len(b.Open) == 0 {
			t.Fatalf("broadcast %s is settled and not closed", id)
		}
	}
}

// drain lets every turn complete until nobody can run: the team must come to rest.
func (m *machine) drain(t *rapid.T) {
	for i := 0; ; i++ {
		if i > 2000 {
			t.Fatal("the team does not come to rest")
		}
		open := m.s.OpenTurns()
		if len(open) > 0 {
			if err := m.do(t, Actor{}, "", End{Agent: open[0].ID, Turn: open[0].Turn.ID, Outcome: substrat.Completed, Text: "done"}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		ready := m.s.ReadyAgents(m.now)
		if len(ready) > 0 {
			if err := m.do(t, Actor{}, "", Start{Agent: ready[0].Agent, Turn: m.id("turn")}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if m.unblock(t) {
			continue
		}
		next := m.s.NextDue(m.now)
		if next.IsZero() {
			break
		}
		m.now = next
		_ = m.do(t, Actor{}, "", Expire{})
	}
	for _, a := range m.s.Agents {
		if len(a.Queue) > 0 || len(a.Awaits) > 0 {
			t.Fatalf("at rest %s has %d messages and waits for %d", a.Name, len(a.Queue), len(a.Awaits))
		}
	}
	if len(m.s.Messages) > 0 || len(m.s.Broadcasts) > 0 {
		left, _ := json.Marshal(m.s.Messages)
		t.Fatalf("at rest there are messages: %s", left)
	}
}

// TestMachine checks the core's invariants under any interleaving of commands, failures, restarts and time.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(m.actions())
		m.drain(t)
		m.check(t)
	})
}
