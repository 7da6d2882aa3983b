package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"substrat.dev/substrat"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

func cold(team, agent string, waited time.Duration) Candidate {
	return Candidate{Team: team, Agent: agent, Pool: "p", Account: "acc", Priority: PriorityRequest, Since: ago(waited)}
}

func turn(team, agent string) Process {
	return Process{Team: team, Agent: agent, Pool: "p", Account: "acc", Turn: true, Since: ago(time.Minute)}
}

func idle(team, agent string, since time.Duration) Process {
	return Process{Team: team, Agent: agent, Pool: "p", Account: "acc", Since: ago(since)}
}

func started(p Plan) []string {
	out := []string{}
	for _, c := range p.Start {
		out = append(out, c.Agent)
	}
	return out
}

func suspended(p Plan) []string {
	out := []string{}
	for _, r := range p.Suspend {
		out = append(out, r.Agent)
	}
	return out
}

func reason(t *testing.T, p Plan, agent string) Waiting {
	t.Helper()
	for _, w := range p.Waiting {
		if w.Agent == agent {
			return w
		}
	}
	t.Fatalf("%s is not among those that wait: %+v", agent, p.Waiting)
	return Waiting{}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestOrder(t *testing.T) {
	with := func(c Candidate, p Priority) Candidate { c.Priority = p; return c }
	inPool := func(c Candidate, pool string) Candidate { c.Pool = pool; return c }
	for _, test := range []struct {
		name  string
		fleet Fleet
		want  []string
	}{
		{"the oldest first", Fleet{Ready: []Candidate{cold("a", "1", 1), cold("a", "2", 3), cold("a", "3", 2)}}, []string{"2", "3", "1"}},
		{"the same age by id", Fleet{Ready: []Candidate{cold("a", "2", 1), cold("a", "1", 1)}}, []string{"1", "2"}},
		{"priority before age", Fleet{Ready: []Candidate{
			with(cold("a", "note", 20*time.Second), PriorityNotification), with(cold("a", "request", 10*time.Second), PriorityRequest),
			with(cold("a", "reply", 5*time.Second), PriorityReply), with(cold("a", "user", 0), PriorityUser)}},
			[]string{"user", "reply", "request", "note"}},
		{"age raises priority", Fleet{Ready: []Candidate{
			with(cold("a", "user", 0), PriorityUser), with(cold("a", "note", 91*time.Second), PriorityNotification)}}, []string{"note", "user"}},
		{"not before its time", Fleet{Ready: []Candidate{
			with(cold("a", "user", 0), PriorityUser), with(cold("a", "note", 89*time.Second), PriorityNotification)}}, []string{"user", "note"}},
		{"teams take turns", Fleet{Ready: []Candidate{cold("a", "a1", 9), cold("a", "a2", 8), cold("b", "b1", 2), cold("b", "b2", 1)}},
			[]string{"a1", "b1", "a2", "b2"}},
		{"the team with fewer turns first", Fleet{Ready: []Candidate{cold("a", "a1", 9), cold("b", "b1", 2), cold("b", "b2", 1)},
			Running: []Process{turn("a", "a8"), turn("a", "a9")}}, []string{"b1", "b2", "a1"}},
		{"the team that was served longest ago", Fleet{Ready: []Candidate{cold("a", "a1", 9), cold("b", "b1", 2), cold("c", "c1", 1)},
			Served: map[string]time.Time{"a": ago(1), "b": ago(2)}}, []string{"c1", "b1", "a1"}},
		{"a turn just given is the last", Fleet{Ready: []Candidate{cold("a", "a1", 9), cold("a", "a2", 8), cold("b", "b1", 7)}, Running: []Process{turn("b", "b9")},
			Served: map[string]time.Time{"a": ago(time.Hour), "b": ago(time.Minute)}}, []string{"a1", "b1", "a2"}},
		{"a live session is a little ahead", Fleet{Ready: []Candidate{cold("a", "cold", 9*time.Second), cold("a", "live", 0), cold("a", "older", 11*time.Second)},
			Running: []Process{idle("a", "live", time.Second)}}, []string{"older", "live", "cold"}},
		{"a full pool is no obstacle to others", Fleet{Ready: []Candidate{cold("a", "1", 9), cold("a", "2", 8), inPool(cold("a", "3", 1), "q")},
			Limits: Limits{Total: 10, Pools: map[string]int{"p": 1}}}, []string{"1", "3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.fleet.Limits.Total == 0 {
				test.fleet.Limits.Total = 100
			}
			same(t, "started", started(Make(noon, test.fleet)), test.want...)
		})
	}
}

