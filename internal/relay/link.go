package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// keepLink connects, again and again, until ctx ends or the daemon refuses.
func (r *relay) keepLink(ctx context.Context) {
	lost, pause, useless, told := time.Now(), backoffLeast, 0, false
	for ctx.Err() == nil {
		conn, err := r.o.Dial(ctx)
		switch {
		case errors.Is(err, ErrRefused):
			r.refuse(err.Error())
		case err == nil && r.serve(ctx, conn):
			lost, pause, useless, told = time.Now(), backoffLeast, 0, false
		case err == nil:
			if useless++; useless <= patience {
				pause = backoffLeast
			}
		}
		if r.book.refusal() != "" {
			return
		}
		if time.Since(lost) > away {
			if !told {
				fmt.Fprintln(r.o.Stderr, "substrat: the daemon cannot be reached")
				told = true
			}
			r.answerAll(codeAway, "the substrat daemon cannot be reached")
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, backoffMost)
	}
}

// serve speaks over one connection until it breaks, and reports whether it was of use. One that breaks at once each
// time is not: what the client waits for may be what breaks it.
func (r *relay) serve(ctx context.Context, conn io.ReadWriteCloser) (useful bool) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	began := time.Now()
	opened := make(chan struct{})
	// Answers are read while requests are still being repeated: a daemon that has answers to give takes no more.
	go func() { defer close(opened); r.open(conn) }()
	in := newLines(conn, answerMost)
	for {
		line, err := in.next()
		if err != nil {
			break
		}
		if r.fromDaemon(line) {
			useful = true
		}
	}
	_ = conn.Close()
	<-opened
	r.sending.Lock()
	r.conn = nil
	r.sending.Unlock()
	return useful || time.Since(began) > settled
}

// open says who the relay is, repeats what a connection has to know, and lets the client's lines through.
func (r *relay) open(conn io.ReadWriteCloser) {
	r.sending.Lock()
	defer r.sending.Unlock()
	out := bufio.NewWriterSize(conn, 4<<10)
	_, _ = out.Write(r.preamble())
	for _, line := range r.book.repeat() {
		_, _ = out.Write(line)
	}
	if err := out.Flush(); err != nil { // the first error of the writes above is kept
		_ = conn.Close()
		return
	}
	r.conn = conn
}

// preamble is the first line of a connection. The nonce stays the same for the life of the relay: with a request's id
// it is how the daemon knows a repeat.
func (r *relay) preamble() []byte {
	type who struct {
		V     int    `json:"v"`
		Relay string `json:"relay"`
		Token string `json:"token"`
		Agent string `json:"agent,omitempty"`
	}
	line, err := json.Marshal(map[string]who{"substrat": {1, r.nonce, r.o.Token, r.o.AgentID}})
	if err != nil { // strings and a number marshal without error
		return []byte("\n")
	}
	return append(line, '\n')
}

// fromDaemon passes a line on to the client, but for answers that it has had or does not wait for. It reports whether
// a request was answered.
func (r *relay) fromDaemon(line []byte) (answered bool) {
	m, err := look(line)
	if err != nil {
		return false
	}
	if m.method != "" {
		r.print(line)
		return false
	}
	if m.id == "" {
		if why, ok := m.refused(); ok {
			r.refuse(why)
		} else {
			r.print(line)
		}
		return false
	}
	if !r.book.waited(m.id) {
		return false
	}
	r.print(line)
	r.book.done(m.id)
	return true
}

// refuse answers everything, now and from now on, with the daemon's word.
func (r *relay) refuse(why string) {
	if why == "" {
		why = "the substrat daemon refuses to speak"
	}
	r.book.refuse(why)
	fmt.Fprintln(r.o.Stderr, "substrat:", why)
	r.answerAll(codeInvalid, why)
}

// answerAll answers every request that waits with an error.
func (r *relay) answerAll(code, message string) {
	for _, x := range r.book.waiting() {
		r.print(failure(x.raw, code, message))
		r.book.done(x.id)
	}
}
