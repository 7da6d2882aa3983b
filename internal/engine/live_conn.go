package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"substrat.dev/substrat/agentcli"
)

// liveConn is a provider's side of a live process. During a turn it keeps the transcript.
type liveConn struct {
	s     *session
	lines *agentcli.LineReader
	base  int64
	// tape is nil outside of a conversation. asked is called once, when the first line was written to it.
	tape  *tape
	asked func()
	// heard is when the process last printed something, in Unix nanoseconds.
	heard atomic.Int64
}

// newLiveConn reads on where the session's reading stands.
func newLiveConn(ctx context.Context, s *session) *liveConn {
	c := &liveConn{s: s}
	c.goOn(ctx)
	c.heard.Store(time.Now().UnixNano())
	return c
}

// goOn reads on where the session's reading stands now.
func (c *liveConn) goOn(ctx context.Context) {
	c.base, c.lines = c.s.from, agentcli.NewLineReader(c.s.t.NewReaderAt(ctx, c.s.from), lineLimit(c.s.limits))
}

// ReadFrame implements agentcli.Conn. Offsets are those of the transcript where there is one: that is what readers resume
// from.
func (c *liveConn) ReadFrame(ctx context.Context) (agentcli.Frame, error) {
	f, err := c.lines.ReadFrame(ctx)
	if err != nil {
		return f, err
	}
	c.heard.Store(time.Now().UnixNano())
	c.s.from = c.base + f.End
	if c.tape != nil {
		line := f.Data
		if f.Skipped > 0 {
			line = fmt.Appendf(nil, `{"type":"log","message":"a line of %d bytes was passed over"}`, f.Skipped)
		}
		f.End = c.tape.add(line)
	}
	return f, nil
}

// WriteFrame implements agentcli.Conn.
func (c *liveConn) WriteFrame(ctx context.Context, line []byte) error {
	// The line that begins the turn is in the transcript once the process has it: what comes after the turn's mark is read
	// again by the next daemon. Any other stands before what the process makes of it.
	begins := c.asked != nil
	if c.tape != nil && !begins {
		c.tape.add(line)
	}
	if err := c.s.t.Write(ctx, append(line[:len(line):len(line)], '\n')); err != nil {
		return err
	}
	if c.tape != nil && begins {
		c.tape.add(line)
	}
	if begins {
		asked := c.asked
		c.asked = nil
		asked()
	}
	return nil
}
