package team

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
)

// meta is what comes with a command: a rule holds what says so, and one kind of reply.
func (m *machine) meta(a Actor, key string) Meta {
	return Meta{At: m.now, Actor: a, Key: key, Limits: m.limits, Keep: func(x *substrat.Message) string {
		if x.Text == "hold" || x.Kind == substrat.KindReply && len(x.ID)%3 == 0 {
			return "the rule"
		}
		return ""
	}}
}

// settle lets follow what follows, as the engine does.
func (m *machine) settle(t *rapid.T) {
	for n := 0; m.s.Unsettled(); n++ {
		if n > 10 {
			t.Fatal("what follows has no end")
		}
		for _, f := range m.s.firings {
			m.wanted[f.subscription]++
		}
		entries, _, err := Decide(m.s, m.meta(Actor{}, ""), Settle{})
		if err != nil {
			t.Fatal(err)
		}
		m.s.Settled()
		for _, e := range entries {
			m.apply(t, e)
		}
	}
}

// count notes what a fact means for the books.
func (m *machine) count(f Fact) {
	switch f := f.(type) {
	case *MessageSent:
		m.sent[f.Message.ID]++
	case *SubscriptionFired:
		m.fired[f.ID]++
	case *TurnStarted:
		m.turns[f.Agent]++
	case *ItemOpened:
		m.items[f.Item.ID]++
	}
}

var transitions = []string{"busy->idle", "*->*", "*->failed", "idle->busy", "*->terminated", "waiting -> *", "*->gated", "sleeping->idle"}

