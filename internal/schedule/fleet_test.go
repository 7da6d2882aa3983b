package schedule

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"substrat.dev/substrat"
)

// member is an agent of a simulated fleet.
type member struct {
	Candidate
	ready   bool // it has mail
	stays   bool // its process stays after a turn
	process *Process
	// passed counts the turns that others were given while it could have had one.
	passed int
}

// fleet is a simulation: agents get mail, turns end, processes go, providers refuse, memory and limits change, in any
// order; after each the plan is checked against everything that a plan must be, and carried out.
type fleet struct {
	fatalf  func(string, ...any)
	pick    func(n int) int
	now     time.Time
	members []*member
	limits  Limits
	streaks []Streak
	served  map[string]time.Time
	ill     map[string]substrat.FailureClass // by account
	most    int                              // of member.passed
	starts  int
}

func newFleet(fatalf func(string, ...any), pick func(n int) int) *fleet {
	f := &fleet{fatalf: fatalf, pick: pick, now: noon, served: map[string]time.Time{}, ill: map[string]substrat.FailureClass{}}
	f.limits = Limits{Total: 1 + pick(8), SuspendAfter: 2 * time.Minute, Pools: map[string]int{"p1": 1 + pick(3)}}
	teams, pools := 1+pick(5), 1+pick(3)
	for i := range 2 + pick(40) {
		pool := fmt.Sprint("p", i%pools)
		f.members = append(f.members, &member{stays: pick(2) == 0, Candidate: Candidate{
			Team: fmt.Sprint("t", pick(teams)), Agent: fmt.Sprint("a", i), Pool: pool, Account: fmt.Sprint(pool, "-", pick(2))}})
	}
	return f
}

func (f *fleet) state() Fleet {
	s := Fleet{Limits: f.limits, Served: f.served, Holds: Holds(f.now, f.streaks)}
	for _, m := range f.members {
		if m.process != nil {
			s.Running = append(s.Running, *m.process)
		}
		if m.ready && (m.process == nil || !m.process.Turn) {
			s.Ready = append(s.Ready, m.Candidate)
		}
	}
	return s
}

func (f *fleet) member(id string) *member {
	i := slices.IndexFunc(f.members, func(m *member) bool { return m.Agent == id })
	return f.members[i]
}

// some picks one of those that fit, nil if none does.
func (f *fleet) some(fits func(*member) bool) *member {
	start := f.pick(len(f.members))
	for i := range f.members {
		if m := f.members[(start+i)%len(f.members)]; fits(m) {
			return m
		}
	}
	return nil
}

func (m *member) turns() bool   { return m.process != nil && m.process.Turn }
func (m *member) leaving() bool { return m.process != nil && m.process.Leaving }

func (f *fleet) mail() {
	if m := f.some(func(m *member) bool { return !m.ready }); m != nil {
		m.ready, m.Since, m.Priority = true, f.now, Priority(f.pick(4))
	}
}

func (f *fleet) endTurn() {
	m := f.some((*member).turns)
	if m == nil {
		return
	}
	class := f.ill[m.Account]
	f.streaks = Note(f.streaks, Outcome{Account: m.Account, Class: class, Began: m.process.Since, Ended: f.now})
	if class != "" && !m.ready { // its mail is back
		m.ready, m.Since = true, f.now
	}
	if m.process.Turn, m.process.Since = false, f.now; !m.stays || f.pick(8) == 0 {
		m.process = nil
	}
}

func (f *fleet) goes() {
	if m := f.some((*member).leaving); m != nil {
		m.process = nil
	}
}

