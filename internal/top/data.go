// Package top is the live view of a daemon in a terminal: its agents as a tree, what each waits for, what needs a person.
//
// It shows what the client tells and does what the client can; it keeps nothing and decides nothing. A snapshot is taken
// when something happened, at most five times a second, and every two seconds in any case; what is on the screen is a pure
// function of the snapshot, the keys that were pressed and the size. Text of agents never reaches the terminal as it is:
// control characters are written out.
package top

import (
	"context"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// Daemon is what the view asks. *client.Client is one.
type Daemon interface {
	Status(ctx context.Context) (client.Status, error)
	Agents(ctx context.Context, all bool) ([]substrat.Agent, error)
	Queue(ctx context.Context, all bool) ([]substrat.Item, error)
	Why(ctx context.Context, ref string) (substrat.Why, error)
	Turns(ctx context.Context, ref string, limit int) ([]substrat.Turn, error)
	Send(ctx context.Context, ref, text string) (substrat.Sent, error)
	AnswerItem(ctx context.Context, id string, a substrat.Answer) (substrat.Item, error)
	StopTurn(ctx context.Context, ref string) (substrat.Turn, error)
	Terminate(ctx context.Context, ref, reason string) error
	Poke(ctx context.Context, ref string) (string, error)
	Gate(ctx context.Context, ref string, down bool) (substrat.Agent, error)
}

// Snapshot is what is known at one moment. Why and Turns are those of the selected agent.
type Snapshot struct {
	At     time.Time
	Status client.Status
	Agents []substrat.Agent
	Queue  []substrat.Item
	Why    *substrat.Why
	Turns  []substrat.Turn
	// Away says why the daemon does not answer, empty if it does.
	Away string
}

// fetchTime bounds one snapshot.
const fetchTime = 5 * time.Second

// turnsShown is how many of an agent's last turns are asked for.
const turnsShown = 20

// take takes a snapshot. The daemon being away is one, too: what was there before stays to be seen.
func take(ctx context.Context, d Daemon, before Snapshot, selected string) Snapshot {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	s := Snapshot{At: time.Now()}
	var err error
	if s.Status, err = d.Status(ctx); err == nil {
		s.Agents, err = d.Agents(ctx, false)
	}
	if err == nil {
		s.Queue, err = d.Queue(ctx, false)
	}
	if err != nil {
		before.At, before.Away = s.At, "the daemon is away, looking for it: "+err.Error()
		return before
	}
	if selected == "" && len(s.Agents) > 0 {
		selected = s.Agents[0].Path
	}
	if selected != "" {
		if w, err := d.Why(ctx, selected); err == nil {
			s.Why = &w
		}
		s.Turns, _ = d.Turns(ctx, selected, turnsShown)
	}
	return s
}
