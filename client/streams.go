package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// StreamItem is one thing in the stream of an agent's turns. Exactly one of Event, Started and Ended is set.
type StreamItem struct {
	Turn    string          `json:"turn"`
	Number  int             `json:"number"`
	Offset  int64           `json:"offset"`
	Event   *agentcli.Event `json:"event,omitempty"`
	Started *substrat.Turn  `json:"started,omitempty"`
	Ended   *substrat.Turn  `json:"ended,omitempty"`
}

// StreamPos is a place in that stream: the turn's number and the offset in it.
type StreamPos struct {
	Turn   int
	Offset int64
}

// reconnect is how long to wait before a broken stream is taken up again.
const reconnect = 200 * time.Millisecond

// Events gives the journal's events after a seq. With follow it goes on until ctx ends, and takes a broken stream up
// again where it was; without, it ends at the present end.
func (c *Client) Events(ctx context.Context, after int64, follow bool) iter.Seq2[substrat.Event, error] {
	return func(yield func(substrat.Event, error) bool) {
		q := url.Values{}
		if !follow {
			q.Set("follow", "false")
		}
		resume := func() string { return itoa(after) }
		for data, err := range c.lines(ctx, "/events", q, resume, follow) {
			var ev substrat.Event
			if err == nil {
				err = json.Unmarshal(data, &ev)
			}
			if err == nil {
				after = ev.Seq
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// Stream follows an agent's turns from a place on until ctx ends, and takes a broken stream up again where it was.
func (c *Client) Stream(ctx context.Context, ref string, from StreamPos) iter.Seq2[StreamItem, error] {
	return func(yield func(StreamItem, error) bool) {
		resume := func() string { return fmt.Sprintf("%d.%d", from.Turn, from.Offset) }
		for data, err := range c.lines(ctx, agentPath(ref, "/stream"), nil, resume, true) {
			var item StreamItem
			if err == nil {
				err = json.Unmarshal(data, &item)
			}
			if err == nil {
				from = StreamPos{Turn: item.Number, Offset: item.Offset}
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// lines gives the data of server-sent events, resuming as long as again says so.
func (c *Client) lines(ctx context.Context, path string, q url.Values, resume func() string, again bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for ctx.Err() == nil {
			res, err := c.request(ctx, http.MethodGet, path, q, nil, http.Header{"Last-Event-Id": {resume()}})
			if err == nil {
				goOn := c.readLines(res.Body, yield)
				_ = res.Body.Close()
				if !goOn || !again {
					return
				}
			} else if !again || substrat.CodeOf(err) != substrat.CodeUnavailable {
				if ctx.Err() == nil {
					yield(nil, err)
				}
				return
			}
			select {
			case <-time.After(reconnect):
			case <-ctx.Done():
			}
		}
	}
}

// readLines reads one connection's events. It answers false when the receiver wants no more.
func (c *Client) readLines(r io.Reader, yield func([]byte, error) bool) bool {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return true
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && !yield([]byte(strings.TrimSuffix(data, "\n")), nil) {
			return false
		}
	}
}