// step lets something happen.
func (f *fleet) step() {
	switch n := f.pick(100); {
	case n < 35:
		f.mail()
	case n < 62:
		f.endTurn()
	case n < 75:
		f.goes()
	case n < 92:
		f.now = f.now.Add(time.Duration(f.pick(20_000)) * time.Millisecond)
	case n < 94:
		f.limits.MemoryLow = !f.limits.MemoryLow && f.pick(3) == 0
	case n < 95:
		f.limits.Total = 1 + f.pick(8)
	case n < 96:
		f.limits.Pools["p1"] = 1 + f.pick(3)
	case n < 98:
		account := f.members[f.pick(len(f.members))].Account
		f.ill[account] = append(counted, "", "", "", "")[f.pick(len(counted)+4)]
	default:
		account := f.members[f.pick(len(f.members))].Account
		f.ill[account] = ""
		f.streaks = Resume(f.streaks, account, f.now)
	}
	f.schedule()
}

// schedule plans, checks and carries out.
func (f *fleet) schedule() Plan {
	s := f.state()
	p := Make(f.now, s)
	f.check(s, p)
	for _, c := range p.Start {
		m := f.member(c.Agent)
		m.ready, m.passed = false, 0
		m.process = &Process{Team: m.Team, Agent: m.Agent, Pool: m.Pool, Account: m.Account, Turn: true, Since: f.now}
		f.served[m.Team] = f.now
	}
	for _, r := range p.Suspend {
		f.member(r.Agent).process.Leaving = true
	}
	f.starts += len(p.Start)
	for _, w := range p.Waiting {
		if m := f.member(w.Agent); w.Reason == ReasonSlots || w.Reason == ReasonPool || w.Reason == ReasonFreeing {
			m.passed += len(p.Start)
			f.most = max(f.most, m.passed)
		}
	}
	f.checkStill(p)
	return p
}

// checkStill sees that a plan carried out leaves nothing to do, now and until the time it names.
func (f *fleet) checkStill(p Plan) {
	s := f.state()
	until := f.now.Add(time.Hour)
	if again := Make(f.now, s); len(again.Start)+len(again.Suspend) > 0 {
		f.fatalf("a second look at once changes things: %+v", again)
	} else if next := again.Next; !next.IsZero() {
		until = next.Add(-1)
	}
	f.now, until = until, f.now
	s = f.state() // holds come with the time
	if later := Make(f.now, s); len(later.Start)+len(later.Suspend) > 0 {
		f.fatalf("the plan of %v was to hold until %v: %+v", until, f.now, later)
	}
	f.now = until
}

// check compares a plan with the fleet it was made for.
func (f *fleet) check(s Fleet, p Plan) {
	c := checked{fleet: f, s: s, p: p, total: len(s.Running), pools: map[string]int{}, idle: map[string]Process{}, turns: map[string]int{}, got: map[string]bool{}}
	c.suspends()
	c.startsFit()
	c.waits()
	c.probes()
}

// checked is what the checks of one plan share.
type checked struct {
	*fleet
	s     Fleet
	p     Plan
	total int
	pools map[string]int     // processes
	idle  map[string]Process // that could be suspended
	turns map[string]int     // by team
	got   map[string]bool
	// owed counts open turns, those that start and those that were promised a slot.
	owed      int
	owedPools map[string]int
	lastCold  map[string]int // a team's turns after its last start of a process
}

func (c *checked) suspends() {
	for _, r := range c.s.Running {
		c.pools[r.Pool]++
		switch {
		case r.Turn:
			c.turns[r.Team]++
		case !r.Leaving:
			c.idle[r.Agent] = r
		}
	}
	for _, r := range c.p.Suspend {
		if _, ok := c.idle[r.Agent]; !ok {
			c.fatalf("%s is suspended, and is not idle or was twice", r.Agent)
		}
		delete(c.idle, r.Agent)
	}
}

