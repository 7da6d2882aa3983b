package schedule

import (
	"slices"
	"time"

	"substrat.dev/substrat"
)

// The back-offs after a provider refused.
const (
	limitFirst, limitMost     = time.Minute, time.Hour             // quota and rate limit without a named end
	floorFirst, floorMost     = time.Second, time.Minute           // at least, also when the provider names an earlier end
	breakerFirst, breakerMost = 30 * time.Second, 10 * time.Minute // network
	breakerAfter              = 5                                  // failures in a row
)

// StreakKeeps is how many failures a streak remembers. More add nothing: every back-off has reached its most.
const StreakKeeps = 32

// Outcome is how a turn ended, as far as its account is concerned.
type Outcome struct {
	Account string
	Class   substrat.FailureClass // empty: it went well
	Began   time.Time
	Ended   time.Time
	Detail  string
	Named   time.Time // the end of the limit, if the provider named one: see ParseReset
}

// Refusal is one failure. A turn that began before a hold may fail in it, which is no news.
type Refusal struct {
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	Named time.Time `json:"named,omitzero"`
}

// Streak is what one team has seen of one account with one class of failure.
type Streak struct {
	Account  string                `json:"account"`
	Class    substrat.FailureClass `json:"class,omitempty"` // empty: no failure yet
	Refusals []Refusal             `json:"refusals,omitempty"`
	Detail   string                `json:"detail,omitempty"` // of the last
	// OK is the last turn that went well, and when a person resumed.
	OKBegan time.Time `json:"ok_began,omitzero"`
	OKEnded time.Time `json:"ok_ended,omitzero"`
	Resumed time.Time `json:"resumed,omitzero"`
}

// counted are the classes that say something of the account, not of the turn.
var counted = []substrat.FailureClass{substrat.ClassQuota, substrat.ClassRateLimit, substrat.ClassAuth, substrat.ClassNetwork}

// Note adds an outcome to a team's streaks and returns them. Other classes of failure say nothing of the account. That
// it works may be noted before a turn ends, as soon as the provider has answered: a long turn that probes an account
// then does not keep the others waiting.
func Note(streaks []Streak, o Outcome) []Streak {
	if o.Began.IsZero() {
		o.Began = o.Ended
	}
	if o.Class == "" {
		return each(streaks, o.Account, func(s *Streak) {
			// What was before the success before this one is of no use any more; the rest says who waited for the hold.
			s.Refusals = slices.DeleteFunc(s.Refusals, func(r Refusal) bool { return r.Ended.Before(s.OKBegan) })
			s.OKBegan, s.OKEnded = later(s.OKBegan, o.Began), later(s.OKEnded, o.Ended)
		})
	}
	if !slices.Contains(counted, o.Class) {
		return streaks
	}
	s := find(&streaks, o.Account, o.Class)
	s.Refusals = append(s.Refusals, Refusal{Began: o.Began, Ended: o.Ended, Named: o.Named})
	if n := len(s.Refusals) - StreakKeeps; n > 0 {
		s.Refusals = slices.Delete(s.Refusals, 0, n)
	}
	s.Detail = o.Detail
	return streaks
}

// Resume notes that a person wants an account's agents to go on, whatever holds them.
func Resume(streaks []Streak, account string, at time.Time) []Streak {
	return each(streaks, account, func(s *Streak) { s.Resumed = later(s.Resumed, at) })
}

// each does something to an account's streaks, of which it makes one if there is none: other teams learn from it.
func each(streaks []Streak, account string, do func(*Streak)) []Streak {
	found := false
	for i := range streaks {
		if s := &streaks[i]; s.Account == account {
			do(s)
			found = true
		}
	}
	if !found {
		streaks = append(streaks, Streak{Account: account})
		do(&streaks[len(streaks)-1])
	}
	return streaks
}

