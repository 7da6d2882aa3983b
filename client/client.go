// Package client is the typed client of a Substrat daemon's API. The command line uses nothing else.
//
// It speaks HTTP over the daemon's unix socket, or over TCP with a token; it holds no state but connections, and is safe for concurrent use. Errors of
// the daemon come back as *substrat.Error with their code and hint. A daemon that is not there is CodeUnavailable; one
// that is just starting is waited for, for two seconds.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"substrat.dev/substrat"
)

// Client talks to one daemon.
type Client struct {
	socket string
	base   string // scheme and host
	// address is where that is, and secure is set for TLS, if it is not a socket.
	address string
	token   string
	secure  *tls.Config
	http    *http.Client
}

// startingUp is how long a socket that refuses connections is taken for a daemon that is just starting.
const startingUp = 2 * time.Second

// New makes a client of the daemon whose control socket is at a path.
func New(socket string) *Client {
	c := &Client{socket: socket, base: "http://substrat"}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
		MaxIdleConnsPerHost: 64,
	}}
	return c
}

// dial connects, waiting a moment for a daemon that restarts: its socket is there and refuses.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	deadline := time.Now().Add(startingUp)
	for {
		conn, err := c.connect(ctx)
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(deadline) {
			return nil, c.notRunning(err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *Client) notRunning(err error) error {
	if c.socket == "" {
		return substrat.Errorf(substrat.CodeUnavailable, "cannot reach the daemon at %s: %v", c.base, err).
			WithHint("substrat daemon start --listen ADDRESS, where it runs")
	}
	if errors.Is(err, fs.ErrPermission) {
		return substrat.Errorf(substrat.CodeForbidden, "cannot reach the daemon: its socket belongs to another user")
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return substrat.Errorf(substrat.CodeUnavailable, "the daemon is not running").WithHint("substrat daemon start")
	}
	return substrat.Errorf(substrat.CodeUnavailable, "cannot reach the daemon: %v", err)
}

// problem is an error as the API sends it.
type problem struct {
	Detail string        `json:"detail"`
	Code   substrat.Code `json:"code"`
	Hint   string        `json:"hint"`
}

// request sends one request and gives the answer, whose body the caller closes.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, in any, header http.Header) (*http.Response, error) {
	var r io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot encode the request: %v", err)
		}
		r = bytes.NewReader(data)
	}
	u := c.base + "/v1" + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u, r)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make the request: %v", err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, transport(ctx, err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, readProblem(res)
}

// transport makes an error of what kept a request from being answered.
func transport(ctx context.Context, err error) error {
	var e *substrat.Error
	if errors.As(err, &e) {
		return e
	}
	if ctx.Err() != nil {
		return substrat.Errorf(substrat.CodeTimeout, "gave up waiting for the daemon: %v", context.Cause(ctx))
	}
	return substrat.Errorf(substrat.CodeUnavailable, "the daemon went away before it answered: %v", err)
}

func readProblem(res *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	var p problem
	if json.Unmarshal(data, &p) != nil || p.Code == "" {
		return substrat.Errorf(substrat.CodeInternal, "the daemon answered %s: %.400s", res.Status, data)
	}
	return &substrat.Error{Code: p.Code, Message: p.Detail, Hint: p.Hint}
}

// call sends one request and reads its JSON answer.
func call[T any](ctx context.Context, c *Client, method, path string, query url.Values, in any) (out T, err error) {
	res, err := c.request(ctx, method, path, query, in, nil)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		return out, transport(ctx, err)
	}
	return out, nil
}

// agentPath is the route of an agent, whose reference is one segment.
func agentPath(ref, rest string) string { return "/agents/" + url.PathEscape(ref) + rest }

func limitQuery(limit int) url.Values {
	q := url.Values{}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return q
}
