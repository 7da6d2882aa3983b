package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// openMost is how many requests of one connection are worked on at once. More are not read: the peer waits.
	openMost = 64
	// idMost bounds a JSON-RPC id. It becomes part of a key in the journal.
	idMost = 256
	// idExact is the largest number that the SDK gives back as it came.
	idExact = 1 << 53
	// callHeader is where a tool finds the id of its call. It never stands on the wire: no client can set it.
	callHeader = "Substrat-Call"
)

// wire is a connection as the SDK wants it. It bounds what is open, tells the tools the JSON-RPC id of each call, which
// the SDK keeps to itself, and answers what the SDK would not, or not under the id it came with.
type wire struct {
	conn  io.ReadWriteCloser
	lines *lines
	// held is a line that was read and not used yet.
	held []byte
	// serves names the MCP server that the peer is about to become.
	serves string
	// used is set once the session was given something; anew when a client that did so begins again with initialize.
	// Then the session ends and the connection stays.
	used bool
	anew atomic.Bool
	// slots bounds the open requests. gone is closed with the connection: then nobody gives a slot back.
	slots chan struct{}
	gone  chan struct{}
	end   sync.Once

	mu      sync.Mutex
	open    map[jsonrpc.ID]struct{} // guarded by mu
	writing sync.Mutex
}

func newWire(conn io.ReadWriteCloser) *wire {
	return &wire{conn: conn, lines: newLines(conn), slots: make(chan struct{}, openMost), gone: make(chan struct{}), open: map[jsonrpc.ID]struct{}{}}
}

// Connect implements mcp.Transport.
func (w *wire) Connect(context.Context) (mcp.Connection, error) { return w, nil }

// SessionID implements mcp.Connection. There are no sessions: identity is the socket.
func (w *wire) SessionID() string { return "" }

// Close implements mcp.Connection.
func (w *wire) Close() error {
	if w.anew.Load() {
		return nil
	}
	w.hangUp()
	return nil
}

// hangUp closes the connection.
func (w *wire) hangUp() {
	w.end.Do(func() {
		close(w.gone)
		_ = w.conn.Close()
	})
}

// line gives the next line, the held one first.
func (w *wire) line() ([]byte, error) {
	if line := w.held; line != nil {
		w.held = nil
		return line, nil
	}
	return w.lines.next()
}

// Read implements mcp.Connection.
func (w *wire) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := w.line()
		var msg jsonrpc.Message
		var complaint []byte
		switch {
		case errors.Is(err, errTooLong):
			complaint, err = refusal(nil, codeInvalid, err.Error()), nil
		case err == nil:
			msg, complaint = decode(line)
		}
		if req, ok := msg.(*jsonrpc.Request); ok {
			msg, complaint, err = w.admitRequest(req, line)
		}
		if complaint != nil {
			err = w.write(complaint)
		}
		if msg != nil || err != nil {
			return msg, err
		}
	}
}

// admitRequest lets a request in, gives the complaint to answer it with, or ends the session.
func (w *wire) admitRequest(req *jsonrpc.Request, line []byte) (msg jsonrpc.Message, complaint []byte, err error) {
	if req.Method == "initialize" && w.used {
		w.begin(line)
		return nil, nil, io.EOF
	}
	w.used = true
	if !req.IsCall() {
		return req, nil, nil
	}
	if !w.claim(req.ID) {
		return nil, refusal(nil, codeInvalid, "an id is in use by a request that is not answered"), nil
	}
	if !w.slot() {
		return nil, nil, io.EOF
	}
	req.Extra = &mcp.RequestExtra{Header: http.Header{callHeader: {idText(req.ID)}}}
	return req, nil, nil
}

// begin ends the session for a new one on the same connection, once everything that is open was answered.
func (w *wire) begin(line []byte) {
	for range openMost {
		if !w.slot() {
			return
		}
	}
	for range openMost {
		<-w.slots
	}
	w.held, w.used = append([]byte(nil), line...), false
	w.anew.Store(true)
}

// slot waits for a slot. It fails when the connection is gone.
func (w *wire) slot() bool {
	select {
	case w.slots <- struct{}{}:
		return true
	case <-w.gone:
		return false
	}
}

// claim notes a request as open. It fails for an id that is in use.
func (w *wire) claim(id jsonrpc.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, used := w.open[id]
	w.open[id] = struct{}{}
	return !used
}

// Write implements mcp.Connection. The peer may use an id again as soon as it has the answer; the slot is free once the
// answer is written.
func (w *wire) Write(_ context.Context, msg jsonrpc.Message) error {
	if res, ok := msg.(*jsonrpc.Response); ok {
		w.mu.Lock()
		_, used := w.open[res.ID]
		delete(w.open, res.ID)
		w.mu.Unlock()
		if used {
			defer func() { <-w.slots }()
		}
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return w.write(append(data, '\n'))
}

func (w *wire) write(data []byte) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.conn.Write(data)
	if err != nil {
		w.hangUp()
	}
	return err
}

// idText keeps numbers and strings apart.
func idText(id jsonrpc.ID) string {
	text, err := json.Marshal(id.Raw())
	if err != nil { // strings and numbers marshal without error
		return ""
	}
	return string(text)
}
