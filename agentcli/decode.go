package agentcli

import (
	"context"
	"io"
	"iter"
	"strings"

	"substrat.dev/substrat"
)

// Decode gives the events of a recorded stream: what a CLI printed to its standard output. The last is of type
// [EventResult]. A stream without the record that ends a turn has failed; why, its last lines may tell.
func Decode(ctx context.Context, p Provider, stream io.Reader, partial bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := &run{s: &Session{p: p, o: Options{Partial: partial}}, yield: yield}
		conn := &noisy{Conn: NewReplay(stream), noise: tail{most: tailMost}}
		result, err := p.Converse(ctx, conn, Request{Recorded: true}, r.emit)
		switch {
		case r.left:
			return
		case err != nil:
			yield(Event{}, err)
			return
		case !result.Terminal:
			result.Outcome, result.Class = substrat.FailedTurn, substrat.ClassProtocol
			result.Detail = "the stream has no record that ends the turn"
			if class, _ := p.Diagnose(Request{Recorded: true}, result, Exit{}); class == "" {
				result.Outcome, result.Class, result.Detail = substrat.Completed, "", ""
			} else if noise := strings.TrimSpace(string(conn.noise.bytes())); noise != "" {
				result.Class, result.Detail = p.Diagnose(Request{Recorded: true}, result, Exit{Code: 1, Stdout: conn.noise.bytes()})
			}
		}
		yield(Event{Type: EventResult, Session: result.Session, Result: &result, Offset: r.offset}, nil)
	}
}

// noisy keeps the end of what is no frame of JSON.
type noisy struct {
	Conn
	noise tail
}

// ReadFrame implements Conn.
func (n *noisy) ReadFrame(ctx context.Context) (Frame, error) {
	f, err := n.Conn.ReadFrame(ctx)
	if len(f.Data) > 0 && f.Data[0] != '{' {
		n.noise.add(append(f.Data[:len(f.Data):len(f.Data)], '\n'))
	}
	return f, err
}