func (m *machine) moreActions() map[string]func(*rapid.T) {
	child := func(t *rapid.T) (Actor, string, string) {
		a, key := m.caller(t)
		id, err := m.s.Child(a.Agent, m.name(t))
		if err != nil {
			t.Skip("no such child")
		}
		return a, key, id
	}
	return map[string]func(*rapid.T){
		"hold": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, Send{ID: m.id("msg"), Recipient: m.name(t), Text: "hold", Sync: rapid.Bool().Draw(t, "sync")})
		},
		"ask": func(t *rapid.T) {
			a, key := m.caller(t)
			c := Ask{ID: m.id("item"), Question: "well?", Options: rapid.SampledFrom([][]string{nil, {"yes", "no"}, {"x", "x"}}).Draw(t, "options")}
			c.Default = rapid.SampledFrom([]string{"", "yes"}).Draw(t, "default")
			_ = m.do(t, a, key, c)
		},
		"permission": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, RequestPermission{ID: m.id("item"), Tool: rapid.SampledFrom([]string{"poke", "gate"}).Draw(t, "tool"), Input: json.RawMessage(`{"a": 1}`)})
		},
		"ask in turn": func(t *rapid.T) {
			a, _ := m.caller(t)
			c := AskInTurn{ID: m.id("item"), Text: "may I?", Kind: substrat.ItemPermission, Options: []string{"allow", "deny"}}
			if open := slices.Sorted(maps.Keys(m.s.Items)); len(open) > 0 && rapid.Bool().Draw(t, "again") {
				c.ID = open[0]
			}
			c.Default = rapid.SampledFrom([]string{"", "deny"}).Draw(t, "default")
			_ = m.do(t, a, "", c)
		},
		"answer": func(t *rapid.T) { m.answer(t) },
		"gate": func(t *rapid.T) {
			a, key, id := child(t)
			_ = m.do(t, a, key, Gate{Agent: id, Down: rapid.Bool().Draw(t, "down")})
		},
		"gate by user": func(t *rapid.T) {
			_ = m.do(t, Actor{}, "", Gate{Agent: m.pick(t).ID, Down: rapid.Bool().Draw(t, "down")})
		},
		"permit": func(t *rapid.T) { _ = m.do(t, Actor{}, "", Permit{Agent: m.pick(t).ID}) },
		"poke":   func(t *rapid.T) { _ = m.do(t, Actor{}, "", Poke{Agent: m.pick(t).ID}) },
		"subscribe": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, Subscribe{ID: m.id("sub"), Name: m.name(t), Transition: rapid.SampledFrom(transitions).Draw(t, "transition"), Once: rapid.Bool().Draw(t, "once")})
		},
		"unsubscribe": func(t *rapid.T) {
			a, key := m.caller(t)
			if subs := m.s.Agents[a.Agent].Subscriptions; len(subs) > 0 {
				_ = m.do(t, a, key, Unsubscribe{ID: subs[0].ID})
			}
		},
		"remind": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, Remind{ID: m.id("rem"), Reason: "look", After: time.Minute, Every: rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "every")})
		},
		"annotate": func(t *rapid.T) {
			a, key, id := child(t)
			v := "v"
			_ = m.do(t, a, key, Annotate{Agent: id, Key: "k", Value: rapid.SampledFrom([]*string{nil, &v}).Draw(t, "value")})
		},
		"budget": func(t *rapid.T) {
			b := substrat.Budget{Turns: rapid.IntRange(0, 3).Draw(t, "turns"), Tokens: 40}
			b.Scope = rapid.SampledFrom([]substrat.BudgetScope{substrat.ScopeAgent, substrat.ScopeSubtree}).Draw(t, "scope")
			b.Period = rapid.SampledFrom([]substrat.BudgetPeriod{substrat.PeriodDay, substrat.PeriodTotal}).Draw(t, "period")
			_ = m.do(t, Actor{}, "", SetBudgets{Agent: m.pick(t).ID, Budgets: []substrat.Budget{b}})
		},
		"resume": func(t *rapid.T) { _ = m.do(t, Actor{}, "", ReleaseAccount{Account: "work"}) },
		"change": func(t *rapid.T) {
			text := "anew"
			_ = m.do(t, Actor{}, "", Change{Agent: m.pick(t).ID, Instructions: &text})
		},
		"workspace": func(t *rapid.T) {
			a, key := m.caller(t)
			c := CreateWorkspace{ID: m.id("ws"), Name: m.name(t), Dir: "/ws", Made: true, ViewOf: rapid.SampledFrom([]string{"", "a", "../b", "c/d"}).Draw(t, "of")}
			_ = m.do(t, a, key, c)
		},
		"settle in": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, Create{ID: m.id("agent"), Name: m.name(t), Workspace: rapid.SampledFrom([]string{"a", "b", "../a", "c/d"}).Draw(t, "workspace")})
		},
		"link": func(t *rapid.T) {
			a, key := m.caller(t)
			refs := []string{"", "a", "b", "../b", "c/a"}
			_ = m.do(t, a, key, LinkDir{Workspace: rapid.SampledFrom(refs).Draw(t, "into"), At: "in", Source: rapid.SampledFrom(refs).Draw(t, "from"), Dir: "out"})
		},
		"delete": func(t *rapid.T) {
			a, key := m.caller(t)
			_ = m.do(t, a, key, DeleteWorkspace{Ref: rapid.SampledFrom([]string{"a", "b", "c/d"}).Draw(t, "ref")})
		},
	}
}

// answer answers an open item, with a choice of its own or with something that does not fit.
func (m *machine) answer(t *rapid.T) {
	ids := slices.Sorted(maps.Keys(m.s.Items))
	if len(ids) == 0 {
		t.Skip("nothing is asked")
	}
	x := m.s.Items[rapid.SampledFrom(ids).Draw(t, "item")]
	a := substrat.Answer{Text: rapid.SampledFrom([]string{"", "because"}).Draw(t, "text")}
	if len(x.Options) > 0 && rapid.IntRange(0, 4).Draw(t, "choose") > 0 {
		a.Choices = []string{rapid.SampledFrom(x.Options).Draw(t, "choice")}
	}
	_ = m.do(t, Actor{}, "", AnswerItem{ID: x.ID, Answer: a})
}

// overBudget is the rule once more, in other words.
func (m *machine) overBudget(a *Agent) bool {
	for up := a; up != nil; up = m.s.Agents[up.Parent] {
		for _, b := range up.Budgets {
			if up != a && b.Scope == substrat.ScopeAgent {
				continue
			}
			meter := up.Below
			if b.Scope == substrat.ScopeAgent {
				meter = up.Own
			}
			spent, times := meter.Total, 1+b.Extended
			if b.Period == substrat.PeriodDay {
				if spent = meter.Today; meter.Day != day(m.now) {
					spent = substrat.Spent{}
				}
				if b.ExtendedDay != day(m.now) {
					times = 1
				}
			}
			if b.Turns > 0 && spent.Turns >= b.Turns*times || b.Tokens > 0 && spent.Tokens >= b.Tokens*int64(times) {
				return true
			}
		}
	}
	return false
}

