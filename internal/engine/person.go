package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/journal"
	"substrat.dev/substrat/internal/team"
)

// Queue lists what needs a person, oldest first; all adds the last thousand that no longer do.
func (e *Engine) Queue(ctx context.Context, all bool) ([]substrat.Item, error) {
	out := []substrat.Item{}
	e.mu.RLock()
	for _, s := range e.teams {
		for _, x := range s.Items {
			out = append(out, x.Item)
		}
	}
	e.mu.RUnlock()
	if all {
		closed, err := pages[substrat.Item](ctx, e.journal, journal.Query{Kind: "item", Newest: true}, 1000)
		if err != nil {
			return nil, err
		}
		out = append(out, closed...)
	}
	slices.SortFunc(out, func(a, b substrat.Item) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

// Item finds one item of the queue, also one that is closed. The beginning of an id is enough where it fits one.
func (e *Engine) Item(ctx context.Context, id string) (substrat.Item, error) {
	if x, ok, err := e.openItem(id); ok || err != nil {
		return x, err
	}
	d, err := e.journal.Doc(ctx, "item", id)
	if err != nil {
		if substrat.CodeOf(err) == substrat.CodeNotFound {
			return substrat.Item{}, substrat.Errorf(substrat.CodeNotFound, "no item %.80q in the queue", id).WithHint("substrat queue shows what is there")
		}
		return substrat.Item{}, err
	}
	return decode[substrat.Item](d)
}

// leastOfID is how much of an id must be given at least.
const leastOfID = 4

func (e *Engine) openItem(id string) (found substrat.Item, ok bool, err error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, s := range e.teams {
		if x := s.Items[id]; x != nil {
			return x.Item, true, nil
		}
		for _, x := range s.Items {
			if len(id) < leastOfID || !strings.HasPrefix(x.ID, id) && !strings.HasSuffix(x.ID, id) {
				continue
			}
			if ok {
				return found, false, substrat.Errorf(substrat.CodeAmbiguous, "%q fits several items", id).WithHint("give more of the id")
			}
			found, ok = x.Item, true
		}
	}
	return found, ok, nil
}

// AnswerItem is a person's word on an open item.
func (e *Engine) AnswerItem(ctx context.Context, id string, a substrat.Answer) (substrat.Item, error) {
	x, err := e.Item(ctx, id)
	if err != nil {
		return x, err
	}
	if x.State != substrat.ItemOpen {
		return x, substrat.Errorf(substrat.CodeConflict, "cannot answer %s: it is %s", x.ID, x.State)
	}
	if _, err := e.Do(ctx, x.Team, team.Meta{}, team.AnswerItem{ID: x.ID, Answer: a}); err != nil {
		return x, err
	}
	return e.Item(ctx, x.ID)
}

// order issues a person's command about one agent, and shows the agent.
func (e *Engine) order(ctx context.Context, ref string, cmd func(id string) team.Command) (substrat.Agent, json.RawMessage, error) {
	teamID, id, err := e.resolve(ref)
	if err != nil {
		return substrat.Agent{}, nil, err
	}
	answer, err := e.Do(ctx, teamID, team.Meta{}, cmd(id))
	if err != nil {
		return substrat.Agent{}, nil, err
	}
	a, err := e.Agent(ctx, id)
	return a, answer, err
}

// Gate puts an agent's gate down, or lifts it.
func (e *Engine) Gate(ctx context.Context, ref string, down bool) (substrat.Agent, error) {
	a, _, err := e.order(ctx, ref, func(id string) team.Command { return team.Gate{Agent: id, Down: down} })
	return a, err
}

// Permit lets one turn of a gated agent through.
func (e *Engine) Permit(ctx context.Context, ref string) (substrat.Agent, error) {
	a, _, err := e.order(ctx, ref, func(id string) team.Command { return team.Permit{Agent: id} })
	return a, err
}

// Poke retries a failed turn with the same input. It tells whether there was something to retry.
func (e *Engine) Poke(ctx context.Context, ref string) (substrat.Agent, string, error) {
	a, answer, err := e.order(ctx, ref, func(id string) team.Command { return team.Poke{Agent: id} })
	var st team.Status
	if err == nil {
		err = json.Unmarshal(answer, &st)
	}
	return a, st.Status, err
}

// SetBudgets replaces an agent's budgets.
func (e *Engine) SetBudgets(ctx context.Context, ref string, b []substrat.Budget) (substrat.Agent, error) {
	a, _, err := e.order(ctx, ref, func(id string) team.Command { return team.SetBudgets{Agent: id, Budgets: b} })
	return a, err
}

// Change sets what a person may change of an agent.
func (e *Engine) Change(ctx context.Context, ref string, c substrat.AgentChange) (substrat.Agent, error) {
	a, _, err := e.order(ctx, ref, func(id string) team.Command {
		return team.Change{
			Agent: id, Instructions: c.Instructions, Model: c.Model, Role: c.Role, Metadata: c.Metadata, Limits: c.Limits, Command: c.Command,
		}
	})
	return a, err
}

// Remind sets a reminder for an agent: it gets the reason as a message after a time, and then every so often.
func (e *Engine) Remind(ctx context.Context, ref, reason string, after, every time.Duration) (substrat.Reminder, error) {
	var out team.Reminded
	_, answer, err := e.order(ctx, ref, func(id string) team.Command {
		return team.Remind{ID: e.NewID(), Agent: id, Reason: reason, After: after, Every: every}
	})
	if err == nil {
		err = json.Unmarshal(answer, &out)
	}
	return substrat.Reminder{ID: out.ReminderID, Reason: reason, At: out.At, EverySeconds: int64(every.Seconds())}, err
}

// Reminders lists an agent's reminders.
func (e *Engine) Reminders(ctx context.Context, ref string) ([]substrat.Reminder, error) {
	teamID, id, err := e.resolve(ref)
	if err != nil {
		return nil, err
	}
	out := []substrat.Reminder{}
	err = e.Look(ctx, teamID, func(s *team.State) error {
		for _, r := range s.Agents[id].Reminders {
			out = append(out, substrat.Reminder{ID: r.ID, Reason: r.Reason, At: r.At, EverySeconds: int64(r.Every.Seconds())})
		}
		return nil
	})
	return out, err
}

// CancelReminder takes a reminder of an agent back.
func (e *Engine) CancelReminder(ctx context.Context, ref, id string) error {
	_, _, err := e.order(ctx, ref, func(agent string) team.Command { return team.CancelReminder{Agent: agent, ID: id} })
	return err
}

// Resume ends what holds an account of a provider, in every team, and tells how many teams it held. An agent's name
// stands for the account it runs on.
func (e *Engine) Resume(ctx context.Context, ref string) (account string, teams int, err error) {
	account = ref
	if a, err := e.Agent(ctx, ref); err == nil {
		account = e.cfg.Rules.Account(a.Provider)
	} else if !e.knowsAccount(ref) {
		return "", 0, substrat.Errorf(substrat.CodeNotFound, "cannot resume %.80q: neither an agent nor an account of a provider", ref).
			WithHint("accounts are %s", strings.Join(e.accountNames(), ", "))
	}
	e.mu.RLock()
	var held []string
	for id, s := range e.teams {
		if s.Refused(account) {
			held = append(held, id)
		}
	}
	e.mu.RUnlock()
	for _, id := range held {
		if _, err := e.Do(ctx, id, team.Meta{}, team.ReleaseAccount{Account: account}); err != nil {
			return account, teams, err
		}
		teams++
	}
	return account, teams, nil
}

// accountNames lists the accounts of the providers there are.
func (e *Engine) accountNames() []string {
	var out []string
	for p := range e.providers {
		if a := e.cfg.Rules.Account(p); !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out
}

func (e *Engine) knowsAccount(name string) bool { return slices.Contains(e.accountNames(), name) }

// Graph is who waits for whom.
func (e *Engine) Graph() substrat.Graph {
	e.mu.RLock()
	defer e.mu.RUnlock()
	g := substrat.Graph{Waits: []substrat.Wait{}}
	for _, s := range e.inOrder() {
		g.Waits = append(g.Waits, s.Waits()...)
		g.Cycles = append(g.Cycles, s.Cycles()...)
	}
	return g
}