func TestSuspendForASlot(t *testing.T) {
	f := Fleet{
		Ready:   []Candidate{cold("a", "new", time.Minute)},
		Running: []Process{idle("a", "young", time.Second), idle("b", "old", time.Minute), turn("c", "works")},
		Limits:  Limits{Total: 3},
	}
	p := Make(noon, f)
	same(t, "started", started(p))
	same(t, "suspended", suspended(p), "old")
	if w := reason(t, p, "new"); w.Reason != ReasonFreeing {
		t.Errorf("waits for %s", w.Reason)
	}
	// While it goes nothing else is suspended, and nobody starts on its slot.
	f.Running[1].Leaving = true
	p = Make(noon, f)
	same(t, "started", started(p))
	same(t, "suspended", suspended(p))
	// One more that waits has one more session suspended.
	f.Ready = append(f.Ready, cold("a", "newer", time.Second))
	same(t, "suspended", suspended(Make(noon, f)), "young")
	f.Running = slices.Delete(f.Running, 1, 2)
	f.Ready = f.Ready[:1]
	same(t, "started", started(Make(noon, f)), "new")
}

// A promise counts as a turn: teams share what is being freed as well.
func TestPromisesAreShared(t *testing.T) {
	f := Fleet{
		Ready:   []Candidate{cold("a", "a1", 9), cold("a", "a2", 8), cold("b", "b1", 1)},
		Running: []Process{idle("c", "1", 1), idle("c", "2", 1)},
		Limits:  Limits{Total: 2},
	}
	p := Make(noon, f)
	same(t, "suspended", suspended(p), "1", "2")
	for agent, want := range map[string]Reason{"a1": ReasonFreeing, "a2": ReasonSlots, "b1": ReasonFreeing} {
		if w := reason(t, p, agent); w.Reason != want {
			t.Errorf("%s waits for %s, want %s", agent, w.Reason, want)
		}
	}
}

func TestSuspendFreesWhatIsNeeded(t *testing.T) {
	q := idle("a", "q", time.Hour)
	q.Pool = "q"
	f := Fleet{
		Ready:   []Candidate{cold("a", "new", time.Minute)},
		Running: []Process{q, idle("a", "p", time.Second)},
		Limits:  Limits{Total: 5, Pools: map[string]int{"p": 1}},
	}
	same(t, "suspended", suspended(Make(noon, f)), "p") // the older one is of another pool
	f.Running[1].Turn = true
	p := Make(noon, f)
	same(t, "suspended", suspended(p))
	if w := reason(t, p, "new"); w.Reason != ReasonPool {
		t.Errorf("waits for %s", w.Reason)
	}
}

// Sessions that always have work must not keep every slot.
func TestAWantedSessionIsTakenByWhoIsBeforeIt(t *testing.T) {
	f := Fleet{
		Ready:   []Candidate{cold("a", "live", time.Second), cold("a", "new", time.Minute)},
		Running: []Process{idle("a", "live", 0)},
		Limits:  Limits{Total: 1},
	}
	p := Make(noon, f)
	same(t, "started", started(p))
	same(t, "suspended", suspended(p), "live")
	f.Ready[0].Since = ago(time.Hour)
	p = Make(noon, f)
	same(t, "started", started(p), "live")
	same(t, "suspended", suspended(p))
	// One without work goes rather than one with, however short it has been idle.
	f.Ready[0].Since = ago(time.Second)
	f.Running = []Process{idle("a", "live", time.Hour), idle("a", "done", 0)}
	f.Limits.Total = 2
	p = Make(noon, f)
	same(t, "started", started(p), "live")
	same(t, "suspended", suspended(p), "done")
}

func TestIdleForTooLong(t *testing.T) {
	f := Fleet{
		Ready:   []Candidate{cold("a", "woken", time.Second)},
		Running: []Process{idle("a", "long", 10*time.Minute), idle("a", "short", 4*time.Minute), idle("a", "woken", time.Hour)},
		Limits:  Limits{Total: 9, SuspendAfter: 5 * time.Minute},
	}
	p := Make(noon, f)
	same(t, "suspended", suspended(p), "long")
	same(t, "started", started(p), "woken")
	if want := noon.Add(time.Minute); !p.Next.Equal(want) {
		t.Errorf("next %v, want %v", p.Next, want)
	}
}

