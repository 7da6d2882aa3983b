package api

import (
	"context"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/engine"
)

// fake is an engine of one agent, lead, with some events.
type fake struct {
	mu       sync.Mutex
	events   []substrat.Event
	changed  chan struct{}
	shutdown string
	storage  bool // refuses to send for want of room
}

func newFake(events int) *fake {
	f := &fake{changed: make(chan struct{})}
	for range events {
		f.add()
	}
	return f
}

// add makes one more event durable.
func (f *fake) add() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, substrat.Event{Seq: int64(len(f.events) + 1), Team: "t", Type: "message.sent", Data: []byte(`{}`)})
	close(f.changed)
	f.changed = make(chan struct{})
}

var errNoAgent = substrat.Errorf(substrat.CodeNotFound, "no agent").WithHint("substrat agent ls")

func (f *fake) find(ref string) (substrat.Agent, error) {
	if ref == "lead" || ref == "lead/coder" {
		return substrat.Agent{ID: "1", Name: "lead", Path: ref, State: substrat.Idle}, nil
	}
	return substrat.Agent{}, errNoAgent
}

func (f *fake) CreateAgent(_ context.Context, n substrat.NewAgent) (substrat.Agent, error) {
	if n.Name == "lead" {
		return substrat.Agent{}, substrat.Errorf(substrat.CodeNameTaken, "taken")
	}
	return substrat.Agent{Name: n.Name, Path: n.Name}, nil
}

func (f *fake) Agents(context.Context, bool) ([]substrat.Agent, error) {
	return []substrat.Agent{{Name: "lead", Path: "lead"}}, nil
}
func (f *fake) Agent(_ context.Context, ref string) (substrat.Agent, error) { return f.find(ref) }
func (f *fake) Inspect(_ context.Context, ref string) (engine.Inspection, error) {
	a, err := f.find(ref)
	return engine.Inspection{Agent: a}, err
}

func (f *fake) Send(_ context.Context, ref, text string) (substrat.Sent, error) {
	if f.storage {
		return substrat.Sent{}, substrat.Errorf(substrat.CodeStorage, "the disk is full")
	}
	_, err := f.find(ref)
	return substrat.Sent{Status: "sent", MessageID: "m1"}, err
}

func (f *fake) Message(_ context.Context, id string) (substrat.Message, error) {
	if id != "m1" {
		return substrat.Message{}, errNoAgent
	}
	return substrat.Message{ID: id, State: substrat.Handled}, nil
}

func (f *fake) Messages(context.Context, engine.MessageQuery) ([]substrat.Message, string, error) {
	return nil, "", nil
}

func (f *fake) Receipt(ctx context.Context, id string) (engine.Receipt, error) {
	if id == "slow" {
		<-ctx.Done()
		return engine.Receipt{}, substrat.Errorf(substrat.CodeTimeout, "gave up")
	}
	m, err := f.Message(ctx, id)
	return engine.Receipt{Message: m}, err
}
func (f *fake) Turn(context.Context, string) (substrat.Turn, error) {
	return substrat.Turn{}, errNoAgent
}
func (f *fake) Turns(_ context.Context, ref string, _ int) ([]substrat.Turn, error) {
	_, err := f.find(ref)
	return nil, err
}
func (f *fake) Suspend(ref string) (bool, error) {
	_, err := f.Agent(context.Background(), ref)
	return err == nil, err
}

func (f *fake) StopTurn(_ context.Context, ref string) (substrat.Turn, error) {
	if _, err := f.find(ref); err != nil {
		return substrat.Turn{}, err
	}
	return substrat.Turn{}, substrat.Errorf(substrat.CodeConflict, "no turn is open")
}
func (f *fake) Terminate(_ context.Context, ref, _ string) error { _, err := f.find(ref); return err }

func (f *fake) Events(_ context.Context, after int64, limit int) ([]substrat.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := min(int(after), len(f.events))
	return append([]substrat.Event(nil), f.events[from:min(len(f.events), from+limit)]...), nil
}

func (f *fake) EventsChanged(after int64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if int64(len(f.events)) > after {
		c := make(chan struct{})
		close(c)
		return c
	}
	return f.changed
}

// Stream gives ten items of turn 1 and waits.
func (f *fake) Stream(ctx context.Context, _ string, from engine.StreamPos, emit func(engine.StreamItem) error) error {
	for i := int64(1); i <= 10; i++ {
		if i <= from.Offset {
			continue
		}
		if err := emit(engine.StreamItem{Number: 1, Offset: i, Event: &agentcli.Event{Type: agentcli.EventText, Text: "x", Offset: i}}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

func (f *fake) Shutdown(mode string) { f.shutdown = mode }
func (f *fake) Info() engine.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return engine.Info{Version: "test", StartedAt: time.Unix(0, 0), Seq: int64(len(f.events))}
}
