package schedule

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"
)

const (
	ageing = 30 * time.Second // of waiting raise a candidate by one class
	warm   = 10 * time.Second // by which a turn on a live session is ahead of its age
)

// rank is a candidate's place in its team. Waiting raises all at the same rate, so the order does not depend on the time.
type rank struct {
	key   int64 // see instant
	agent string
	index int // in the candidates
}

func rankOf(c *Candidate, index int, live bool) rank {
	since := c.Since.Add(time.Duration(min(max(c.Priority, PriorityUser), PriorityNotification)) * ageing)
	if live {
		since = since.Add(-warm)
	}
	return rank{key: instant(since), agent: c.Agent, index: index}
}

// instant makes times quick to compare. Those that nanoseconds cannot count, like the zero time, are very long ago or ahead.
func instant(t time.Time) int64 {
	const most = 9_000_000_000 // seconds
	return min(max(t.Unix(), -most), most)*1e9 + int64(t.Nanosecond())
}

func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(a.key, b.key), strings.Compare(a.agent, b.agent), cmp.Compare(a.index, b.index))
}

// ranks is a heap, best first. Only as much is sorted as is taken out.
type ranks []rank

func (r ranks) Len() int           { return len(r) }
func (r ranks) Less(i, j int) bool { return r[i].compare(r[j]) < 0 }
func (r ranks) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranks) Push(x any)        { *r = append(*r, x.(rank)) }
func (r *ranks) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// lane holds a team's candidates of one pool.
type lane struct {
	pool string
	ranks
}

// share is one team in the order.
type share struct {
	team   string
	turns  int   // open, and given in this pass
	served int64 // when it was last given a turn
	lanes  []*lane
	best   *lane // the lane whose head is the team's next, nil if it has none
}

// choose finds the team's next among the lanes that are not shut.
func (s *share) choose(shut func(*lane) bool) {
	s.best = nil
	for _, l := range s.lanes {
		if len(l.ranks) > 0 && !shut(l) && (s.best == nil || l.ranks[0].compare(s.best.ranks[0]) < 0) {
			s.best = l
		}
	}
}

// shares is a heap of teams, the one to serve next first. Teams without a next are not in it.
type shares []*share

func (s shares) Len() int { return len(s) }
func (s shares) Less(i, j int) bool {
	a, b := s[i], s[j]
	return cmp.Or(cmp.Compare(a.turns, b.turns), cmp.Compare(a.served, b.served), a.best.ranks[0].compare(b.best.ranks[0])) < 0
}
func (s shares) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *shares) Push(x any)   { *s = append(*s, x.(*share)) }
func (s *shares) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// order gives candidates one by one, the next to be served first.
type order struct {
	now    int64
	turns  map[string]int
	served map[string]time.Time
	teams  map[string]*share
	heap   shares
	last   *share // the team added to last: candidates come team by team
}

func newOrder(now time.Time, turns map[string]int, served map[string]time.Time) *order {
	return &order{now: instant(now), turns: turns, served: served, teams: map[string]*share{}}
}

func (o *order) add(c *Candidate, index int, live bool) {
	s := o.last
	if s == nil || s.team != c.Team {
		if s = o.teams[c.Team]; s == nil {
			s = &share{team: c.Team, turns: o.turns[c.Team], served: instant(o.served[c.Team])}
			o.teams[c.Team] = s
		}
		o.last = s
	}
	i := slices.IndexFunc(s.lanes, func(l *lane) bool { return l.pool == c.Pool })
	if i < 0 {
		i = len(s.lanes)
		s.lanes = append(s.lanes, &lane{pool: c.Pool})
	}
	s.lanes[i].ranks = append(s.lanes[i].ranks, rankOf(c, index, live))
}

// open is for orders in which nothing is shut.
func open(*lane) bool { return false }

// begin is called once, when everybody has been added.
func (o *order) begin() {
	for _, s := range o.teams {
		for _, l := range s.lanes {
			heap.Init(&l.ranks)
		}
		if s.choose(open); s.best != nil {
			o.heap = append(o.heap, s)
		}
	}
	heap.Init(&o.heap)
}

// next takes the next candidate out, skipping lanes that are shut: once shut, a lane stays so. The caller then calls
// gave if its team is to be counted one turn more.
func (o *order) next(shut func(*lane) bool) (index int, s *share, ok bool) {
	for len(o.heap) > 0 {
		s := o.heap[0]
		if len(s.best.ranks) > 0 && !shut(s.best) {
			r := heap.Pop(&s.best.ranks).(rank)
			o.settle(shut)
			return r.index, s, true
		}
		o.settle(shut)
	}
	return 0, nil, false
}

// settle puts the first team where it belongs after its next has changed.
func (o *order) settle(shut func(*lane) bool) {
	s := o.heap[0]
	if s.choose(shut); s.best == nil {
		heap.Pop(&o.heap)
		return
	}
	heap.Fix(&o.heap, 0)
}

// gave counts a turn for a team.
func (o *order) gave(s *share) {
	s.turns++
	s.served = o.now
	if i := slices.Index(o.heap, s); i >= 0 {
		heap.Fix(&o.heap, i)
	}
}

// rest calls f for everybody who was not taken out.
func (o *order) rest(f func(index int)) {
	for _, s := range o.teams {
		for _, l := range s.lanes {
			for _, r := range l.ranks {
				f(r.index)
			}
		}
	}
}
