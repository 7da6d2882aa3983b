package top

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/client"
)

// fakeDaemon answers from memory.
type fakeDaemon struct {
	source
	mu     sync.Mutex
	away   bool
	asked  int
	events chan substrat.Event
	stream chan client.StreamItem
	calls  []string
	slow   time.Duration
}

func newFake() *fakeDaemon {
	return &fakeDaemon{events: make(chan substrat.Event), stream: make(chan client.StreamItem)}
}

func (f *fakeDaemon) note(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, s)
}

func (f *fakeDaemon) Status(context.Context) (client.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	time.Sleep(f.slow)
	if f.away {
		return client.Status{}, substrat.Errorf(substrat.CodeUnavailable, "the daemon is not running")
	}
	return client.Status{Slots: 4, Seq: 7}, nil
}

func (f *fakeDaemon) Agents(context.Context, bool) ([]substrat.Agent, error) {
	return []substrat.Agent{{ID: "2", Path: "lead/coder", Name: "coder"}, {ID: "1", Path: "lead", Name: "lead"}}, nil
}

func (f *fakeDaemon) Queue(context.Context, bool) ([]substrat.Item, error) { return nil, nil }

func (f *fakeDaemon) Why(context.Context, string) (substrat.Why, error) {
	return substrat.Why{}, substrat.Errorf(substrat.CodeNotFound, "no such agent")
}

func (f *fakeDaemon) Inspect(_ context.Context, ref string) (client.Inspection, error) {
	return client.Inspection{RecentTurns: []substrat.Turn{{Text: "turn of " + ref}}}, nil
}

func (f *fakeDaemon) Events(ctx context.Context, _ int64, _ bool) iter.Seq2[substrat.Event, error] {
	return feed(ctx, f.events)
}

func (f *fakeDaemon) Stream(ctx context.Context, ref string, from client.StreamPos) iter.Seq2[client.StreamItem, error] {
	return feed(ctx, f.stream)
}

func feed[T any](ctx context.Context, c chan T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			select {
			case x := <-c:
				if !yield(x, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fakeDaemon) Turns(context.Context, string, int) ([]substrat.Turn, error) { return nil, nil }

func (f *fakeDaemon) Message(_ context.Context, id string) (substrat.Message, error) {
	return substrat.Message{From: "USER", Kind: substrat.KindUser, Text: "text of " + id}, nil
}

func (f *fakeDaemon) Send(_ context.Context, ref, text string) (substrat.Sent, error) {
	f.note("send " + ref + " " + text)
	return substrat.Sent{}, nil
}

func (f *fakeDaemon) StopTurn(context.Context, string) (substrat.Turn, error) {
	return substrat.Turn{}, substrat.Errorf(substrat.CodeConflict, "cannot stop it: no turn is open")
}

func (f *fakeDaemon) Gate(_ context.Context, ref string, down bool) (substrat.Agent, error) {
	f.note("gate " + ref + map[bool]string{true: " down", false: " up"}[down])
	return substrat.Agent{}, nil
}

// watched runs a watcher in a bubble and gives what it shows.
func watched(t *testing.T, test func(f *fakeDaemon, w *watcher, shown func() []any)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var mu sync.Mutex
		var all []any
		w := newWatcher(f, func(x any) { mu.Lock(); all = append(all, x); mu.Unlock() })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.run(ctx) }()
		test(f, w, func() []any {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			out := all
			all = nil
			return out
		})
		cancel()
		<-done
	})
}

