package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/journal/sqlite"
	"substrat.dev/substrat/internal/team"
)

// teamSize is how many agents a team of the filled journals has.
const teamSize = 100

// fill makes a home with agents in teams of a hundred, and a journal of some length whose last 20,000 events no snapshot
// covers: as much as a daemon that was killed leaves at the most.
func (b *bench) fill(name string, agents, events int) (string, error) {
	ctx, home := context.Background(), b.home(name)
	j, err := sqlite.Open(ctx, filepath.Join(home, "journal.db"), sqlite.Options{})
	if err != nil {
		return "", err
	}
	lease, err := j.Lease(ctx, "daemon", time.Hour)
	if err != nil {
		return "", err
	}
	teams := agents / teamSize
	open := min(20_000, events/2) / teams
	for i := range teams {
		f := &filler{j: j, epoch: lease.Epoch, s: team.New(uuid.Must(uuid.NewV7()).String())}
		if err := f.fill(ctx, fmt.Sprintf("r%d", i), events/teams, open); err != nil {
			return "", err
		}
	}
	return home, j.Close()
}

// filler writes the journal of one team.
type filler struct {
	j      journal.Journal
	epoch  int64
	s      *team.State
	events []substrat.Event
}

// fill makes the agents and lets them take turns until there are so many events, the last few without a snapshot.
func (f *filler) fill(ctx context.Context, name string, events, open int) error {
	ids := []string{f.s.Team}
	create := team.Create{ID: f.s.Team, Name: name, Provider: "sim", Dir: "/tmp", Sandbox: substrat.Bubblewrap, Network: substrat.NetworkNone}
	for i := range teamSize {
		if err := f.do(create); err != nil {
			return err
		}
		id := uuid.Must(uuid.NewV7()).String()
		create = team.Create{ID: id, Name: fmt.Sprintf("n%d", i), Parent: f.s.Team}
		if i < teamSize-1 {
			ids = append(ids, id)
		}
	}
	for i := 0; int(f.s.Seq) < events; i++ {
		id, turn := ids[i%len(ids)], uuid.Must(uuid.NewV7()).String()
		for _, c := range []team.Command{
			team.Send{ID: uuid.Must(uuid.NewV7()).String(), To: id, Text: "go on with what you do"}, team.Start{Agent: id, Turn: turn},
			team.End{Agent: id, Turn: turn, Outcome: substrat.Completed, Text: "it is done"},
		} {
			if err := f.do(c); err != nil {
				return err
			}
		}
		if left := events - int(f.s.Seq); left <= open && left > open-3 || len(f.events) > 2000 {
			if err := f.flush(ctx, left <= open); err != nil {
				return err
			}
		}
	}
	return f.flush(ctx, false)
}

func (f *filler) do(c team.Command) error {
	entries, _, err := team.Decide(f.s, team.Meta{At: time.Now().UTC(), Limits: team.DefaultLimits()}, c)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ev, err := e.Event(f.s.Team, f.s.Seq+1)
		if err != nil {
			return err
		}
		if _, err := f.s.Apply(e); err != nil {
			return err
		}
		f.events = append(f.events, ev)
	}
	return nil
}

func (f *filler) flush(ctx context.Context, snapshot bool) error {
	if len(f.events) > 0 {
		b := journal.Batch{Team: f.s.Team, Epoch: f.epoch, Expect: f.events[0].TeamSeq - 1, Events: f.events}
		if _, _, err := f.j.Append(ctx, []journal.Batch{b}); err != nil {
			return err
		}
		f.events = nil
	}
	if !snapshot {
		return nil
	}
	data, err := f.s.Encode()
	if err != nil {
		return err
	}
	return f.j.SaveSnapshots(ctx, []journal.Snapshot{{Team: f.s.Team, TeamSeq: f.s.Seq, Data: data}})
}

// idle measures what agents cost that do nothing, after a restart.
func (b *bench) idle() error {
	for _, c := range []struct {
		agents int
		most   float64
	}{{1000, 40}, {10_000, 120}} {
		home, err := b.fill(fmt.Sprintf("e%d", c.agents), c.agents, 4*c.agents)
		if err != nil {
			return err
		}
		d, _, err := b.start(home)
		if err != nil {
			return err
		}
		rss, _, fds := memory(d.cmd.Process.Pid)
		d.stop()
		b.row(fmt.Sprintf("e2 daemon with %d idle agents, resident", c.agents), "", fmt.Sprintf("%.0f MB", rss), 0, fmt.Sprintf("≤ %.0f MB", c.most), rss <= c.most)
		b.row("e3 its descriptors", "", fmt.Sprint(fds), 0, "≤ 64", fds <= 64)
	}
	return nil
}

// restart measures from the start of the process to the first answered listing.
func (b *bench) restart() error {
	for _, c := range []struct {
		agents, events int
		most           time.Duration
	}{{1000, 100_000, 300 * time.Millisecond}, {10_000, 1_000_000, time.Second}} {
		if b.quick {
			c.events /= 10
		}
		home, err := b.fill(fmt.Sprintf("f%d", c.agents), c.agents, c.events)
		if err != nil {
			return err
		}
		best := time.Hour
		for range 3 {
			d, took, err := b.start(home)
			if err != nil {
				return err
			}
			d.stop()
			best = min(best, took)
		}
		b.row(fmt.Sprintf("f restart → list, %d agents, %d events", c.agents, c.events), "", ms(float64(best.Microseconds())/1000), 0, "≤ "+c.most.String(), best <= c.most)
	}
	return nil
}

// create measures how fast agents are made over the API, and that none of them starts a process.
func (b *bench) create() error {
	d, _, err := b.start(b.home("g"))
	if err != nil {
		return err
	}
	defer d.stop()
	roots, err := httpRate(d.Client, 16, b.n(10_000))
	if err != nil {
		return err
	}
	b.row("g agents created/s over HTTP, as roots", "", fmt.Sprintf("%.0f", roots), 0, "≥ 2000", roots >= 2000)
	if _, err := d.CreateAgent(d.ctx, substrat.NewAgent{Name: "lead"}); err != nil {
		return err
	}
	children, err := spread(16, b.n(10_000), func(int) error {
		_, err := d.CreateAgent(d.ctx, substrat.NewAgent{Name: fmt.Sprintf("c%d", count.Add(1)), Parent: "lead"})
		return err
	})
	if err != nil {
		return err
	}
	b.row("g agents created/s over HTTP, under one", "", fmt.Sprintf("%.0f", children), 0, "≥ 2000", children >= 2000)
	return nil
}
