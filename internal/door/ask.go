package door

import (
	"context"
	"sync"
	"time"
)

// Bounds of what people are asked.
const (
	askWait = 30 * time.Second // how long a connection waits for an answer; the question stays
	askMost = 32               // questions at a time
)

// place is what a person is asked about.
type place struct {
	host host
	port int
}

// question waits for an answer. Every connection to the same place waits for the same one.
type question struct {
	done   chan struct{} // closed when there is an answer, or none will come
	cancel context.CancelFunc
}

// asker asks, once for each place.
type asker struct {
	ask   func(ctx context.Context, host string, port int) (bool, error)
	rules *rules
	tell  *teller
	start func(func()) // in a goroutine that somebody waits for
	wait  time.Duration

	mu   sync.Mutex
	open map[place]*question
}

// permit says whether a connection may be, asking if it has to. An error that is a refusal is the rules' or a person's; ctx is the connection's,
// door that of everything.
func (a *asker) permit(ctx, door context.Context, h host, port int, via string) error {
	for asked := false; ; asked = true {
		switch d := a.rules.decide(h, port); {
		case d.verdict == Allowed:
			return nil
		case d.verdict == Denied:
			return refusal(d.why)
		case asked:
			return refusal("is not on the list of hosts, and the question about it came to nothing")
		}
		q, err := a.question(door, place{h, port}, via)
		if err != nil {
			return err
		}
		if err := a.await(ctx, q); err != nil {
			return err
		}
	}
}

func (a *asker) await(ctx context.Context, q *question) error {
	limit := time.NewTimer(a.wait)
	defer limit.Stop()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return refusal("is not on the list of hosts, and the connection ended before a person answered")
	case <-limit.C:
		return refusal("is not on the list of hosts, and no person has answered yet")
	}
}

// question gives the open question about a place, or asks it.
func (a *asker) question(ctx context.Context, p place, via string) (*question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.open[p]; q != nil {
		return q, nil
	}
	// An answer may have come between the look at the rules and this one.
	if a.rules.decide(p.host, p.port).verdict != Asked {
		q := &question{done: make(chan struct{})}
		close(q.done)
		return q, nil
	}
	if a.ask == nil {
		return nil, refusal("is not on the list of hosts, and there is nobody to ask")
	}
	if len(a.open) >= askMost {
		return nil, refusal("is not on the list of hosts, and too many questions about hosts are open")
	}
	if ctx.Err() != nil {
		return nil, refusal("is not on the list of hosts, and the door is closing")
	}
	ctx, cancel := context.WithCancel(ctx)
	q := &question{done: make(chan struct{}), cancel: cancel}
	a.open[p] = q
	a.start(func() {
		defer cancel()
		a.tell.add(Attempt{Host: p.host.String(), Port: p.port, Via: via, Verdict: Asked})
		yes, err := a.ask(ctx, p.host.String(), p.port)
		// A word that was said meanwhile by Allow or Deny is a later one.
		if err == nil && ctx.Err() == nil {
			a.rules.say(pattern{host: p.host, port: p.port}, yes)
		}
		a.end(p, q)
	})
	return q, nil
}

// end lets everybody go on who waits for q.
func (a *asker) end(p place, q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[p] == q {
		delete(a.open, p)
		close(q.done)
	}
}

// answered ends the questions that a person's word has settled.
func (a *asker) answered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p, q := range a.open {
		if a.rules.decide(p.host, p.port).verdict != Asked {
			q.cancel()
			delete(a.open, p)
			close(q.done)
		}
	}
}
