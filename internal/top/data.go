package top

import (
	"context"
	"iter"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// source is the part of the client that is used.
type source interface {
	Status(context.Context) (client.Status, error)
	Agents(ctx context.Context, all bool) ([]substrat.Agent, error)
	Queue(ctx context.Context, all bool) ([]substrat.Item, error)
	Why(ctx context.Context, ref string) (substrat.Why, error)
	Inspect(ctx context.Context, ref string) (client.Inspection, error)
	Events(ctx context.Context, after int64, follow bool) iter.Seq2[substrat.Event, error]
	Turns(ctx context.Context, ref string, limit int) ([]substrat.Turn, error)
	Message(ctx context.Context, id string) (substrat.Message, error)
	Stream(ctx context.Context, ref string, from client.StreamPos) iter.Seq2[client.StreamItem, error]
	Send(ctx context.Context, ref, text string) (substrat.Sent, error)
	StopTurn(ctx context.Context, ref string) (substrat.Turn, error)
	Terminate(ctx context.Context, ref, reason string) error
	Poke(ctx context.Context, ref string) (string, error)
	Gate(ctx context.Context, ref string, down bool) (substrat.Agent, error)
	AnswerItem(ctx context.Context, id string, a substrat.Answer) (substrat.Item, error)
}

const (
	// between is the shortest time between two refreshes, refresh the longest, whileAway that of a daemon that is away.
	between   = 200 * time.Millisecond
	refresh   = 2 * time.Second
	whileAway = 500 * time.Millisecond
	// patience is how long one request may take.
	patience = 10 * time.Second
)

// watcher keeps the screen up to date and carries out what its keys ask for.
type watcher struct {
	c source
	// show hands a Data, a logMsg or a noticeMsg to the screen.
	show func(any)
	// changed and logChanged hold at most one wish each, seq the journal's place at the first fetch.
	changed, logChanged chan struct{}
	seq                 chan int64
	actions             chan action

	mu       sync.Mutex
	selected string // whose details are wanted
	log      string // whose transcript is wanted, if any
}

type (
	logMsg struct {
		agent string
		lines []string
	}
	noticeMsg string
)

func newWatcher(c source, show func(any)) *watcher {
	return &watcher{
		c: c, show: show, changed: make(chan struct{}, 1), logChanged: make(chan struct{}, 1), seq: make(chan int64, 1),
		actions: make(chan action, 8),
	}
}

// run works until ctx ends, and waits for all it started.
func (w *watcher) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, part := range []func(context.Context){w.fetching, w.listening, w.acting, w.reading} {
		wg.Go(func() { part(ctx) })
	}
	wg.Wait()
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// want says what the screen shows.
func (w *watcher) want(selected, log string) {
	w.mu.Lock()
	other, otherLog := selected != w.selected, log != w.log
	w.selected, w.log = selected, log
	w.mu.Unlock()
	if other {
		poke(w.changed)
	}
	if otherLog {
		poke(w.logChanged)
	}
}

func (w *watcher) wanted() (selected, log string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.selected, w.log
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration, or <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-or:
	case <-ctx.Done():
		return false
	}
	return true
}

// fetching asks the daemon after each change, and every so often: not too often, and the less the longer it takes.
func (w *watcher) fetching(ctx context.Context) {
	first := true
	for {
		begun := time.Now()
		d := w.fetch(ctx)
		if ctx.Err() != nil {
			return
		}
		if first && !d.Away && d.Problem == "" {
			first = false
			w.seq <- d.Status.Seq
		}
		w.show(d)
		longest := refresh
		if d.Away {
			longest = whileAway
		}
		if !sleep(ctx, max(between, 4*time.Since(begun)), nil) || !sleep(ctx, longest, w.changed) {
			return
		}
	}
}

// fetch asks for all that the screen shows.
func (w *watcher) fetch(ctx context.Context) Data {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d := Data{At: time.Now()}
	var err error
	if d.Status, err = w.c.Status(ctx); err == nil {
		d.Agents, err = w.c.Agents(ctx, false)
	}
	if err == nil {
		d.Items, err = w.c.Queue(ctx, false)
	}
	if err != nil {
		code := substrat.CodeOf(err)
		if d.Away = code == substrat.CodeUnavailable || code == substrat.CodeTimeout; !d.Away {
			d.Problem = err.Error()
		}
		return d
	}
	sortTree(d.Agents)
	if id, _ := w.wanted(); id != "" {
		d.Detail = &Detail{ID: id}
		// An agent that has just ended has no details; the list will say so.
		if why, err := w.c.Why(ctx, id); err == nil {
			d.Detail.Why = why
		}
		if x, err := w.c.Inspect(ctx, id); err == nil {
			d.Detail.Turns = x.RecentTurns
		}
	}
	return d
}

// listening turns events into wishes for a refresh. The client takes a broken stream up again.
func (w *watcher) listening(ctx context.Context) {
	var seq int64
	select {
	case seq = <-w.seq:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		for ev, err := range w.c.Events(ctx, seq, true) {
			if err != nil {
				break
			}
			seq = ev.Seq
			poke(w.changed)
		}
		sleep(ctx, refresh, nil)
	}
}

// do queues an action. It answers false when too many wait.
func (w *watcher) do(a action) bool {
	select {
	case w.actions <- a:
		return true
	default:
		return false
	}
}

// acting carries out actions one after the other and tells what came of them.
func (w *watcher) acting(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-w.actions:
			said, err := w.act(ctx, a)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				said = err.Error()
			}
			w.show(noticeMsg(said))
			poke(w.changed)
		}
	}
}

func (w *watcher) act(ctx context.Context, a action) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	path := a.agent.path
	switch a.verb {
	case doSend:
		x, err := w.c.Send(ctx, a.agent.id, a.text)
		if x.State == substrat.Held {
			return "a rule holds the message to " + path, err
		}
		return "sent to " + path, err
	case doStop:
		_, err := w.c.StopTurn(ctx, a.agent.id)
		return "its turn is being stopped: " + path, err
	case doEnd:
		return "ended " + path, w.c.Terminate(ctx, a.agent.id, "")
	case doPoke:
		said, err := w.c.Poke(ctx, a.agent.id)
		return path + ": " + said, err
	case doGate, doUngate:
		_, err := w.c.Gate(ctx, a.agent.id, a.verb == doGate)
		return path + map[bool]string{true: " is gated", false: " is not gated"}[a.verb == doGate], err
	case doAnswer:
		x, err := w.c.AnswerItem(ctx, a.item, a.answer)
		return "answered the " + string(x.Kind) + " of " + path, err
	}
	return "", nil
}