func TestCoalesces(t *testing.T) {
	watched(t, func(f *fakeDaemon, w *watcher, shown func() []any) {
		if got := shown(); len(got) != 1 || got[0].(Data).Agents[0].Path != "lead" {
			t.Fatalf("first showed %+v", got)
		}
		for range 100 { // events for one second
			f.events <- substrat.Event{}
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(shown()); n < 3 || n > 6 {
			t.Errorf("100 events in a second made %d redraws", n)
		}
		time.Sleep(10 * time.Second)
		if n := len(shown()); n < 4 || n > 7 {
			t.Errorf("%d redraws in ten quiet seconds", n)
		}
		f.mu.Lock()
		f.slow = time.Second
		f.mu.Unlock()
		for range 100 {
			f.events <- substrat.Event{}
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(shown()); n > 4 {
			t.Errorf("a daemon that is slow was asked %d times in ten seconds", n)
		}
	})
}

func TestDaemonAway(t *testing.T) {
	watched(t, func(f *fakeDaemon, w *watcher, shown func() []any) {
		s := Snapshot{}.receive(shown()[0].(Data))
		f.mu.Lock()
		f.away = true
		f.mu.Unlock()
		time.Sleep(5 * time.Second)
		for _, x := range shown() {
			s = s.receive(x.(Data))
		}
		if screen := screenText(View(s, 80, 24)); !strings.Contains(screen, "daemon away, reconnecting") || !strings.Contains(screen, "coder") {
			t.Errorf("shows\n%s", screen)
		}
		f.mu.Lock()
		f.away = false
		f.mu.Unlock()
		time.Sleep(2 * time.Second)
		for _, x := range shown() {
			s = s.receive(x.(Data))
		}
		if s.Away {
			t.Error("a daemon that is back is said to be away")
		}
	})
}

func TestDetailsOfTheSelected(t *testing.T) {
	watched(t, func(f *fakeDaemon, w *watcher, shown func() []any) {
		shown()
		w.want("2", "")
		time.Sleep(between)
		got := shown()
		if d := got[len(got)-1].(Data).Detail; d == nil || d.ID != "2" || d.Turns[0].Text != "turn of 2" {
			t.Errorf("details %+v", d)
		}
	})
}

func TestActions(t *testing.T) {
	watched(t, func(f *fakeDaemon, w *watcher, shown func() []any) {
		shown()
		for _, a := range []action{{verb: doSend, agent: target{"1", "lead"}, text: "hello"}, {verb: doStop, agent: target{"1", "lead"}}, {verb: doUngate, agent: target{"1", "lead"}}} {
			if !w.do(a) {
				t.Fatal("an action was not taken")
			}
		}
		var said []string
		for _, x := range shown() {
			if n, ok := x.(noticeMsg); ok {
				said = append(said, string(n))
			}
		}
		if got := strings.Join(said, "|"); got != "sent to lead|cannot stop it: no turn is open|lead is not gated" {
			t.Errorf("said %q", got)
		}
		if got := strings.Join(f.calls, "|"); got != "send 1 hello|gate 1 up" {
			t.Errorf("did %q", got)
		}
	})
}

func TestTranscript(t *testing.T) {
	watched(t, func(f *fakeDaemon, w *watcher, shown func() []any) {
		w.want("1", "1")
		text := func(s string) client.StreamItem {
			return client.StreamItem{Number: 1, Event: &agentcli.Event{Type: agentcli.EventText, Text: s}}
		}
		for _, x := range []client.StreamItem{
			{Number: 1, Started: &substrat.Turn{Messages: []string{"m1"}, StartedAt: noon}}, text("── not a "), text("turn\nsecond"),
			{Number: 1, Event: &agentcli.Event{Type: agentcli.EventToolEnd, Tool: &agentcli.ToolCall{Name: "Bash", Title: "go\ntest", Status: agentcli.ToolFailed, Error: "exit 1"}}},
			text("after\n"), text("\nend"),
			{Number: 1, Ended: &substrat.Turn{Outcome: substrat.FailedTurn, Class: substrat.ClassCrashed, Detail: "gone"}},
		} {
			f.stream <- x
		}
		time.Sleep(between)
		var last logMsg
		for _, x := range shown() {
			if l, ok := x.(logMsg); ok {
				last = l
			}
		}
		got := strings.Join(last.lines[1:], "|")
		if want := "» user from USER|  text of m1|  ── not a turn|  second|• Bash go test [failed: exit 1]|  after|  |  end|── failed: crashed: gone"; got != want || last.agent != "1" {
			t.Errorf("shows\n%q, not\n%q", got, want)
		}
		w.want("1", "")
		synctest.Wait()
		select {
		case f.stream <- text("more"):
			t.Error("a transcript that is not shown is followed")
		case <-time.After(time.Second):
		}
	})
}

func TestTranscriptIsBounded(t *testing.T) {
	tr := &transcript{}
	for range 3 * mostLog {
		tr.text("a line\n")
	}
	for range 100 {
		tr.text(strings.Repeat("x", 1000))
	}
	if lines, _ := tr.take(); len(lines) > mostLog || len(lines[len(lines)-1]) > mostLine+1000 {
		t.Errorf("%d lines, the last of %d bytes", len(lines), len(lines[len(lines)-1]))
	}
}