func (c *checked) startsFit() {
	c.owedPools, c.lastCold = map[string]int{}, map[string]int{}
	for _, r := range c.s.Running {
		if r.Turn {
			c.owed++
			c.owedPools[r.Pool]++
		}
	}
	for _, a := range c.p.Start {
		if c.got[a.Agent] || !slices.Contains(c.s.Ready, a) {
			c.fatalf("%s starts twice or without being ready", a.Agent)
		}
		c.got[a.Agent] = true
		c.turns[a.Team]++
		c.owed++
		c.owedPools[a.Pool]++
		if c.member(a.Agent).process != nil {
			if _, ok := c.idle[a.Agent]; !ok {
				c.fatalf("%s starts on a process that goes", a.Agent)
			}
			delete(c.idle, a.Agent)
			continue
		}
		c.lastCold[a.Team] = c.turns[a.Team]
		c.total++
		c.pools[a.Pool]++
		limit, limited := c.limits.Pools[a.Pool]
		if c.total > c.limits.Total || limited && c.pools[a.Pool] > limit || c.limits.MemoryLow {
			c.fatalf("%s starts over a limit: %d of %d, %v of %v, memory low %v", a.Agent, c.total, c.limits.Total, c.pools, c.limits.Pools, c.limits.MemoryLow)
		}
	}
	for _, h := range c.s.Holds {
		for _, a := range c.p.Start {
			if a.Account == h.Account && (h.Until.IsZero() || c.now.Before(h.Until)) {
				c.fatalf("%s starts in spite of %+v", a.Agent, h)
			}
		}
	}
}

// waits checks that everybody else waits for a reason that is true.
func (c *checked) waits() {
	var forSlots []*member
	for _, w := range c.p.Waiting {
		m := c.member(w.Agent)
		if c.got[w.Agent] || !m.ready {
			c.fatalf("%s waits and starts, or waits twice, or is not ready", w.Agent)
		}
		c.got[w.Agent] = true
		switch w.Reason {
		case ReasonFreeing:
			if !m.leaving() {
				c.owed++
				c.owedPools[m.Pool]++
				c.turns[m.Team]++
			}
		case ReasonSlots, ReasonPool:
			forSlots = append(forSlots, m)
		case ReasonMemory:
			if !c.limits.MemoryLow || c.p.Next.IsZero() {
				c.fatalf("%s waits for memory: low %v, next %v", w.Agent, c.limits.MemoryLow, c.p.Next)
			}
		case ReasonStagger:
			if w.Until.Sub(c.now) > Stagger {
				c.fatalf("%s is woken at %v, now is %v", w.Agent, w.Until, c.now)
			}
		}
	}
	if len(c.got) != len(c.s.Ready) {
		c.fatalf("%d are ready, %d start or wait", len(c.s.Ready), len(c.got))
	}
	for _, m := range forSlots {
		c.waitsForSlot(m)
	}
}

// waitsForSlot checks that there is no slot for who waits for one, and that nobody went before who should not have.
func (c *checked) waitsForSlot(m *member) {
	limit, limited := c.limits.Pools[m.Pool]
	full := limited && c.owedPools[m.Pool] >= limit
	if !full && c.owed < c.limits.Total {
		c.fatalf("%s waits for a slot: %d of %d taken or promised, %v of %v", m.Agent, c.owed, c.limits.Total, c.owedPools, c.limits.Pools)
	}
	for _, r := range c.idle {
		if r.Pool == m.Pool {
			c.fatalf("%s waits for a slot and %s keeps one, idle", m.Agent, r.Agent)
		}
	}
	if _, ahead := c.p.Ahead(m.Agent); !ahead {
		c.fatalf("%s waits for a slot, but is in no queue", m.Agent)
	}
	mine := rankOf(&m.Candidate, 0, false)
	for _, a := range c.p.Start {
		if a.Team == m.Team && a.Pool == m.Pool && c.member(a.Agent).process == nil && rankOf(&a, 0, false).compare(mine) > 0 && m.process == nil {
			c.fatalf("%s started before %s", a.Agent, m.Agent)
		}
	}
	for team, turns := range c.lastCold {
		if !limited && m.process == nil && turns > c.turns[m.Team]+1 {
			c.fatalf("team %s was given its turn %d while %s has %d and waits", team, turns, m.Team, c.turns[m.Team])
		}
	}
}

