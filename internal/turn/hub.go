package turn

import (
	"bufio"
	"net"
	"sync"
	"time"
)

const (
	maxClients = 16
	// maxReplies bounds what a client may leave unread before it is dropped.
	maxReplies = 256
	// farewell bounds how long a slow client can hold up the shim's exit.
	farewell = 500 * time.Millisecond
)

// request is what a client asked for. reply answers it and never blocks.
type request struct {
	message
	reply func(err string)
}

// hub speaks with the daemons that are connected. Nothing that a client does or leaves undone makes it block.
type hub struct {
	requests chan request  // bounded; read by supervise
	quit     chan struct{} // closed by close

	mu      sync.Mutex
	clients map[*client]struct{}
	closed  bool
	left    time.Time        // when the last client went
	welcome func() []message // what a client is told that has just come; set before serve
	workers sync.WaitGroup
}

func newHub() *hub {
	return &hub{requests: make(chan request, 16), quit: make(chan struct{}), clients: map[*client]struct{}{}, left: time.Now()}
}

// serve accepts clients until the listener is closed.
func (h *hub) serve(l net.Listener) {
	h.workers.Go(func() {
		<-h.quit
		l.Close()
	})
	h.workers.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			h.add(conn)
		}
	})
}

// add takes a connection over.
func (h *hub) add(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.clients) >= maxClients {
		conn.Close()
		return
	}
	c := &client{conn: conn, wake: make(chan struct{}, 1)}
	h.clients[c] = struct{}{}
	// It may have looked at stdout while it was in the queue and nobody could tell it of a growth.
	c.send(message{Event: evGrew})
	if h.welcome != nil {
		for _, m := range h.welcome() {
			c.send(m)
		}
	}
	h.workers.Go(c.writeAll)
	h.workers.Go(func() {
		h.readAll(c)
		c.hangUp()
		h.mu.Lock()
		delete(h.clients, c)
		h.left = time.Now()
		h.mu.Unlock()
	})
}

// alone is how long no daemon has been connected.
func (h *hub) alone() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) > 0 {
		return 0
	}
	return time.Since(h.left)
}

// readAll passes a client's requests on. It ignores what it does not know how to read.
func (h *hub) readAll(c *client) {
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(make([]byte, 4<<10), maxMessage)
	for lines.Scan() {
		m, ok := decode(lines.Bytes())
		if !ok || m.Op == "" {
			continue
		}
		r := request{message: m, reply: func(err string) { c.send(message{Event: evReply, ID: m.ID, Err: err}) }}
		select {
		case h.requests <- r:
		case <-h.quit:
			return
		}
	}
}

// tell sends an event to everybody.
func (h *hub) tell(event string) { h.send(message{Event: event}) }

func (h *hub) send(m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		c.send(m)
	}
}

// close lets each client have what is meant for it, within the farewell, and hangs up.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	for c := range h.clients {
		_ = c.conn.SetWriteDeadline(time.Now().Add(farewell))
		c.finish()
	}
	h.mu.Unlock()
	close(h.quit)
	h.workers.Wait()
}

// client is one connected daemon. Its queue is bounded: "grew" and "net" are kept once, and who does not read replies is dropped.
type client struct {
	conn net.Conn
	wake chan struct{} // holds at most one sign that there is something to write

	mu     sync.Mutex
	queue  []message
	grew   bool
	net    bool
	ending bool
}

func (c *client) send(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Event == evGrew:
		c.grew = true
	case m.Event == evNet:
		c.net = true
	case len(c.queue) < maxReplies:
		c.queue = append(c.queue, m)
	default:
		c.conn.Close()
	}
	c.nudge()
}

func (c *client) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// finish hangs up after what is queued.
func (c *client) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	c.nudge()
}

func (c *client) hangUp() {
	c.conn.Close()
	c.finish()
}

// writeAll writes what is queued until there is an end.
func (c *client) writeAll() {
	defer c.conn.Close()
	for range c.wake {
		lines, ending := c.take()
		if _, err := c.conn.Write(lines); err != nil || ending {
			return
		}
	}
}

func (c *client) take() (lines []byte, ending bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.grew {
		lines = message{Event: evGrew}.encode(lines)
	}
	if c.net {
		lines = message{Event: evNet}.encode(lines)
	}
	for _, m := range c.queue {
		lines = m.encode(lines)
	}
	c.grew, c.net, c.queue = false, false, nil
	return lines, c.ending
}
