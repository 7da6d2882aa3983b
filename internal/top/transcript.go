package top

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/client"
)

const (
	// lastTurns is how many turns a transcript begins with.
	lastTurns = 3
	// mostLog and mostLine bound what is kept of a transcript.
	mostLog  = 2000
	mostLine = 16 << 10
)

// transcript collects the lines of an agent's turns. What agents said is indented, so that it cannot look like the rest.
type transcript struct {
	mu    sync.Mutex
	lines []string
	open  bool // the last line is text that goes on
	dirty bool
}

// reading follows the transcript that is wanted, one at a time.
func (w *watcher) reading(ctx context.Context) {
	for ctx.Err() == nil {
		_, id := w.wanted()
		if id == "" {
			select {
			case <-w.logChanged:
			case <-ctx.Done():
			}
			continue
		}
		w.read(ctx, id)
	}
}

// read shows one transcript until another is wanted.
func (w *watcher) read(ctx context.Context, id string) {
	ctx, cancel := context.WithCancel(ctx)
	t := &transcript{}
	var wg sync.WaitGroup
	wg.Go(func() { t.follow(ctx, w.c, id) })
	defer wg.Wait()
	defer cancel()
	tick := time.NewTicker(between)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.logChanged:
			if _, now := w.wanted(); now != id {
				return
			}
		case <-tick.C:
			if lines, changed := t.take(); changed {
				w.show(logMsg{id, lines})
			}
		}
	}
}

// follow collects until ctx ends.
func (t *transcript) follow(ctx context.Context, c source, id string) {
	turns, err := c.Turns(ctx, id, lastTurns)
	var from client.StreamPos
	if len(turns) > 0 {
		from.Turn = turns[0].Number
	}
	if err == nil {
		for item, fault := range c.Stream(ctx, id, from) {
			if err = fault; err != nil {
				break
			}
			t.add(ctx, c, item)
		}
	}
	if err != nil && ctx.Err() == nil {
		t.line("── " + err.Error())
	}
}

// take gives the lines if there are new ones.
func (t *transcript) take() ([]string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := t.dirty
	t.dirty = false
	return slices.Clone(t.lines), changed
}

func (t *transcript) add(ctx context.Context, c source, item client.StreamItem) {
	switch {
	case item.Started != nil:
		t.line(fmt.Sprintf("── turn %d, %s", item.Number, item.Started.StartedAt.Local().Format(time.DateTime)))
		for _, id := range item.Started.Messages {
			if m, err := c.Message(ctx, id); err == nil {
				t.line(fmt.Sprintf("» %s from %s", m.Kind, line(m.From)))
				t.text(strings.TrimRight(m.Text, "\n") + "\n")
			}
		}
	case item.Ended != nil:
		t.line("── " + ending(item.Ended))
	case item.Event != nil:
		t.event(item.Event)
	}
}

func ending(x *substrat.Turn) string {
	if x.Class == "" {
		return string(x.Outcome)
	}
	return fmt.Sprintf("%s: %s: %s", x.Outcome, x.Class, line(x.Detail))
}

func (t *transcript) event(e *agentcli.Event) {
	switch e.Type {
	case agentcli.EventText:
		t.text(e.Text)
	case agentcli.EventTextEnd:
		t.mu.Lock()
		t.open = false
		t.mu.Unlock()
	case agentcli.EventToolEnd:
		if e.Tool == nil {
			return
		}
		said := "• " + line(e.Tool.Name+" "+e.Tool.Title)
		if e.Tool.Status != agentcli.ToolOK {
			said += fmt.Sprintf(" [%s: %s]", e.Tool.Status, line(e.Tool.Error))
		}
		t.line(said)
	case agentcli.EventRetry, agentcli.EventNotice:
		t.line("• (" + line(e.Text) + ")")
	}
}

// line adds a line of its own.
func (t *transcript) line(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = false
	t.push(s)
}

// text adds to the line that is open, or begins one.
func (t *transcript) text(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, l := range strings.Split(s, "\n") {
		switch {
		case i > 0:
			t.push("  " + l)
		case !t.open:
			if s == "" {
				return
			}
			t.push("  " + l)
		default:
			if last := &t.lines[len(t.lines)-1]; len(*last) < mostLine {
				*last += l
			}
		}
	}
	t.dirty, t.open = true, true
	if strings.HasSuffix(s, "\n") { // the line after it is not begun yet
		t.lines = t.lines[:len(t.lines)-1]
		t.open = false
	}
}

func (t *transcript) push(s string) {
	if len(s) > mostLine {
		s = s[:mostLine]
	}
	t.lines = append(t.lines, s)
	if len(t.lines) > mostLog {
		t.lines = slices.Clone(t.lines[len(t.lines)-mostLog:])
	}
	t.dirty = true
}