// checkMore: what came with the person's queue, subscriptions, budgets and workspaces holds together.
func (m *machine) checkMore(t *rapid.T) {
	data, err := m.s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(data)
	if err != nil {
		t.Fatalf("a snapshot cannot be read: %v", err)
	}
	for _, x := range []struct {
		what string
		a, b any
	}{
		{"items", m.s.items, again.items}, {"reminded", m.s.reminded, again.reminded}, {"seen", m.s.seen, again.seen},
		{"watched", sorted(m.s.watched), sorted(again.watched)}, {"below", m.s.below, again.below},
	} {
		if !reflect.DeepEqual(x.a, x.b) {
			t.Fatalf("what is derived differs: %s: %v, %v", x.what, x.a, x.b)
		}
	}
	for target, saw := range m.s.seen {
		if a := m.s.Agents[target]; a == nil || m.s.stateOf(a) != saw.state {
			t.Fatalf("a change of %s went unnoticed: it was %s", target, saw.state)
		}
	}
	if !maps.Equal(m.fired, m.wanted) {
		t.Fatalf("subscribers were told %v, not %v", m.fired, m.wanted)
	}
	for id := range m.s.Items {
		if m.items[id] != 1 {
			t.Fatalf("item %s was opened %d times", id, m.items[id])
		}
	}
	for id, a := range m.s.Agents {
		if a.Own.Total.Turns != m.turns[id] {
			t.Fatalf("%s began %d turns, %d are counted", id, m.turns[id], a.Own.Total.Turns)
		}
		if w, ready := m.s.Why(id, m.now); len(w.Reasons) == 0 && !ready {
			t.Fatalf("nothing says why %s does not run", id)
		}
		m.s.View(id)
		m.s.Living(id)
		m.s.VisibleWorkspaces(id)
	}
	m.s.Waits()
	m.s.Cycles()
	if next := m.s.NextDue(m.now); !m.s.Overdue(m.now) && !next.IsZero() && !next.After(m.now) {
		t.Fatalf("nothing is due, and the next look is at %v, which is past", next)
	}
}

func sorted(m map[string][]string) map[string][]string {
	out := map[string][]string{}
	for k, v := range m {
		out[k] = slices.Sorted(slices.Values(v))
	}
	return out
}

// unblock does one thing that a person would: it answers an item, lifts a gate, removes a budget, takes back a reminder
// that comes again and again. It reports whether there was one.
func (m *machine) unblock(t *rapid.T) bool {
	if ids := slices.Sorted(maps.Keys(m.s.Items)); len(ids) > 0 {
		id := ids[0]
		x := m.s.Items[id]
		a := substrat.Answer{Text: "text"}
		if len(x.Options) > 0 {
			a = substrat.Answer{Choices: x.Options[len(x.Options)-1:]}
		}
		if err := m.do(t, Actor{}, "", AnswerItem{ID: id, Answer: a}); err != nil {
			t.Fatalf("an open item cannot be answered: %v", err)
		}
		return true
	}
	for _, id := range m.s.Walk() {
		a := m.s.Agents[id]
		switch {
		case a.Gated:
			_ = m.do(t, Actor{}, "", Gate{Agent: id})
		case len(a.Budgets) > 0:
			_ = m.do(t, Actor{}, "", SetBudgets{Agent: id})
		case len(a.Subscriptions) > 0:
			_ = m.do(t, Actor{Agent: id, Operator: true}, "", Unsubscribe{ID: a.Subscriptions[0].ID})
		case len(a.Reminders) > 0 && a.Reminders[0].Every > 0:
			_ = m.do(t, Actor{}, "", CancelReminder{Agent: id, ID: a.Reminders[0].ID})
		default:
			continue
		}
		return true
	}
	return false
}
