package engine

import (
	"bytes"
	"context"
	"io"
	"os"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/turn"
)

// conn is a provider's side of a turn: frames from the spool, lines to the process.
type conn struct {
	turn  *turn.Turn
	lines *agentcli.LineReader
}

func newConn(ctx context.Context, t *turn.Turn, l *substrat.TurnLimits) *conn {
	return &conn{turn: t, lines: agentcli.NewLineReader(t.NewReader(ctx), lineLimit(l))}
}

// lineLimit is the longest line that is decoded.
func lineLimit(l *substrat.TurnLimits) int {
	if l != nil && l.LineBytes > 0 {
		return l.LineBytes
	}
	return 32 << 20
}

func (c *conn) ReadFrame(ctx context.Context) (agentcli.Frame, error) { return c.lines.ReadFrame(ctx) }

func (c *conn) WriteFrame(ctx context.Context, line []byte) error {
	return c.turn.Write(ctx, append(line[:len(line):len(line)], '\n'))
}

// CloseInput implements agentcli.InputCloser.
func (c *conn) CloseInput() error { return c.turn.CloseStdin(context.Background()) }

// noiseMost is how much of a spool's end is looked at for what was no JSON.
const noiseMost = 64 << 10

// noiseTail gives the lines at the end of a spool that are not JSON objects: where a CLI that failed early says why.
func noiseTail(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > noiseMost {
		_, _ = f.Seek(-noiseMost, io.SeekEnd)
	}
	data, _ := io.ReadAll(io.LimitReader(f, noiseMost))
	var out []byte
	for line := range bytes.Lines(data) {
		if t := bytes.TrimSpace(line); len(t) > 0 && t[0] != '{' {
			out = append(out, line...)
		}
	}
	return out
}
