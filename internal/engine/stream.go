package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/turn"
)

// StreamPos is a place in the stream of an agent's turns: the turn's number and the offset in its spool.
type StreamPos struct {
	Turn   int
	Offset int64
}

// StreamItem is one thing in the stream. Exactly one of Event, Started and Ended is set.
type StreamItem struct {
	Turn    string          `json:"turn"`
	Number  int             `json:"number"`
	Offset  int64           `json:"offset"`
	Event   *agentcli.Event `json:"event,omitempty"`
	Started *substrat.Turn  `json:"started,omitempty"`
	Ended   *substrat.Turn  `json:"ended,omitempty"`
}

// Stream follows the turns of an agent from a place on until ctx ends or emit fails. Every reader decodes the spool for
// itself: a slow one holds up nobody, and one that comes back finds everything again.
func (e *Engine) Stream(ctx context.Context, ref string, from StreamPos, emit func(StreamItem) error) error {
	for {
		changed := e.changedNow()
		turns, err := e.Turns(ctx, ref, 0)
		if err != nil {
			return err
		}
		for _, t := range turns {
			if t.Number < from.Turn {
				continue
			}
			if t.Number > from.Turn {
				from = StreamPos{Turn: t.Number}
			}
			if err := e.streamTurn(ctx, t, from, emit); err != nil {
				return err
			}
			from = StreamPos{Turn: t.Number + 1}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// streamTurn emits one turn, waiting for its end if it is open.
func (e *Engine) streamTurn(ctx context.Context, t substrat.Turn, from StreamPos, emit func(StreamItem) error) error {
	item := StreamItem{Turn: t.ID, Number: t.Number}
	if from.Offset == 0 {
		started := t
		started.EndedAt, started.Outcome, started.Text = nil, "", ""
		item.Started = &started
		if err := emit(item); err != nil {
			return err
		}
		item.Started = nil
	}
	if err := e.streamSpool(ctx, t, from.Offset, emit); err != nil {
		return err
	}
	ended, err := e.awaitTurn(ctx, t.ID)
	if err != nil {
		return err
	}
	item.Ended, item.Offset = &ended, endOffset
	return emit(item)
}

// endOffset is past every offset of a spool: a reader that resumes from it has seen the turn's end.
const endOffset = 1<<53 - 1

// streamSpool decodes a turn's spool from an offset on. Decoding starts at the beginning, because what a frame means
// depends on those before it.
func (e *Engine) streamSpool(ctx context.Context, t substrat.Turn, after int64, emit func(StreamItem) error) error {
	if after >= endOffset {
		return ctx.Err()
	}
	p, limits := e.providerOf(t.AgentID)
	if p == nil {
		return nil
	}
	stop := errors.New("emit failed")
	var emitErr error
	err := e.decodeTurn(ctx, t, p, limits, func(ev agentcli.Event) error {
		if ev.Offset <= after {
			return nil
		}
		if emitErr = emit(StreamItem{Turn: t.ID, Number: t.Number, Offset: ev.Offset, Event: &ev}); emitErr != nil {
			return stop
		}
		return nil
	})
	if emitErr != nil {
		return emitErr
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return ctx.Err()
}

// decodeTurn decodes what a turn printed, following it while it is open.
func (e *Engine) decodeTurn(ctx context.Context, t substrat.Turn, p agentcli.Provider, l *substrat.TurnLimits, emit func(agentcli.Event) error) error {
	clean := newShown(&e.secrets, emit)
	if p.Info().Live {
		if err := e.streamTape(ctx, t, p, l, clean.take); err != nil {
			return err
		}
		return clean.end(endOffset - 1)
	}
	dir := filepath.Join(e.turnDir(t.ID), "run")
	if !e.awaitSpool(ctx, t.ID, dir) {
		return ctx.Err()
	}
	sh, err := turn.Attach(ctx, dir)
	if err != nil {
		return err
	}
	defer sh.Close()
	if _, err = p.Converse(ctx, newConn(ctx, sh, l), agentcli.Request{Recorded: true}, clean.take); err != nil {
		return err
	}
	return clean.end(endOffset - 1)
}

// awaitSpool waits until a turn's process has a spool. It answers false for a turn that ended without one.
func (e *Engine) awaitSpool(ctx context.Context, id, dir string) bool {
	for {
		changed := e.changedNow()
		if _, err := os.Stat(filepath.Join(dir, "stdout")); err == nil {
			return true
		}
		t, err := e.Turn(ctx, id)
		if err != nil || t.Outcome != "" {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		case <-e.spoolSoon(ctx):
		}
	}
}

// awaitTurn waits for a turn's outcome.
func (e *Engine) awaitTurn(ctx context.Context, id string) (substrat.Turn, error) {
	for {
		changed := e.changedNow()
		t, err := e.Turn(ctx, id)
		if err != nil || t.Outcome != "" {
			return t, err
		}
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-changed:
		}
	}
}

// providerOf finds what decodes an agent's turns, also after the agent has ended.
func (e *Engine) providerOf(agent string) (agentcli.Provider, *substrat.TurnLimits) {
	e.mu.RLock()
	if s := e.teams[e.index.team[agent]]; s != nil {
		a := s.Agents[agent]
		e.mu.RUnlock()
		return e.providers[a.Provider], a.Limits
	}
	e.mu.RUnlock()
	doc, err := e.journal.Doc(context.Background(), "agent", agent)
	if err != nil {
		return nil, nil
	}
	a, err := decode[substrat.Agent](doc)
	if err != nil {
		return nil, nil
	}
	return e.providers[a.Provider], nil
}

func (e *Engine) providerNames() string {
	var names []string
	for n := range e.providers {
		names = append(names, n)
	}
	slices.Sort(names)
	return join(names)
}