func find(streaks *[]Streak, account string, class substrat.FailureClass) *Streak {
	for i := range *streaks {
		if s := &(*streaks)[i]; s.Account == account && s.Class == class {
			return s
		}
	}
	*streaks = append(*streaks, Streak{Account: account, Class: class})
	return &(*streaks)[len(*streaks)-1]
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Holds makes the holds of what all teams have seen: those in force, and those that passed less than Stagger ago. They
// change with a new outcome, and with time only in that one passes.
func Holds(now time.Time, all []Streak) []Hold {
	type key struct {
		account string
		class   substrat.FailureClass
	}
	joined := map[key]*Streak{}
	var order []key
	worked := map[string]Streak{} // by account: its OK and Resumed
	for _, s := range all {
		w := worked[s.Account]
		w.OKBegan, w.OKEnded = later(w.OKBegan, s.OKBegan), later(w.OKEnded, s.OKEnded)
		w.Resumed = later(w.Resumed, s.Resumed)
		worked[s.Account] = w
		if len(s.Refusals) == 0 {
			continue
		}
		k := key{s.Account, s.Class}
		j := joined[k]
		if j == nil {
			j = &Streak{Account: s.Account, Class: s.Class}
			joined[k] = j
			order = append(order, k)
		}
		if len(j.Refusals) == 0 || lastOf(s.Refusals).After(lastOf(j.Refusals)) {
			j.Detail = s.Detail
		}
		j.Refusals = append(j.Refusals, s.Refusals...)
		slices.SortStableFunc(j.Refusals, func(a, b Refusal) int { return a.Ended.Compare(b.Ended) })
	}
	var holds []Hold
	for _, k := range order {
		if h, ok := joined[k].hold(now, worked[k.account]); ok {
			holds = append(holds, h)
		}
	}
	return holds
}

func lastOf(r []Refusal) time.Time { return r[len(r)-1].Ended }

// hold makes the hold of one account and class. worked has when the account was last seen to work.
func (s *Streak) hold(now time.Time, worked Streak) (Hold, bool) {
	h := Hold{Account: s.Account, Class: s.Class, Detail: s.Detail}
	before, after := s.split(worked)
	if len(after) > 0 {
		if until, held := s.until(after); held {
			h.Until, h.Probe = until, s.Class == substrat.ClassNetwork
			forever := until.IsZero()
			return h, forever || h.Probe || now.Before(until.Add(Stagger))
		}
	}
	// Nothing since it worked; but whoever waited until then is woken one by one.
	until, held := s.until(before)
	if !held {
		return h, false
	}
	lifted := later(worked.Resumed, worked.OKEnded)
	if h.Until = until; until.IsZero() || s.Class == substrat.ClassNetwork || lifted.Before(until) {
		h.Until = lifted
	}
	return h, now.Before(h.Until.Add(Stagger))
}

// split divides refusals into those before the account was last seen to work and those after. That a connection works
// is shown at a turn's end. That a limit or a login lets turns through is shown only by one that began after the
// refusal: a turn that began before may have had its last answer before it.
func (s *Streak) split(worked Streak) (before, after []Refusal) {
	ok := worked.OKBegan
	if s.Class == substrat.ClassNetwork {
		ok = worked.OKEnded
	}
	for _, r := range s.Refusals {
		// A turn that began before a person resumed fails with what was resumed from.
		if r.Ended.After(ok) && r.Began.After(worked.Resumed) {
			after = append(after, r)
		} else {
			before = append(before, r)
		}
	}
	return before, after
}

// until finds when the hold that refusals add up to ends: zero if never by itself, false if there is none. Refusals in
// a hold are of turns that were under way: they lengthen it only if they name a later end. One after it is the next round.
func (s *Streak) until(refusals []Refusal) (until time.Time, held bool) {
	round := 0
	for i, r := range refusals {
		if s.Class == substrat.ClassNetwork && i+1 < breakerAfter {
			continue
		}
		if round > 0 && !r.Ended.After(until) {
			if s.Class != substrat.ClassNetwork {
				until = later(until, r.Named)
			}
			continue
		}
		round++
		switch {
		case s.Class == substrat.ClassAuth:
			return time.Time{}, true
		case s.Class == substrat.ClassNetwork:
			until = r.Ended.Add(s.backoff(round, breakerFirst, breakerMost))
		case r.Named.After(r.Ended):
			until = later(r.Named, r.Ended.Add(s.backoff(round, floorFirst, floorMost)))
		default:
			until = r.Ended.Add(s.backoff(round, limitFirst, limitMost))
		}
	}
	return until, round > 0
}

// backoff doubles with every round. Up to a fifth is taken off, so that accounts that fell together do not rise together.
func (s *Streak) backoff(round int, first, most time.Duration) time.Duration {
	d := first
	for range round - 1 {
		if d *= 2; d >= most {
			d = most
			break
		}
	}
	return d - time.Duration(share01(s.Account, string(s.Class), string(rune('0'+round)))*0.2*float64(d))
}