func (c *checked) probes() {
	for _, h := range c.s.Holds {
		if !h.Probe || c.now.Before(h.Until) {
			continue
		}
		n := 0
		for _, r := range c.s.Running {
			if r.Account == h.Account && r.Turn && !r.Since.Before(h.Until) {
				n++
			}
		}
		for _, a := range c.p.Start {
			if a.Account == h.Account {
				n++
			}
		}
		if n > 1 {
			c.fatalf("%d turns try the account %s", n, h.Account)
		}
	}
}

// drain lets everybody come to an end: nothing may be left over.
func (f *fleet) drain() {
	f.limits.MemoryLow = false
	clear(f.ill)
	for _, m := range f.members {
		f.streaks = Resume(f.streaks, m.Account, f.now)
	}
	left := func() bool {
		return slices.ContainsFunc(f.members, func(m *member) bool { return m.ready || m.process != nil })
	}
	for n := 0; left(); n++ {
		if n > 100*len(f.members) {
			f.fatalf("something is left: %+v", f.state())
		}
		p := f.schedule()
		f.endTurn()
		f.goes()
		if len(p.Start)+len(p.Suspend) == 0 && p.Next.After(f.now) {
			f.now = p.Next
		}
	}
}

// passedMost is how many turns others may be given while one waits that could have one, for each agent of the fleet.
const passedMost = 40

func TestFleet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(t.Fatalf, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") })
		for range 60 {
			f.step()
		}
		f.drain()
	})
}

// TestFleetLong is the same for long, with fleets that live long: SOAK=1m takes it on for that long, and for 100,000
// steps at the least.
func TestFleetLong(t *testing.T) {
	steps, until := 10_000, time.Now()
	if v := os.Getenv("SOAK"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatalf("SOAK: %v", err)
		}
		steps, until = 100_000, until.Add(d)
	}
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("SEED"); v != "" {
		if _, err := fmt.Sscan(v, &seed); err != nil {
			t.Fatalf("SEED: %v", err)
		}
	}
	t.Logf("SEED=%d repeats this run", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	done, starts, worst := 0, 0, 0
	for done < steps || time.Now().Before(until) {
		f := newFleet(t.Fatalf, random.IntN)
		for range 2000 {
			f.step()
		}
		done += 2000
		f.drain()
		starts += f.starts
		worst = max(worst, f.most/len(f.members))
		if f.most > passedMost*len(f.members) {
			t.Fatalf("one of %d agents was passed over %d times", len(f.members), f.most)
		}
	}
	t.Logf("%d steps, %d turns; the worst wait was %d turns for each agent of its fleet", done, starts, worst)
}

// Two teams that always have work share the slots, however many of one wait.
func TestTeamsShare(t *testing.T) {
	f := newFleet(t.Fatalf, func(int) int { return 0 })
	f.members, f.limits = nil, Limits{Total: 8}
	for i := range 60 {
		team := "chatty"
		if i < 6 {
			team = "quiet"
		}
		f.members = append(f.members, &member{stays: i%3 == 0, Candidate: Candidate{Team: team, Agent: fmt.Sprint("a", i), Pool: "p", Account: "a"}})
	}
	random := rand.New(rand.NewPCG(1, 1))
	f.pick = random.IntN
	for n := range 3000 {
		for _, m := range f.members {
			if !m.ready {
				m.ready, m.Since, m.Priority = true, f.now, PriorityRequest
			}
		}
		f.schedule()
		turns := map[string]int{}
		for _, m := range f.members {
			if m.turns() {
				turns[m.Team]++
			}
		}
		if d := turns["chatty"] - turns["quiet"]; n > 100 && (d > 3 || d < -3) {
			t.Fatalf("step %d: %v", n, turns)
		}
		f.now = f.now.Add(time.Second)
		f.endTurn()
		f.goes()
	}
}
