package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"substrat.dev/substrat"
)

// Status is what a daemon says of itself.
type Status struct {
	Running   bool      `json:"running"`
	PID       int       `json:"pid"`
	Socket    string    `json:"socket"`
	URL       string    `json:"url,omitempty"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at,omitzero"`
	Slots     int       `json:"slots"`
	Turns     int       `json:"turns"`
	Agents    int       `json:"agents"`
	Teams     int       `json:"teams"`
	Seq       int64     `json:"seq"`
	Draining  bool      `json:"draining"`
}

// Inspection is an agent with what it did and what waits for it.
type Inspection struct {
	Agent       substrat.Agent     `json:"agent"`
	RecentTurns []substrat.Turn    `json:"recent_turns"`
	Mailbox     []substrat.Message `json:"mailbox"`
}

// Receipt is a message that needs no more waiting, with the turn that handled it.
type Receipt struct {
	Message substrat.Message `json:"message"`
	Turn    *substrat.Turn   `json:"turn,omitempty"`
}

// MessageQuery selects messages: those from or to one agent, or those to USER. After is a cursor; Limit 0 means 1000.
type MessageQuery struct {
	Agent string
	Inbox bool
	After string
	Limit int
}

// Status tells what the daemon is doing.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/status", nil, nil)
}

// Shutdown stops the daemon: mode "leave", "drain" or "cancel". It answers before the daemon is gone.
func (c *Client) Shutdown(ctx context.Context, mode string) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/shutdown", nil, map[string]string{"mode": mode})
	return err
}

// CreateAgent adds an agent. No process is started.
func (c *Client) CreateAgent(ctx context.Context, n substrat.NewAgent) (substrat.Agent, error) {
	return call[substrat.Agent](ctx, c, http.MethodPost, "/agents", nil, n)
}

// Agents lists the agents; all adds those that have ended.
func (c *Client) Agents(ctx context.Context, all bool) ([]substrat.Agent, error) {
	q := url.Values{}
	if all {
		q.Set("all", "true")
	}
	out, err := call[struct{ Agents []substrat.Agent }](ctx, c, http.MethodGet, "/agents", q, nil)
	return out.Agents, err
}

// Agent shows one agent.
func (c *Client) Agent(ctx context.Context, ref string) (substrat.Agent, error) {
	return call[substrat.Agent](ctx, c, http.MethodGet, agentPath(ref, ""), nil, nil)
}

// Inspect shows one agent with its recent turns and its mailbox.
func (c *Client) Inspect(ctx context.Context, ref string) (Inspection, error) {
	return call[Inspection](ctx, c, http.MethodGet, agentPath(ref, "/inspect"), nil, nil)
}

// Terminate ends an agent and everything under it.
func (c *Client) Terminate(ctx context.Context, ref, reason string) error {
	q := url.Values{}
	if reason != "" {
		q.Set("reason", reason)
	}
	_, err := call[struct{}](ctx, c, http.MethodDelete, agentPath(ref, ""), q, nil)
	return err
}

// Suspend ends the process that an agent keeps between its turns. It answers false when there was none to end.
func (c *Client) Suspend(ctx context.Context, ref string) (bool, error) {
	out, err := call[struct {
		Suspended bool `json:"suspended"`
	}](ctx, c, http.MethodPost, agentPath(ref, "/suspend"), nil, nil)
	return out.Suspended, err
}

// StopTurn asks to cancel an agent's open turn.
func (c *Client) StopTurn(ctx context.Context, ref string) (substrat.Turn, error) {
	return call[substrat.Turn](ctx, c, http.MethodPost, agentPath(ref, "/stop"), nil, nil)
}

// Send delivers a message from USER. It returns once the message is durable.
func (c *Client) Send(ctx context.Context, ref, text string) (substrat.Sent, error) {
	return call[substrat.Sent](ctx, c, http.MethodPost, agentPath(ref, "/messages"), nil, map[string]string{"text": text})
}

// Message shows a message with its receipt.
func (c *Client) Message(ctx context.Context, id string) (substrat.Message, error) {
	return call[substrat.Message](ctx, c, http.MethodGet, "/messages/"+url.PathEscape(id), nil, nil)
}

// Messages lists messages in order of sending, and the cursor to go on from.
func (c *Client) Messages(ctx context.Context, m MessageQuery) ([]substrat.Message, string, error) {
	q := limitQuery(m.Limit)
	for k, v := range map[string]string{"agent": m.Agent, "after": m.After} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if m.Inbox {
		q.Set("inbox", "true")
	}
	out, err := call[struct {
		Messages []substrat.Message
		Next     string
	}](ctx, c, http.MethodGet, "/messages", q, nil)
	return out.Messages, out.Next, err
}

// pollFor is how long one wait of Receipt asks the daemon to hold the request.
const pollFor = time.Minute

// Receipt waits until a message is final. It also waits out a daemon that restarts meanwhile. When ctx ends first the
// error is CodeTimeout; the message goes on.
func (c *Client) Receipt(ctx context.Context, id string) (Receipt, error) {
	q := url.Values{"wait": {pollFor.String()}}
	for {
		r, err := call[Receipt](ctx, c, http.MethodGet, "/messages/"+url.PathEscape(id)+"/receipt", q, nil)
		code := substrat.CodeOf(err)
		if err == nil || ctx.Err() != nil || code != substrat.CodeTimeout && code != substrat.CodeUnavailable {
			if err != nil && ctx.Err() != nil {
				err = substrat.Errorf(substrat.CodeTimeout, "gave up waiting for message %s", id).WithHint("it goes on; substrat message show %s tells", id)
			}
			return r, err
		}
		if code == substrat.CodeUnavailable {
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// Turn shows a turn.
func (c *Client) Turn(ctx context.Context, id string) (substrat.Turn, error) {
	return call[substrat.Turn](ctx, c, http.MethodGet, "/turns/"+url.PathEscape(id), nil, nil)
}

// Turns lists an agent's turns, newest last. Limit 0 means all.
func (c *Client) Turns(ctx context.Context, ref string, limit int) ([]substrat.Turn, error) {
	out, err := call[struct{ Turns []substrat.Turn }](ctx, c, http.MethodGet, agentPath(ref, "/turns"), limitQuery(limit), nil)
	return out.Turns, err
}

// OpenAPI gives the document that describes the API.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	res, err := c.request(ctx, http.MethodGet, "/openapi.json", nil, nil, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, transport(ctx, err)
	}
	return data, nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
