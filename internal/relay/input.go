package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
)

// readInput takes the client's lines until there are no more.
func (r *relay) readInput(ctx context.Context) {
	in := newLines(r.o.Stdin, lineMost)
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, errTooLong):
			r.print(failure(nil, codeInvalid, err.Error()))
		case err != nil:
			return
		case len(bytes.Trim(line, space)) > 0:
			r.fromClient(ctx, line)
		}
	}
}

// fromClient takes one line: a message, or several in the brackets that one revision of MCP had.
func (r *relay) fromClient(ctx context.Context, line []byte) {
	if first := bytes.TrimLeft(line, space); first[0] == '[' {
		r.fromBatch(ctx, first)
		return
	}
	m, err := look(line)
	switch {
	case errors.Is(err, errNotMessage):
		r.print(failure(nil, codeInvalid, err.Error()))
	case err != nil:
		r.print(failure(nil, codeParse, err.Error()))
	default:
		r.forward(ctx, m, line)
	}
}

// fromBatch sends the messages of a batch one by one. They are answered one by one.
func (r *relay) fromBatch(ctx context.Context, line []byte) {
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil {
		r.print(failure(nil, codeParse, "not JSON"))
		return
	}
	if len(batch) == 0 {
		r.print(failure(nil, codeInvalid, "an empty batch"))
	}
	for _, one := range batch {
		if one[0] != '{' { // nor a batch within a batch
			r.print(failure(nil, codeInvalid, errNotMessage.Error()))
			continue
		}
		r.fromClient(ctx, append(bytes.Clone(one), '\n'))
	}
}

// forward notes a message and sends it on if there is a connection. What cannot be sent is repeated by the next
// connection if it is a request or part of the handshake, and otherwise of no interest to it.
func (r *relay) forward(ctx context.Context, m message, line []byte) {
	for m.method != "" && m.id != "" && r.book.full() {
		select {
		case <-r.book.room:
		case <-ctx.Done():
			return
		}
	}
	r.sending.Lock()
	defer r.sending.Unlock()
	if reason := r.book.note(m, line); reason != "" {
		r.print(failure(m.raw, codeInvalid, reason))
		return
	}
	if r.conn == nil {
		return
	}
	if _, err := r.conn.Write(line); err != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}

// The codes of JSON-RPC errors, as they stand in a message. codeRefused, without an id, is how the daemon says that it
// will not hear a relay; codeAway is the relay's own.
const (
	codeParse   = "-32700"
	codeInvalid = "-32600"
	codeAway    = "-32000"
	codeRefused = "-32099"
)

// failure is a JSON-RPC error. Without an id it answers something that could not be read.
func failure(id []byte, code, message string) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	quoted, err := json.Marshal(message)
	if err != nil {
		quoted = []byte(`"error"`)
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	out = append(append(append(out, `,"error":{"code":`...), code...), `,"message":`...)
	return append(append(out, quoted...), "}}\n"...)
}
