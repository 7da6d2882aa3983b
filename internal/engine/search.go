package engine

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/search"
)

// indexer keeps the search index behind the journal: now and then, and before a search is answered. It never holds up
// a commit.
type indexer struct {
	mu sync.Mutex // one at a time reads the journal on
	x  *search.Index
}

const (
	// indexEvery is how often the index is brought up to the journal when nobody searches.
	indexEvery = 20 * time.Second
	// indexBatch is how many events are looked at in one transaction.
	indexBatch = 500
	// indexWait bounds how long a search waits for the index to catch up; what is missing then is not found.
	indexWait = 5 * time.Second
	// digestMost bounds what of one turn is found, digestOutput what of one tool's output.
	digestMost, digestOutput = 64 << 10, 2 << 10
)

// openIndex opens the index beside the journal. Without one, searches are refused and everything else goes on.
func (e *Engine) openIndex(ctx context.Context) {
	x, err := search.Open(ctx, filepath.Join(e.cfg.Home, "search.db"))
	if err != nil {
		e.cfg.Log.Warn("there is no search", "error", err)
		return
	}
	e.indexer.x = x
}

// indexLoop brings the index up to the journal now and then.
func (e *Engine) indexLoop(ctx context.Context) {
	tick := time.NewTicker(indexEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := e.mendIndex(ctx, e.catchUp(ctx)); err != nil && ctx.Err() == nil {
				e.cfg.Log.Warn("cannot bring the search index up to the journal", "error", err)
			}
		}
	}
}

// catchUp indexes what the journal has and the index has not.
func (e *Engine) catchUp(ctx context.Context) error {
	e.indexer.mu.Lock()
	defer e.indexer.mu.Unlock()
	x := e.indexer.x
	if x == nil {
		return nil
	}
	seq, err := x.Position(ctx)
	if err != nil {
		return err
	}
	for {
		events, err := e.journal.Events(ctx, seq, "", indexBatch)
		if err != nil || len(events) == 0 {
			return err
		}
		var found []search.Entry
		for _, ev := range events {
			if entry, ok := e.indexed(ctx, ev); ok {
				found = append(found, entry)
			}
			seq = ev.Seq
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.Add(ctx, found, seq); err != nil {
			return err
		}
	}
}

// indexed is what is to be found of an event.
func (e *Engine) indexed(ctx context.Context, ev substrat.Event) (search.Entry, bool) {
	var data struct {
		Message substrat.Message
		Turn    string
	}
	switch ev.Type {
	case "message.sent":
		if json.Unmarshal(ev.Data, &data) != nil {
			return search.Entry{}, false
		}
		m := data.Message
		return search.Entry{Kind: "message", ID: m.ID, Team: ev.Team, From: m.From, To: m.To, At: ev.At, Text: m.Text}, true
	case "turn.ended":
		if json.Unmarshal(ev.Data, &data) != nil {
			return search.Entry{}, false
		}
		t, err := e.Turn(ctx, data.Turn)
		if err != nil {
			return search.Entry{}, false
		}
		return search.Entry{Kind: "turn", ID: t.ID, Team: ev.Team, Agent: t.Agent, At: ev.At, Text: e.digest(ctx, t)}, true
	default:
		return search.Entry{}, false
	}
}

// digest is what an agent said and did in a turn: its text, and its tool calls with the beginning of their output. What it
// thought is left out.
func (e *Engine) digest(ctx context.Context, t substrat.Turn) string {
	var b strings.Builder
	b.WriteString(clip(t.Text, digestMost/2))
	err := e.streamSpool(ctx, t, 0, func(item StreamItem) error {
		x := item.Event.Tool
		if item.Event.Type != agentcli.EventToolEnd || x == nil {
			return nil
		}
		for _, s := range []string{x.Name, x.Title, string(x.Input), x.Output, x.Error} {
			if s != "" && b.Len() < digestMost {
				b.WriteString("\n" + clip(s, digestOutput))
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		e.cfg.Log.Debug("cannot index all of a turn", "turn", t.ID, "error", err)
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// Search finds messages and transcripts by their words. The query is as package search describes it.
func (e *Engine) Search(ctx context.Context, text string, limit int, newest bool) ([]substrat.Hit, error) {
	if e.indexer.x == nil {
		return nil, substrat.Errorf(substrat.CodeUnavailable, "cannot search: the index could not be opened").WithHint("the daemon's log says why")
	}
	q, err := search.Parse(text, time.Now())
	if err != nil {
		return nil, err
	}
	q.Limit, q.Newest = limit, newest
	wait, cancel := context.WithTimeout(ctx, indexWait)
	defer cancel()
	if err := e.catchUp(wait); err != nil && wait.Err() == nil {
		return nil, e.mendIndex(ctx, err)
	}
	hits, err := e.indexer.x.Find(ctx, q)
	return hits, e.mendIndex(ctx, err)
}

// mendIndex begins a broken index anew, and says so; the next search finds it filled.
func (e *Engine) mendIndex(ctx context.Context, err error) error {
	if !search.Damaged(err) {
		return err
	}
	e.indexer.mu.Lock()
	defer e.indexer.mu.Unlock()
	if fresh := e.indexer.x.Reset(ctx); fresh != nil {
		return fresh
	}
	return substrat.Errorf(substrat.CodeStorage, "the search index was damaged and is made anew").WithHint("search again")
}
