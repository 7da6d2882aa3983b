package turn

import (
	"context"
	"errors"

	"substrat.dev/substrat"
)

// Write writes to the process's stdin, in order, and returns when the process's pipe has taken all of it. It fails with
// code conflict when the turn has ended or its stdin is closed. When ctx ends first, part of data may have been written.
func (t *Turn) Write(ctx context.Context, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), maxChunk)
		if err := t.request(ctx, message{Op: opWrite, Data: data[:n]}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// CloseStdin closes the process's stdin after what was written. It is no error when it is closed already.
func (t *Turn) CloseStdin(ctx context.Context) error {
	return ignoreEnded(t.request(ctx, message{Op: opCloseStdin}))
}

// End says that the turn's result was seen: stdin is closed, and a process that has not exited after
// Limits.ResultGrace gets SIGTERM, then SIGKILL. It returns at once; Wait gives the end. After the end it does nothing.
func (t *Turn) End(ctx context.Context) error {
	return ignoreEnded(t.request(ctx, message{Op: opEnd}))
}

// Cancel ends the turn: SIGINT to the agent, SIGTERM to all its processes, SIGKILL to everything, with the graces of
// Limits between. It returns at once; Wait gives the end. After the end it does nothing.
func (t *Turn) Cancel(ctx context.Context) error {
	return ignoreEnded(t.request(ctx, message{Op: opCancel}))
}

var errEnded = substrat.Errorf(substrat.CodeConflict, "cannot reach the turn's process: the turn has ended")

func ignoreEnded(err error) error {
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// request sends one message and waits for its reply.
func (t *Turn) request(ctx context.Context, m message) error {
	if t.isClosed() {
		return errClosed
	}
	if !t.Alive() {
		return errEnded
	}
	reply := t.expect(&m)
	defer t.forget(m.ID)
	if err := t.send(ctx, m); err != nil {
		return err
	}
	select {
	case text := <-reply:
		if text != "" {
			return substrat.Errorf(substrat.CodeConflict, "cannot reach the turn's process: %s", text)
		}
		return nil
	case <-t.ended:
		if t.isClosed() {
			return errClosed
		}
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Turn) expect(m *message) <-chan string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastID++
	m.ID = t.lastID
	reply := make(chan string, 1)
	t.replies[m.ID] = reply
	return reply
}

func (t *Turn) forget(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.replies, id)
}

// answer passes a reply on to the request that waits for it, if one still does.
func (t *Turn) answer(id int64, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if reply := t.replies[id]; reply != nil {
		delete(t.replies, id)
		reply <- text
	}
}

// failRequests answers all that may have gone out on a connection that has ended, with mu held. Whether the shim took
// them is not known.
func (t *Turn) failRequests() {
	for id, reply := range t.replies {
		delete(t.replies, id)
		reply <- connectionBroke
	}
}

const connectionBroke = "the connection to its shim broke"

// send writes one line. The shim always reads, so this waits only for a shim that is stopped. A line that went out in
// part makes the connection useless: it is closed, and watch makes a new one.
func (t *Turn) send(ctx context.Context, m message) error {
	line := m.encode(nil)
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	_, err := conn.Write(line)
	if !stop() || err == nil {
		return ctx.Err()
	}
	return nil // the connection ended: the request gets its answer from failRequests, or sees the turn's end
}
