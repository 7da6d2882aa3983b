package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MemoryLook is how soon a plan asks to be made again while somebody waits for memory.
const MemoryLook = 5 * time.Second

// counts are processes, in all and by pool.
type counts struct {
	total int
	pools map[string]int
}

func (c *counts) add(pool string, n int) {
	c.total += n
	c.pools[pool] += n
}

// session is a live process without a turn, at the time of the plan.
type session struct {
	Process
	wanted bool // somebody may have a turn on it now
	spent  bool // it has been given a turn, or is suspended by this plan
}

// planner makes one plan.
type planner struct {
	now      time.Time
	limits   Limits
	plan     Plan
	busy     map[string]bool // agents with an open turn, or whose process is going: false, true
	sessions map[string]*session
	idle     []*session // that may be suspended: unwanted first, then the least recently used

	// here counts the slots that are held, soon those that will be when everything that goes has gone and everybody who
	// was promised a slot has it. A process starts only if it fits in both.
	here, soon counts
	leaving    int

	shutTotal bool
	shutPools map[string]bool
	gates     map[string]*gate
}

// Make plans. It looks at everything anew; what was planned before is seen only in what is running or leaving.
func Make(now time.Time, f Fleet) Plan {
	p := &planner{
		now: now, limits: f.Limits,
		plan:     Plan{ready: f.Ready, turns: map[string]int{}, served: f.Served, now: now},
		busy:     map[string]bool{},
		sessions: map[string]*session{},
		here:     counts{pools: map[string]int{}}, soon: counts{pools: map[string]int{}},
		shutPools: map[string]bool{},
	}
	p.count(f.Running)
	p.gates = openGates(now, f.Holds, f.Running, f.Ready)
	admitted := p.admit(f.Ready)
	p.sortIdle()
	p.shed()
	cold := p.grant(admitted)
	p.freeMemory(cold)
	p.outlook()
	return p.plan
}

// count takes stock of what is running.
func (p *planner) count(running []Process) {
	for _, r := range running {
		p.here.add(r.Pool, 1)
		switch {
		case r.Turn:
			p.plan.turns[r.Team]++
			p.busy[r.Agent] = false
			p.soon.add(r.Pool, 1)
		case r.Leaving:
			p.busy[r.Agent] = true
			p.leaving++
		default:
			s := &session{Process: r}
			p.sessions[r.Agent] = s
			p.idle = append(p.idle, s)
			p.soon.add(r.Pool, 1)
		}
	}
}

// admit finds the candidates that nothing but a slot or memory keeps from running. The others wait.
func (p *planner) admit(ready []Candidate) []int {
	p.plan.Waiting = make([]Waiting, 0, len(ready))
	admitted := make([]int, 0, len(ready))
	for i := range ready {
		c := &ready[i]
		if going, busy := p.busy[c.Agent]; busy {
			reason := ReasonBusy
			if going {
				reason = ReasonFreeing
			}
			p.wait(c, reason, time.Time{})
			continue
		}
		if g := p.gates[c.Account]; g != nil {
			reason, until := g.ask(p.now, c, p.sessions[c.Agent] != nil, i)
			if reason != "" {
				p.wait(c, reason, until)
				continue
			}
			if g.probe {
				continue // it is known who probes when all have asked
			}
		}
		admitted = append(admitted, i)
	}
	for _, g := range p.gates {
		if g.chosen < 0 {
			continue
		}
		for _, i := range g.asked {
			if i != g.chosen {
				p.wait(&ready[i], ReasonProbe, time.Time{})
			}
		}
		admitted = append(admitted, g.chosen)
	}
	for _, i := range admitted {
		if s := p.sessions[ready[i].Agent]; s != nil {
			s.wanted = true
		}
	}
	return admitted
}

func (p *planner) wait(c *Candidate, reason Reason, until time.Time) {
	p.plan.Waiting = append(p.plan.Waiting, Waiting{Team: c.Team, Agent: c.Agent, Reason: reason, Until: until})
	p.alarm(until)
}

// alarm asks for a plan at t.
func (p *planner) alarm(t time.Time) {
	if t.After(p.now) && (p.plan.Next.IsZero() || t.Before(p.plan.Next)) {
		p.plan.Next = t
	}
}

// sortIdle puts the sessions in the order in which they are suspended.
func (p *planner) sortIdle() {
	slices.SortFunc(p.idle, func(a, b *session) int {
		if a.wanted != b.wanted {
			if b.wanted {
				return -1
			}
			return 1
		}
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Agent, b.Agent))
	})
}

// suspend tells a session to go. Its slot is held until it has, and free after.
func (p *planner) suspend(s *session) {
	s.spent = true
	p.soon.add(s.Pool, -1)
	p.leaving++
	p.plan.Suspend = append(p.plan.Suspend, s.Process)
}

// shed suspends what has been idle for too long, and what is over a limit that has been lowered.
func (p *planner) shed() {
	for _, s := range p.idle {
		limit, limited := p.limits.Pools[s.Pool]
		old := !s.wanted && p.limits.SuspendAfter > 0 && p.now.Sub(s.Since) >= p.limits.SuspendAfter
		if old || p.soon.total > p.limits.Total || limited && p.soon.pools[s.Pool] > limit {
			p.suspend(s)
		}
	}
}

