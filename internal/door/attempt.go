package door

import (
	"context"
	"sync"
	"time"
)

// What became of an attempt.
const (
	Allowed = "allowed" // told at the start, so that a long connection is seen at once
	Closed  = "closed"  // the end of one that was allowed, with what it carried
	Denied  = "denied"
	Asked   = "asked"  // a person is being asked
	Failed  = "failed" // allowed, but it could not be had
)

// How a host was named.
const (
	ViaDNS     = "dns"
	ViaTLS     = "tls"
	ViaHTTP    = "http"
	ViaConnect = "connect"
	ViaTCP     = "tcp"
	ViaRoute   = "route"
)

// Attempt is one thing that somebody inside tried to reach, or several that are alike.
type Attempt struct {
	At      time.Time `json:"at"`
	Host    string    `json:"host,omitempty"` // as it was named; a malformed one is escaped. Empty: none was named
	Port    int       `json:"port,omitempty"`
	Via     string    `json:"via"`
	Verdict string    `json:"verdict"`
	Why     string    `json:"why,omitempty"`
	Address string    `json:"address,omitempty"` // what was dialled
	Up      int64     `json:"up,omitempty"`      // bytes, with Closed
	Down    int64     `json:"down,omitempty"`
	Count   int       `json:"count"` // how many alike this stands for
}

// An agent may try as often as it likes; what is told of it has a bound.
const (
	tellEvery = time.Second // how often attempts that are alike are told
	tellMost  = 50          // how many that are not alike are told in that time; the rest is counted together
	restHost  = "…"         // the host of what is counted together
)

// kind is what makes attempts alike.
type kind struct {
	host, via, verdict string
	port               int
}

// teller passes attempts on: the first of a kind at once, what is alike within a second as one.
type teller struct {
	tell func(Attempt)

	mu   sync.Mutex
	told map[kind]*Attempt // told in this second; nil: nothing came after it
	wake chan struct{}     // the first of a second
}

func newTeller(tell func(Attempt)) *teller {
	return &teller{tell: tell, told: map[kind]*Attempt{}, wake: make(chan struct{}, 1)}
}

// add tells of an attempt, now or with others.
func (t *teller) add(a Attempt) {
	if t.tell == nil {
		return
	}
	a.At, a.Count = time.Now(), 1
	t.mu.Lock()
	defer t.mu.Unlock()
	k := kind{a.Host, a.Via, a.Verdict, a.Port}
	waiting, known := t.told[k]
	if !known && len(t.told) >= tellMost {
		a.Host, a.Port, a.Address, a.Why = restHost, 0, "", "there were too many to list"
		k = kind{restHost, a.Via, a.Verdict, 0}
		if waiting, known = t.told[k]; !known {
			t.told[k] = &a
			return
		}
	}
	switch {
	case !known:
		if len(t.told) == 0 {
			select {
			case t.wake <- struct{}{}:
			default:
			}
		}
		t.told[k] = nil
		t.tell(a)
	case waiting == nil:
		t.told[k] = &a
	default:
		a.Count, a.Up, a.Down = waiting.Count+1, waiting.Up+a.Up, waiting.Down+a.Down
		t.told[k] = &a
	}
}

// flush ends the second. It says whether anything was told in it.
func (t *teller) flush() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	some := len(t.told) > 0
	next := map[kind]*Attempt{}
	for k, a := range t.told {
		if a != nil {
			next[k] = nil // it was told just now: what is alike waits again
			t.tell(*a)
		}
	}
	t.told = next
	return some
}

// run ends the seconds until ctx does. It sleeps where nothing is told.
func (t *teller) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		for again := true; again; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(tellEvery):
				again = t.flush()
			}
		}
	}
}