func TestLoweredLimit(t *testing.T) {
	f := Fleet{Running: []Process{idle("a", "1", 3), idle("a", "2", 2), idle("a", "3", 1), turn("a", "4")}, Limits: Limits{Total: 2}}
	same(t, "suspended", suspended(Make(noon, f)), "1", "2")
	f.Limits = Limits{Total: 9, Pools: map[string]int{"p": 3}}
	same(t, "suspended", suspended(Make(noon, f)), "1")
}

func TestMemoryLow(t *testing.T) {
	f := Fleet{
		Ready:   []Candidate{cold("a", "new", time.Hour), cold("a", "live", time.Second)},
		Running: []Process{idle("a", "live", time.Second), idle("a", "old", time.Minute), idle("a", "young", time.Second)},
		Limits:  Limits{Total: 9, MemoryLow: true},
	}
	p := Make(noon, f)
	same(t, "started", started(p), "live")
	same(t, "suspended", suspended(p), "old")
	if w := reason(t, p, "new"); w.Reason != ReasonMemory {
		t.Errorf("waits for %s", w.Reason)
	}
	f.Running[1].Leaving = true
	same(t, "suspended", suspended(Make(noon, f)))
	// Not even when nothing runs; but it is looked at again.
	p = Make(noon, Fleet{Ready: f.Ready[:1], Limits: f.Limits})
	same(t, "started", started(p))
	if w := reason(t, p, "new"); w.Reason != ReasonMemory || !p.Next.Equal(noon.Add(MemoryLook)) {
		t.Errorf("waits for %s, next %v", w.Reason, p.Next)
	}
}

func TestHeldAccount(t *testing.T) {
	other := cold("a", "other", time.Minute)
	other.Account = "else"
	f := Fleet{Ready: []Candidate{cold("a", "held", time.Hour), other}, Limits: Limits{Total: 9},
		Holds: []Hold{{Account: "acc", Until: noon.Add(time.Hour)}}}
	p := Make(noon, f)
	same(t, "started", started(p), "other")
	if w := reason(t, p, "held"); w.Reason != ReasonAccount || !w.Until.Equal(noon.Add(time.Hour)) || !p.Next.Equal(w.Until) {
		t.Errorf("%+v, next %v", w, p.Next)
	}
	// The longest counts, and one without an end is the longest.
	f.Holds = append(f.Holds, Hold{Account: "acc", Class: substrat.ClassAuth}, Hold{Account: "acc", Until: noon.Add(2 * time.Hour)})
	p = Make(noon, f)
	if w := reason(t, p, "held"); !w.Until.IsZero() || !p.Next.IsZero() {
		t.Errorf("%+v, next %v", w, p.Next)
	}
}

func TestStagger(t *testing.T) {
	for _, n := range []int{1, 5, 20, 300} {
		f := Fleet{Limits: Limits{Total: 1000}, Holds: []Hold{{Account: "acc", Until: noon}}}
		for i := range n {
			f.Ready = append(f.Ready, cold("a", fmt.Sprintf("agent-%d", i), time.Second))
		}
		bound := min(Stagger, time.Duration(n)*time.Second)
		perSecond := map[int64]int{}
		now := noon
		for len(f.Ready) > 0 {
			p := Make(now, f)
			for _, c := range p.Start {
				perSecond[int64(now.Sub(noon)/time.Second)]++
				f.Ready = slices.DeleteFunc(f.Ready, func(o Candidate) bool { return o.Agent == c.Agent })
				f.Running = append(f.Running, Process{Team: "a", Agent: c.Agent, Pool: "p", Account: "acc", Turn: true, Since: now})
			}
			if len(f.Ready) == 0 {
				break
			}
			if !p.Next.After(now) {
				t.Fatalf("%d wait and nothing asks for another look at %v", len(f.Ready), now)
			}
			now = p.Next
		}
		if late := now.Sub(noon); late > bound {
			t.Errorf("%d agents: the last was woken after %v, more than %v", n, late, bound)
		}
		for second, woken := range perSecond {
			if most := max(4, 2*n/int(bound/time.Second)); woken > most {
				t.Errorf("%d agents: %d in second %d", n, woken, second)
			}
		}
	}
	// One that comes later does not wait, nor anybody when it is long past.
	late := cold("a", "late", 0)
	late.Since = noon.Add(time.Nanosecond)
	f := Fleet{Ready: []Candidate{late}, Limits: Limits{Total: 9}, Holds: []Hold{{Account: "acc", Until: noon}}}
	for i := range 8 {
		f.Ready = append(f.Ready, cold("a", fmt.Sprint(i), time.Second))
	}
	same(t, "started", started(Make(noon.Add(time.Nanosecond), f)), "late")
	f.Ready = []Candidate{cold("a", "early", time.Minute)}
	same(t, "started", started(Make(noon.Add(Stagger), f)), "early")
}

