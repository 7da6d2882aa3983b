// Package relay is `substrat mcp`: it carries an agent's MCP messages between its standard streams and the socket that
// the daemon opened for it, across restarts of the daemon.
//
// It forwards lines as they are. It remembers only what a new connection needs: the handshake, and the requests that
// were not answered, which it repeats with their ids; the daemon answers a repeat without doing it again. It knows no
// tool. One process of it runs for each run of an agent CLI inside the sandbox, so it uses the standard library alone.
package relay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// Options are what a relay needs.
type Options struct {
	// Dial connects to the daemon. It is called again whenever the connection breaks.
	Dial func(context.Context) (io.ReadWriteCloser, error)
	// Token is the turn's secret. AgentID is passed on as information; it proves nothing.
	Token, AgentID string
	Stdin          io.Reader
	Stdout         io.Writer
}

const (
	// lineMost bounds one message.
	lineMost = 16 << 20
	// away is how long a daemon may be gone before those who wait are told.
	away = 5 * time.Minute
	// lastAnswers is how long answers are waited for after standard input has ended.
	lastAnswers = 2 * time.Second
	// backoffMost is the longest pause between two attempts to connect.
	backoffMost = 500 * time.Millisecond
)

// Run relays until standard input ends or ctx does.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &relay{o: o, nonce: rand.Text(), pending: map[string][]byte{}, swallow: map[string]bool{}, drained: make(chan struct{})}
	// The reader of standard input cannot be interrupted; the process ends with or without it.
	go r.readInput(cancel)
	err := r.connections(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// relay is what has to survive a connection.
type relay struct {
	o     Options
	nonce string

	mu   sync.Mutex
	conn io.ReadWriteCloser
	// initialize and initialized are the handshake, once it was answered.
	initialize, initialized []byte
	handshake               string // id of the initialize request
	answered                bool   // it was answered
	// pending are unanswered requests by id, order the ids as they came.
	pending map[string][]byte
	order   []string
	// swallow are ids whose next answer the client has had already.
	swallow map[string]bool
	ended   bool
	drained chan struct{}

	out sync.Mutex
}

// message is what the relay looks at in a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// read looks at a line. Params of another shape than the one message knows are no mistake.
func read(line []byte) (message, error) {
	var m message
	err := json.Unmarshal(line, &m)
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) && line[0] == '{' {
		err = nil
	}
	return m, err
}

// readInput takes the client's lines until there are no more, and ends the relay once what it waits for has come.
func (r *relay) readInput(end context.CancelFunc) {
	defer end()
	in := bufio.NewScanner(r.o.Stdin)
	in.Buffer(make([]byte, 0, 8<<10), lineMost)
	for in.Scan() {
		line := bytes.TrimSpace(in.Bytes())
		if len(line) == 0 {
			continue
		}
		r.fromClient(append(bytes.Clone(line), '\n'))
	}
	r.mu.Lock()
	r.ended = true
	r.checkDrained()
	r.mu.Unlock()
	select {
	case <-r.drained:
	case <-time.After(lastAnswers):
	}
}

// fromClient notes one line and sends it on if there is a connection. A line that cannot be sent is repeated by the next
// connection if it is a request, or part of the handshake.
func (r *relay) fromClient(line []byte) {
	m, err := read(line)
	if err != nil {
		r.print([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}` + "\n"))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := string(m.ID)
	switch {
	case m.Method != "" && id != "" && id != "null":
		if m.Method == "initialize" {
			r.initialize, r.handshake, r.answered, r.initialized = line, id, false, nil
		}
		if _, ok := r.pending[id]; !ok {
			r.order = append(r.order, id)
		}
		r.pending[id] = line
	case m.Method == "notifications/initialized":
		r.initialized = line
	case m.Method == "notifications/cancelled":
		r.forget(string(m.Params.RequestID))
	}
	if r.conn != nil {
		if _, err := r.conn.Write(line); err != nil {
			_ = r.conn.Close()
		}
	}
}

// forget drops a request that needs no answer any more. Caller holds mu.
func (r *relay) forget(id string) {
	if _, ok := r.pending[id]; !ok {
		return
	}
	delete(r.pending, id)
	for i, o := range r.order {
		if o == id {
			r.order = append(r.order[:i], r.order[i+1:]...)
			break
		}
	}
	r.checkDrained()
}

// checkDrained ends the waiting for last answers. Caller holds mu.
func (r *relay) checkDrained() {
	if r.ended && len(r.pending) == 0 {
		select {
		case <-r.drained:
		default:
			close(r.drained)
		}
	}
}

// connections connects, again and again, until ctx ends.
func (r *relay) connections(ctx context.Context) error {
	gone, pause := time.Now(), time.Millisecond
	for ctx.Err() == nil {
		conn, err := r.o.Dial(ctx)
		if err == nil {
			served := r.serve(ctx, conn)
			if served {
				gone, pause = time.Now(), time.Millisecond
			}
		}
		if time.Since(gone) > away {
			r.giveUp()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, backoffMost)
	}
	return ctx.Err()
}

// serve speaks over one connection until it breaks, and reports whether anything came over it.
func (r *relay) serve(ctx context.Context, conn io.ReadWriteCloser) (came bool) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	if r.open(conn) != nil {
		return false
	}
	in := bufio.NewScanner(conn)
	in.Buffer(make([]byte, 0, 8<<10), lineMost)
	for in.Scan() {
		came = true
		r.fromDaemon(append(bytes.Clone(in.Bytes()), '\n'))
	}
	r.mu.Lock()
	r.conn = nil
	r.mu.Unlock()
	return came
}

// open says who the relay is, repeats the handshake and what was not answered, and lets the client's lines through.
func (r *relay) open(conn io.ReadWriteCloser) error {
	hello, err := json.Marshal(map[string]any{"substrat": map[string]any{"v": 1, "relay": r.nonce, "token": r.o.Token, "agent": r.o.AgentID}})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []byte
	out = append(append(out, hello...), '\n')
	if r.answered {
		r.swallow[r.handshake] = true
		out = append(append(out, r.initialize...), r.initialized...)
	}
	for _, id := range r.order {
		out = append(out, r.pending[id]...)
		if id == r.handshake {
			out = append(out, r.initialized...)
		}
	}
	if _, err := conn.Write(out); err != nil {
		return err
	}
	r.conn = conn
	return nil
}

// fromDaemon passes a line on to the client, but for answers it has had already.
func (r *relay) fromDaemon(line []byte) {
	m, err := read(line)
	if err != nil {
		return
	}
	if m.Method == "" {
		r.mu.Lock()
		id := string(m.ID)
		if r.swallow[id] {
			delete(r.swallow, id)
			r.mu.Unlock()
			return
		}
		if id == r.handshake && r.initialize != nil {
			r.answered = true
		}
		_, waited := r.pending[id]
		r.mu.Unlock()
		if !waited && id != "null" && id != "" {
			return // an answer that came twice, or to what was cancelled
		}
		r.print(line)
		r.mu.Lock()
		r.forget(id)
		r.mu.Unlock()
		return
	}
	r.print(line)
}

// giveUp answers what waits when the daemon has been gone for too long.
func (r *relay) giveUp() {
	r.mu.Lock()
	ids := append([]string(nil), r.order...)
	r.mu.Unlock()
	for _, id := range ids {
		r.print([]byte(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32000,"message":"the substrat daemon cannot be reached"}}` + "\n"))
		r.mu.Lock()
		r.forget(id)
		r.mu.Unlock()
	}
}

func (r *relay) print(line []byte) {
	r.out.Lock()
	defer r.out.Unlock()
	_, _ = r.o.Stdout.Write(line)
}
