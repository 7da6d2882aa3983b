package team

import (
	"fmt"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// work gives an agent so many messages, and turns for as many of them as it may take.
func (st *story) work(agent string, n int) (turns int) {
	st.t.Helper()
	for range n {
		st.tellAgent(agent, st.id())
		for _, r := range st.s.ReadyAgents(st.now) {
			if r.Agent == agent {
				a, _ := st.turn(agent, st.id())
				st.now = st.now.Add(time.Second)
				x := End{Agent: a.Agent, Turn: a.Turn, Outcome: substrat.Completed, Text: "ok", Usage: &substrat.Usage{InputTokens: 90, OutputTokens: 10}, CostMicros: 1000, Priced: true}
				st.must(user, x)
				turns++
			}
		}
	}
	return turns
}

func TestBudgets(t *testing.T) {
	for name, b := range map[string]substrat.Budget{
		"turns":  {Scope: substrat.ScopeAgent, Period: substrat.PeriodTotal, Turns: 5},
		"time":   {Scope: substrat.ScopeAgent, Period: substrat.PeriodTotal, WallSeconds: 5},
		"tokens": {Scope: substrat.ScopeAgent, Period: substrat.PeriodTotal, Tokens: 500},
		"money":  {Scope: substrat.ScopeAgent, Period: substrat.PeriodTotal, CostMicros: 5000},
	} {
		st := tell(t)
		st.must(user, SetBudgets{Agent: "coder", Budgets: []substrat.Budget{b}})
		if n := st.work("coder", 8); n != 5 {
			t.Errorf("%s: %d turns", name, n)
		}
		open := st.s.openItems("coder", substrat.ItemBudget)
		if len(open) != 1 {
			t.Fatalf("%s: %d items", name, len(open))
		}
		why, ready := st.s.Why("coder", st.now)
		if ready || why.Reasons[0].Kind != substrat.WaitsBudget {
			t.Errorf("%s: %+v", name, why.Reasons)
		}
		st.restart(true)
		st.must(user, AnswerItem{ID: open[0].ID, Answer: substrat.Answer{Choices: []string{"extend"}}})
		if n := st.work("coder", 8); n != 5 {
			t.Errorf("%s: %d turns after it was extended", name, n)
		}
	}
}

func TestBudgetWarnsOnce(t *testing.T) {
	st := tell(t)
	st.must(user, SetBudgets{Agent: "coder", Budgets: []substrat.Budget{{Turns: 10}}})
	warned := func() (n int) {
		for _, m := range st.final {
			if m.To == substrat.User && m.From == substrat.System {
				n++
				st.says(m.Text, "Four fifths of the total budget of lead/coder", "8 of 10 turns")
			}
		}
		return n
	}
	st.work("coder", 7)
	if warned() != 0 {
		t.Error("warned too early")
	}
	st.work("coder", 2)
	if warned() != 1 {
		t.Errorf("warned %d times", warned())
	}
}

func TestBudgetOfSubtree(t *testing.T) {
	st := tell(t)
	st.must(user, SetBudgets{Agent: "lead", Budgets: []substrat.Budget{{Scope: substrat.ScopeSubtree, Turns: 4}}})
	if n := st.work("coder", 3) + st.work("critic", 3) + st.work("lead", 3); n != 4 {
		t.Errorf("%d turns", n)
	}
	st.refused(operator("lead"), SetBudgets{Agent: "coder"}, substrat.CodeForbidden, "only a person")
	st.refused(user, SetBudgets{Agent: "lead", Budgets: []substrat.Budget{{}}}, substrat.CodeInvalid, "bounds nothing")
}

func TestDailyBudget(t *testing.T) {
	st := tell(t)
	st.must(user, SetBudgets{Agent: "coder", Budgets: []substrat.Budget{{Period: substrat.PeriodDay, Turns: 2}}})
	if n := st.work("coder", 3); n != 2 {
		t.Errorf("%d turns", n)
	}
	open := st.s.openItems("coder", substrat.ItemBudget)
	st.must(user, AnswerItem{ID: open[0].ID, Answer: substrat.Answer{Choices: []string{"extend"}}})
	if n := st.work("coder", 3); n != 2 {
		t.Errorf("%d turns after it was extended", n)
	}
	// At midnight it begins anew, without the extension, and the question is gone.
	next := st.s.NextDue(st.now)
	if !next.Equal(nextDay(st.now)) {
		t.Errorf("the next look is at %v", next)
	}
	st.now = next
	st.must(user, Expire{})
	if n := len(st.s.openItems("coder", substrat.ItemBudget)); n != 0 {
		t.Errorf("%d items are left of yesterday", n)
	}
	if n := st.work("coder", 3); n != 2 {
		t.Errorf("%d turns on the next day", n)
	}
}

// TestAccountRefused: what is the account's fault uses up no attempt of the mail's.
func TestAccountRefused(t *testing.T) {
	st := tell(t)
	st.tellAgent("coder", "m")
	for i := range 10 {
		a, _ := st.turn("coder", fmt.Sprint("t", i))
		st.must(user, End{Agent: a.Agent, Turn: a.Turn, Outcome: substrat.FailedTurn, Class: substrat.ClassAuth, Detail: "log in", Account: "work"})
	}
	st.queue("coder", "m")
	if !st.s.NeedsLogin("work") || len(st.s.openItems("coder", substrat.ItemLogin)) != 1 {
		t.Errorf("%+v", st.s.Items)
	}
	item := st.s.openItems("coder", substrat.ItemLogin)[0].ID
	st.must(user, AnswerItem{ID: item, Answer: substrat.Answer{Choices: []string{"resume"}}})
	if st.s.Refused("work") {
		t.Error("it is still held")
	}
	st.restart(true)
	a, _ := st.turn("coder", "last")
	st.end(a, substrat.Completed, "ok")
	st.became("m", substrat.Handled)
}

// TestPoke: what was given up comes again, and whoever asked gets their reply.
func TestPoke(t *testing.T) {
	st := tell(t)
	st.lim.Attempts = 1
	st.asking("m1")
	a, _ := st.turn("coder", "t1")
	st.end(a, substrat.FailedTurn, "broke")
	st.became("m1", substrat.Dead)
	st.state("coder", substrat.Failed)
	st.prompts("") // the lead hears of it
	st.refused(operator("critic"), Poke{Agent: "coder"}, substrat.CodeForbidden, "no child of yours")
	if s := st.must(user, Poke{Agent: "critic"}); decoded[Status](st, s).Status != "nothing to retry" {
		t.Error(s)
	}
	if s := st.must(operator("lead"), Poke{Agent: "coder"}); decoded[Status](st, s).Status != "poked" {
		t.Error(s)
	}
	st.state("lead", substrat.Waiting)
	st.says(st.prompts("lead"), "Reply from coder")
	st.state("lead", substrat.Idle)
}

func TestGates(t *testing.T) {
	st := tell(t)
	st.must(operator("lead"), Gate{Agent: "coder", Down: true})
	st.state("coder", substrat.Gated)
	st.refused(operator("critic"), Gate{Agent: "coder"}, substrat.CodeForbidden, "no child of yours")
	st.tellAgent("coder", "m1")
	st.ready()
	st.must(operator("lead"), Permit{Agent: "coder"})
	st.ready("coder")
	a, _ := st.turn("coder", "t1")
	st.tellAgent("coder", "m2")
	st.end(a, substrat.Completed, "ok")
	st.ready()
	st.restart(true)
	st.must(operator("lead"), Gate{Agent: "coder"})
	st.ready("coder")
	st.refused(operator("lead"), Permit{Agent: "coder"}, substrat.CodeConflict, "not gated")
}

// TestPermitOfATurnThatWasCut: a turn that was cut off is tried again without another word, so its permit holds; one that
// failed was told of, and needs another. A gate that was touched meanwhile is as it was put.
func TestPermitOfATurnThatWasCut(t *testing.T) {
	st := tell(t)
	st.must(operator("lead"), Gate{Agent: "coder", Down: true})
	st.tellAgent("coder", "m1")
	st.must(operator("lead"), Permit{Agent: "coder"})
	a, _ := st.turn("coder", "t1")
	st.end(a, substrat.Interrupted, "cut")
	st.later()
	st.ready("coder")
	a, _ = st.turn("coder", "t2")
	st.end(a, substrat.FailedTurn, "bad")
	st.later()
	st.ready("lead") // it heard of the failure
	st.must(operator("lead"), Permit{Agent: "coder"})
	a, _ = st.turn("coder", "t3")
	st.must(operator("lead"), Gate{Agent: "coder"})
	st.must(operator("lead"), Gate{Agent: "coder", Down: true})
	st.end(a, substrat.Interrupted, "cut")
	st.later()
	st.ready("lead") // it heard of the failure
	st.restart(true)
	st.ready("lead") // it heard of the failure
}

func TestCycle(t *testing.T) {
	st := tell(t)
	st.must(operator("lead"), Send{ID: "m1", Recipient: "coder", Text: "x", Sync: true})
	st.must(operator("coder"), Send{ID: "m2", Recipient: "critic", Text: "x", Sync: true})
	if c := st.s.Cycles(); len(c) != 0 {
		t.Errorf("cycles %v", c)
	}
	entries, _, err := st.do(operator("critic"), "", Send{ID: "m3", Recipient: "lead", Text: "x", Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range entries {
		if c, ok := e.Fact.(*CycleFound); ok {
			found = true
			if fmt.Sprint(c.Paths) != "[lead/critic lead lead/coder]" {
				t.Errorf("the circle is %v", c.Paths)
			}
		}
	}
	if c := st.s.Cycles(); !found || len(c) != 1 || fmt.Sprint(c[0]) != "[lead lead/coder lead/critic]" {
		t.Errorf("found %v, cycles %v", found, c)
	}
	// It stops nobody.
	st.ready("coder", "critic", "lead")
}