func TestProbe(t *testing.T) {
	f := Fleet{Limits: Limits{Total: 9}, Holds: []Hold{{Account: "acc", Until: noon, Probe: true}},
		Ready:   []Candidate{cold("a", "1", 2), cold("a", "2", 3), cold("b", "3", 1)},
		Running: []Process{turn("c", "from before the hold")}}
	p := Make(noon, f)
	same(t, "started", started(p), "2")
	if w := reason(t, p, "3"); w.Reason != ReasonProbe {
		t.Errorf("waits for %s", w.Reason)
	}
	f.Running = append(f.Running, Process{Team: "a", Agent: "2", Account: "acc", Turn: true, Since: noon})
	same(t, "started", started(Make(noon.Add(time.Hour), f)))
}

func TestBadInput(t *testing.T) {
	// The same agent twice, one that is running, no limits at all, priorities that do not exist.
	c := cold("a", "1", time.Second)
	odd := cold("a", "odd", 0)
	odd.Priority, odd.Since = 99, time.Time{}
	f := Fleet{Ready: []Candidate{c, c, cold("a", "busy", 1), odd}, Running: []Process{turn("a", "busy")}, Limits: Limits{Total: 9}}
	p := Make(noon, f)
	same(t, "started", started(p), "odd", "1")
	if w := reason(t, p, "busy"); w.Reason != ReasonBusy {
		t.Errorf("waits for %s", w.Reason)
	}
	f.Limits = Limits{Total: -1}
	if p = Make(noon, f); len(p.Start) != 0 {
		t.Errorf("started %v", started(p))
	}
	if p = Make(time.Time{}, Fleet{}); len(p.Start)+len(p.Waiting) != 0 {
		t.Errorf("%+v", p)
	}
}

// Ahead is the place in the order in which slots would be given.
func TestAhead(t *testing.T) {
	f := Fleet{Served: map[string]time.Time{"team-1": ago(time.Hour)}, Running: []Process{turn("team-2", "x")}}
	for i := range 60 {
		f.Ready = append(f.Ready, cold(fmt.Sprintf("team-%d", i%7), fmt.Sprint("agent-", i), time.Duration(i*i%17)*time.Second))
	}
	f.Limits.Total = 1000
	order := started(Make(noon, f))
	f.Limits.Total = 1
	p := Make(noon, f)
	if len(p.Start) != 0 || len(order) != 60 {
		t.Fatalf("%v, %v", started(p), order)
	}
	for i, agent := range order {
		if n, ok := p.Ahead(agent); !ok || n != i {
			t.Errorf("%s: %d ahead, %v; want %d", agent, n, ok, i)
		}
	}
	if _, ok := p.Ahead("nobody"); ok {
		t.Error("nobody waits")
	}
}

func BenchmarkMake(b *testing.B) {
	for _, free := range []int{0, 8, 1000} {
		b.Run(fmt.Sprintf("free=%d", free), func(b *testing.B) {
			f := Fleet{Limits: Limits{Total: free, Pools: map[string]int{"p0": max(1, free/2)}}, Served: map[string]time.Time{}}
			for i := range 10_000 {
				f.Ready = append(f.Ready, Candidate{Team: fmt.Sprintf("team-%d", i%100), Agent: fmt.Sprintf("agent-%05d", i), Pool: fmt.Sprint("p", i%3),
					Account: fmt.Sprint("acc", i%5), Priority: Priority(i % 4), Since: ago(time.Duration(i*7919%100_000) * time.Millisecond)})
			}
			for b.Loop() {
				Make(noon, f)
			}
		})
	}
}
