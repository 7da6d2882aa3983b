package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/cursor"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/engine"
	"substrat.dev/substrat/internal/journal/sqlite"
	"substrat.dev/substrat/internal/team"
)

// boundless lets mailboxes and trees grow as the measurement wants.
type boundless struct{ engine.NoRules }

// Limits implements engine.Rules.
func (boundless) Limits(string) team.Limits {
	limits := team.DefaultLimits()
	limits.QueueLen, limits.Descendants, limits.SpawnsPerMinute = 1<<30, 1<<30, 1<<30
	return limits
}

// inProcess opens an engine of its own that runs no turns.
func inProcess(home string) (*engine.Engine, func() error, error) {
	ctx := context.Background()
	j, err := sqlite.Open(ctx, filepath.Join(home, "journal.db"), sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	e, err := engine.Open(ctx, engine.Config{
		Home: home, Exe: "/bin/false", Slots: 0, Rules: boundless{}, Log: slog.New(slog.DiscardHandler),
		Providers: []agentcli.Provider{cursor.New(cursor.Options{Name: "sim", Command: []string{"false"}})},
	}, j)
	if err != nil {
		return nil, nil, err
	}
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	return e, func() error {
		e.Shutdown("leave")
		if err := <-done; err != nil {
			return err
		}
		return j.Close()
	}, nil
}

// durable compares messages made durable with rows that SQLite takes from as many producers.
func (b *bench) durable() error {
	for _, senders := range []int{1, 16, 64} {
		floor, err := b.rawInserts(senders, b.n(500*senders+2000))
		if err != nil {
			return err
		}
		got, err := b.engineSends(senders, b.n(500*senders+2000))
		if err != nil {
			return err
		}
		b.row(fmt.Sprintf("d durable messages/s, %d senders", senders), fmt.Sprintf("%.0f", floor), fmt.Sprintf("%.0f", got), got/floor, "≥ 0.5 ×", got >= 0.5*floor)
	}
	got, err := b.httpSends(16, b.n(8000))
	if err != nil {
		return err
	}
	b.row("d commands/s over HTTP, 16 callers", "", fmt.Sprintf("%.0f", got), 0, "", true)
	return nil
}

// spread lets some workers do n things and gives how many were done in a second.
func spread(workers, n int, do func(worker int) error) (float64, error) {
	var failed atomic.Value
	var wg sync.WaitGroup
	began := time.Now()
	for w := range workers {
		wg.Go(func() {
			for range n / workers {
				if err := do(w); err != nil {
					failed.Store(err)
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began).Seconds()
	err, _ := failed.Load().(error)
	return float64(n/workers*workers) / took, err
}

// rawInserts is the floor: producers, one writer that batches what waits, WAL with synchronous=FULL.
func (b *bench) rawInserts(producers, n int) (float64, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.dir, fmt.Sprintf("raw%d.db", producers))+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("create table e (seq integer primary key, team text, type text, at integer, data blob)"); err != nil {
		return 0, err
	}
	type row struct{ done chan error }
	rows := make(chan row, 1024)
	go func() {
		for r := range rows {
			batch := []row{r}
			for len(batch) < 256 && len(rows) > 0 {
				batch = append(batch, <-rows)
			}
			err := insert(db, len(batch))
			for _, r := range batch {
				r.done <- err
			}
		}
	}()
	defer close(rows)
	return spread(producers, n, func(int) error {
		r := row{make(chan error, 1)}
		rows <- r
		return <-r.done
	})
}

func insert(db *sql.DB, n int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	st, err := tx.Prepare("insert into e (team, type, at, data) values (?,?,?,?)")
	if err != nil {
		return err
	}
	data := []byte(strings.Repeat("x", 400))
	for range n {
		if _, err := st.Exec("team", "message.sent", 1, data); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// engineSends measures commands to the members of one team, from the call to the durable answer.
func (b *bench) engineSends(senders, n int) (float64, error) {
	e, stop, err := inProcess(b.home(fmt.Sprintf("d%d", senders)))
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	if _, err := e.CreateAgent(ctx, substrat.NewAgent{Name: "lead"}); err != nil {
		return 0, err
	}
	for w := range senders {
		if _, err := e.CreateAgent(ctx, substrat.NewAgent{Name: fmt.Sprintf("a%d", w), Parent: "lead"}); err != nil {
			return 0, err
		}
	}
	rate, err := spread(senders, n, func(w int) error {
		_, err := e.Send(ctx, fmt.Sprintf("a%d", w), "a message of some length, as messages are")
		return err
	})
	if err != nil {
		return 0, err
	}
	return rate, stop()
}

func (b *bench) httpSends(senders, n int) (float64, error) {
	d, _, err := b.start(b.home("dh"))
	if err != nil {
		return 0, err
	}
	defer d.stop()
	return httpRate(d.Client, senders, n)
}

// httpRate creates agents over the API: one durable command each, and nothing that wakes an agent.
func httpRate(c *client.Client, senders, n int) (float64, error) {
	ctx := context.Background()
	return spread(senders, n, func(int) error {
		_, err := c.CreateAgent(ctx, substrat.NewAgent{Name: fmt.Sprintf("x%d", count.Add(1))})
		return err
	})
}

var count atomic.Int64
