package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"substrat.dev/substrat"
)

// Queue lists what needs a person, oldest first; all adds what no longer does.
func (c *Client) Queue(ctx context.Context, all bool) ([]substrat.Item, error) {
	q := url.Values{}
	if all {
		q.Set("all", "true")
	}
	out, err := call[struct{ Items []substrat.Item }](ctx, c, http.MethodGet, "/queue", q, nil)
	return out.Items, err
}

// Item shows one item of the queue. The beginning or the end of an id is enough for an open one, where it fits one.
func (c *Client) Item(ctx context.Context, id string) (substrat.Item, error) {
	return call[substrat.Item](ctx, c, http.MethodGet, "/queue/"+url.PathEscape(id), nil, nil)
}

// AnswerItem answers an item of the queue.
func (c *Client) AnswerItem(ctx context.Context, id string, a substrat.Answer) (substrat.Item, error) {
	return call[substrat.Item](ctx, c, http.MethodPost, "/queue/"+url.PathEscape(id), nil, a)
}

// Attempts lists what an agent's processes tried to reach, at most n of the last, 0 for all that are kept.
func (c *Client) Attempts(ctx context.Context, ref string, n int) ([]substrat.Attempt, error) {
	out, err := call[struct {
		Attempts []substrat.Attempt `json:"attempts"`
	}](ctx, c, http.MethodGet, agentPath(ref, "/net"), url.Values{"last": {strconv.Itoa(n)}}, nil)
	return out.Attempts, err
}

// Why tells what keeps an agent from running.
func (c *Client) Why(ctx context.Context, ref string) (substrat.Why, error) {
	return call[substrat.Why](ctx, c, http.MethodGet, agentPath(ref, "/why"), nil, nil)
}

// Graph tells who waits for whom.
func (c *Client) Graph(ctx context.Context) (substrat.Graph, error) {
	return call[substrat.Graph](ctx, c, http.MethodGet, "/graph", nil, nil)
}

// Gate puts an agent's gate down, or lifts it.
func (c *Client) Gate(ctx context.Context, ref string, down bool) (substrat.Agent, error) {
	return call[substrat.Agent](ctx, c, http.MethodPost, agentPath(ref, "/gate"), nil, map[string]bool{"down": down})
}

// Permit lets one turn of a gated agent through.
func (c *Client) Permit(ctx context.Context, ref string) (substrat.Agent, error) {
	return call[substrat.Agent](ctx, c, http.MethodPost, agentPath(ref, "/permit"), nil, nil)
}

// Poke retries an agent's failed turn. It answers poked, busy or nothing to retry.
func (c *Client) Poke(ctx context.Context, ref string) (string, error) {
	out, err := call[struct{ Status string }](ctx, c, http.MethodPost, agentPath(ref, "/poke"), nil, nil)
	return out.Status, err
}

// Change changes an agent; its next turn has the new.
func (c *Client) Change(ctx context.Context, ref string, x substrat.AgentChange) (substrat.Agent, error) {
	return call[substrat.Agent](ctx, c, http.MethodPatch, agentPath(ref, ""), nil, x)
}

// SetBudgets replaces an agent's budgets.
func (c *Client) SetBudgets(ctx context.Context, ref string, b []substrat.Budget) (substrat.Agent, error) {
	if b == nil {
		b = []substrat.Budget{}
	}
	return call[substrat.Agent](ctx, c, http.MethodPut, agentPath(ref, "/budgets"), nil, map[string]any{"budgets": b})
}

// Reminders lists an agent's reminders.
func (c *Client) Reminders(ctx context.Context, ref string) ([]substrat.Reminder, error) {
	out, err := call[struct{ Reminders []substrat.Reminder }](ctx, c, http.MethodGet, agentPath(ref, "/reminders"), nil, nil)
	return out.Reminders, err
}

// Remind sends an agent a message later, and then every so often if every is not 0.
func (c *Client) Remind(ctx context.Context, ref, reason string, after, every time.Duration) (substrat.Reminder, error) {
	return call[substrat.Reminder](ctx, c, http.MethodPost, agentPath(ref, "/reminders"), nil, map[string]any{
		"reason": reason, "after_seconds": after.Seconds(), "every_seconds": every.Seconds(),
	})
}

// CancelReminder takes a reminder of an agent back.
func (c *Client) CancelReminder(ctx context.Context, ref, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, agentPath(ref, "/reminders/"+url.PathEscape(id)), nil, nil)
	return err
}

// Resume lets the agents of a provider's account go on. An agent's name stands for the account it runs on. It tells the
// account and how many teams were held.
func (c *Client) Resume(ctx context.Context, account string) (name string, teams int, err error) {
	out, err := call[struct {
		Account string
		Teams   int
	}](ctx, c, http.MethodPost, "/resume", nil, map[string]string{"account": account})
	return out.Account, out.Teams, err
}

// Search finds messages and transcripts by their words, best first or newest first. Limit 0 means 50.
func (c *Client) Search(ctx context.Context, text string, limit int, newest bool) ([]substrat.Hit, error) {
	q := limitQuery(limit)
	q.Set("q", text)
	if newest {
		q.Set("newest", "true")
	}
	out, err := call[struct{ Hits []substrat.Hit }](ctx, c, http.MethodGet, "/search", q, nil)
	return out.Hits, err
}
