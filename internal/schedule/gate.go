package schedule

import (
	"time"
)

// Stagger is the longest time over which those who waited for a hold are woken when it has passed.
const Stagger = 30 * time.Second

// gate is what the holds of one account come to.
type gate struct {
	closed bool
	until  time.Time // zero: until a person resumes

	probe   bool
	probing bool  // a turn that tries the account is under way
	chosen  int   // who is to try it, -1 if nobody
	best    rank  // of the chosen
	live    bool  // the chosen has a live session
	asked   []int // all who would

	passed time.Time // the end of the last hold that has passed, zero if that is long ago
	crowd  int       // how many waited for that: those who still do, and those who were woken and still run
}

// openGates joins the holds by account. An account without holds has no gate.
func openGates(now time.Time, holds []Hold, running []Process, ready []Candidate) map[string]*gate {
	gates := map[string]*gate{}
	for _, h := range holds {
		g := gates[h.Account]
		if g == nil {
			g = &gate{chosen: -1}
			gates[h.Account] = g
		}
		switch {
		case h.Until.IsZero():
			g.closed, g.until = true, time.Time{}
		case now.Before(h.Until):
			if !g.closed || !g.until.IsZero() && h.Until.After(g.until) {
				g.closed, g.until = true, h.Until
			}
		case h.Probe:
			g.probe = true
			for _, r := range running {
				g.probing = g.probing || r.Account == h.Account && r.Turn && !r.Since.Before(h.Until)
			}
		case now.Before(h.Until.Add(Stagger)) && h.Until.After(g.passed):
			g.passed = h.Until
		}
	}
	if len(gates) == 0 {
		return gates
	}
	for _, r := range running {
		if g := gates[r.Account]; g != nil && r.Turn && !r.Since.Before(g.passed) {
			g.crowd++
		}
	}
	for i := range ready {
		if g := gates[ready[i].Account]; g != nil && !ready[i].Since.After(g.passed) {
			g.crowd++
		}
	}
	return gates
}

// ask says why a candidate may not run, or nothing. Where one may probe, the caller learns who when all have asked.
func (g *gate) ask(now time.Time, c *Candidate, live bool, index int) (Reason, time.Time) {
	switch {
	case g.closed:
		return ReasonAccount, g.until
	case g.probe && g.probing:
		return ReasonProbe, time.Time{}
	case g.probe:
		g.asked = append(g.asked, index)
		// A live session tries it for less.
		r := rankOf(c, index, live)
		if g.chosen < 0 || live && !g.live || live == g.live && r.compare(g.best) < 0 {
			g.chosen, g.best, g.live = index, r, live
		}
	case !g.passed.IsZero() && !c.Since.After(g.passed):
		if at := g.passed.Add(delay(c, g.crowd)); now.Before(at) {
			return ReasonStagger, at
		}
	}
	return "", time.Time{}
}

// delay is how long after a hold an agent is woken, when so many waited for it.
func delay(c *Candidate, crowd int) time.Duration {
	spread := min(Stagger, time.Duration(crowd)*time.Second)
	return time.Duration(share01(c.Account, c.Agent) * float64(spread))
}

// share01 spreads names evenly over [0, 1), the same names always to the same place.
func share01(names ...string) float64 {
	h := uint64(14695981039346656037)
	for _, name := range names {
		for i := range len(name) {
			h = (h ^ uint64(name[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211 // no name has this byte, so that "ab","c" is not "a","bc"
	}
	// Names differ in their last letters, which the hash has not carried up yet.
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return float64(h>>11) / (1 << 53)
}
