package agentcli

import (
	"context"
	"io"
)

// Replay is a conversation with a recorded stream. Nothing can be written to it.
type Replay struct{ lines *LineReader }

// NewReplay reads a recording. Lines longer than 64 MiB are skipped and noted.
func NewReplay(r io.Reader) *Replay { return &Replay{NewLineReader(r, 64<<20)} }

// ReadFrame implements Conn.
func (r *Replay) ReadFrame(ctx context.Context) (Frame, error) { return r.lines.ReadFrame(ctx) }

// WriteFrame implements Conn: it fails.
func (r *Replay) WriteFrame(context.Context, []byte) error { return ErrNoStdin }