// fits reports whether one more process of a pool keeps the limits.
func (p *planner) fits(c *counts, pool string) bool {
	limit, limited := p.limits.Pools[pool]
	return c.total < p.limits.Total && (!limited || c.pools[pool] < limit)
}

// grant goes through the candidates in order, and returns how many wait for memory.
func (p *planner) grant(admitted []int) (cold int) {
	ready := p.plan.ready
	p.plan.queue = make([]int, 0, len(admitted))
	o := newOrder(p.now, p.plan.turns, p.plan.served)
	for _, i := range admitted {
		c := &ready[i]
		live := p.sessions[c.Agent] != nil
		if p.limits.MemoryLow && !live {
			cold++
			p.queue(i, ReasonMemory)
			continue
		}
		o.add(c, i, live)
	}
	o.begin()
	for {
		i, team, ok := o.next(p.shut)
		if !ok {
			break
		}
		c := &ready[i]
		reason := p.place(c)
		if reason == "" || reason == ReasonFreeing {
			o.gave(team)
		}
		if reason != "" {
			p.queue(i, reason)
			continue
		}
		p.plan.turns[c.Team]++
		p.plan.Start = append(p.plan.Start, *c)
		p.busy[c.Agent] = false
	}
	o.rest(func(i int) {
		reason := ReasonSlots
		if !p.shutTotal {
			reason = ReasonPool
		}
		p.queue(i, reason)
	})
	return cold
}

// shut reports whether nobody of a lane can get anything any more. That is so for those with a live session as well: it
// would have been suspended rather than that a lane was shut.
func (p *planner) shut(l *lane) bool {
	return p.shutTotal || p.shutPools[l.pool]
}

// queue lets a candidate wait for a slot or memory.
func (p *planner) queue(index int, reason Reason) {
	p.wait(&p.plan.ready[index], reason, time.Time{})
	p.plan.queue = append(p.plan.queue, index)
}

// place gives a candidate its own session, a free slot, or the promise of one. What it cannot get nobody behind it can.
func (p *planner) place(c *Candidate) Reason {
	if _, twice := p.busy[c.Agent]; twice {
		return ReasonBusy
	}
	if s := p.sessions[c.Agent]; s != nil {
		if s.spent { // somebody before it has the slot
			return ReasonSlots
		}
		s.spent = true
		return ""
	}
	if p.fits(&p.soon, c.Pool) {
		p.soon.add(c.Pool, 1)
		if p.fits(&p.here, c.Pool) {
			p.here.add(c.Pool, 1)
			return ""
		}
		return ReasonFreeing
	}
	if s := p.victim(c.Pool); s != nil {
		p.suspend(s)
		p.soon.add(c.Pool, 1)
		return ReasonFreeing
	}
	limit, limited := p.limits.Pools[c.Pool]
	if limited && p.soon.pools[c.Pool] >= limit {
		p.shutPools[c.Pool] = true
		if p.soon.total < p.limits.Total {
			return ReasonPool
		}
		return ReasonSlots
	}
	p.shutTotal = true
	return ReasonSlots
}

// victim finds the session whose going makes room in a pool. That one is enough: what is over a limit was shed before.
func (p *planner) victim(pool string) *session {
	limit, limited := p.limits.Pools[pool]
	full := limited && p.soon.pools[pool] >= limit
	for _, s := range p.idle {
		if !s.spent && (!full || s.Pool == pool) {
			return s
		}
	}
	return nil
}

// freeMemory suspends one session when somebody waits for memory and nothing is going yet.
func (p *planner) freeMemory(cold int) {
	if cold == 0 {
		return
	}
	p.alarm(p.now.Add(MemoryLook))
	if p.leaving > 0 {
		return
	}
	for _, s := range p.idle {
		if !s.spent {
			p.suspend(s)
			return
		}
	}
}

// outlook finds when the next session will have been idle for too long.
func (p *planner) outlook() {
	if p.limits.SuspendAfter <= 0 {
		return
	}
	for _, s := range p.idle {
		if !s.spent {
			p.alarm(s.Since.Add(p.limits.SuspendAfter))
		}
	}
}

// Ahead tells how many of those that wait for a slot would be served before an agent if slots came free one by one and
// nothing else changed. It is found only when asked for, and false for an agent that does not wait for a slot.
func (p *Plan) Ahead(agent string) (int, bool) {
	if !slices.ContainsFunc(p.queue, func(i int) bool { return p.ready[i].Agent == agent }) {
		return 0, false
	}
	o := newOrder(p.now, p.turns, p.served)
	for _, i := range p.queue {
		o.add(&p.ready[i], i, false)
	}
	o.begin()
	for n := 0; ; n++ {
		i, team, ok := o.next(open)
		if !ok {
			return 0, false
		}
		if p.ready[i].Agent == agent {
			return n, true
		}
		o.gave(team)
	}
}
