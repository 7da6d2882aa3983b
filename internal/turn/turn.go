package turn

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"

	"substrat.dev/substrat"
)

// Turn is a handle on one turn. Its methods are safe for concurrent use. It must be closed; that does not end the turn.
type Turn struct {
	dir  string
	conn net.Conn // nil where the turn had ended before
	pid  int      // of the shim where it is our child, otherwise 0

	started chan struct{} // closed when the shim has reported the start
	ended   chan struct{} // closed when exit is final, or the handle was closed before
	done    chan struct{} // closed when watch has returned

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever there may be more to read
	exit    Exit
	closed  bool
	replies map[int64]chan string
	lastID  int64
	asks    []HostAsk
	net     chan struct{} // holds at most one sign that there is something of the network's to see

	writing sync.Mutex // one line at a time on conn
}

// newTurn takes over conn and the duty to wait for pid.
func newTurn(dir string, conn net.Conn, pid int) *Turn {
	t := &Turn{
		dir: dir, conn: conn, pid: pid,
		started: make(chan struct{}), ended: make(chan struct{}), done: make(chan struct{}),
		changed: make(chan struct{}), replies: map[int64]chan string{}, net: make(chan struct{}, 1),
	}
	go t.watch()
	return t
}

// endedTurn is a handle on a turn that is over.
func endedTurn(dir string, exit Exit) *Turn {
	t := &Turn{dir: dir, exit: exit, net: make(chan struct{}, 1), started: make(chan struct{}), ended: make(chan struct{}), done: make(chan struct{}), changed: make(chan struct{})}
	close(t.ended)
	close(t.done)
	return t
}

// watch follows the connection, and a new one where it broke while the turn lives, until the end is known and the shim
// gone, or the handle closed. Close waits for it.
func (t *Turn) watch() {
	defer close(t.done)
	for conn := t.conn; conn != nil; conn = t.reconnect() {
		t.follow(conn)
		conn.Close()
	}
	if t.pid == 0 {
		return
	}
	if t.isClosed() {
		leaveChild(t.pid)
		return
	}
	// The shim closes its last descriptors by exiting, so this does not wait long. A failure means that somebody else
	// took the child, which is as good.
	_ = waitChild(t.pid)
}

func (t *Turn) follow(conn net.Conn) {
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		if m, ok := decode(lines.Bytes()); ok {
			t.take(m)
		}
	}
}

func (t *Turn) take(m message) {
	switch m.Event {
	case evStarted:
		if !isClosed(t.started) {
			close(t.started)
		}
	case evGrew:
		t.signal()
	case evExited:
		if exit, ok := readExit(t.dir); ok {
			t.finish(exit)
		}
	case evReply:
		t.answer(m.ID, m.Err)
	case evAsk:
		t.asked(HostAsk{m.Host, m.Port})
	case evNet:
		t.nudgeNet()
	}
}

// reconnect settles what became of a turn whose connection ended: there is a record, or the lock is free and the shim
// lost, or it lives and is dialled again. It gives nil when there is nothing left to follow.
func (t *Turn) reconnect() net.Conn {
	for wait := time.Millisecond; t.Alive(); wait = min(2*wait, 50*time.Millisecond) {
		held, err := lockHeld(t.dir)
		exit, ok := readExit(t.dir)
		switch {
		case t.isClosed():
			t.finish(Exit{})
		case ok:
			t.finish(exit)
		case err != nil || !held:
			t.finish(lostExit(t.dir))
		default:
			if conn := t.dial(); conn != nil {
				return conn
			}
			time.Sleep(wait)
		}
	}
	return nil
}

func (t *Turn) dial() net.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := dialCtl(ctx, t.dir)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		conn.Close()
		return nil
	}
	t.conn = conn
	t.failRequests()
	return conn
}

// finish makes the end known, once; a zero exit says that the handle was closed first. Readers are woken last, when the end can be seen.
// Only watch calls it.
func (t *Turn) finish(exit Exit) {
	if isClosed(t.ended) {
		return
	}
	t.mu.Lock()
	t.exit = exit
	t.mu.Unlock()
	close(t.ended)
	t.signal()
}

// signal wakes all readers.
func (t *Turn) signal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.changed)
	t.changed = make(chan struct{})
}

// change gives a channel that is closed at the next sign of more.
func (t *Turn) change() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

func (t *Turn) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Alive says whether the turn has not ended, as far as this handle knows.
func (t *Turn) Alive() bool { return !isClosed(t.ended) }

// Wait gives the final record. It fails when ctx ends, or with code unavailable when the handle is closed first.
func (t *Turn) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-t.ended:
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exit.Reason == "" {
		return Exit{}, errClosed
	}
	return t.exit, nil
}

var errClosed = substrat.Errorf(substrat.CodeUnavailable, "cannot follow the turn: its handle was closed")

// Close lets the turn go without ending it. After the end it waits for the shim to be gone.
func (t *Turn) Close() error {
	t.mu.Lock()
	if t.Alive() {
		t.closed = true
		t.conn.Close()
	}
	t.mu.Unlock()
	<-t.done
	sweepChildren()
	return nil
}
