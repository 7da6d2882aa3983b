package engine

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// tape is the transcript of one turn on a live process: the lines of both sides, where the spool of a turn with a process of
// its own would be.
type tape struct {
	file *os.File

	mu      sync.Mutex
	size    int64
	changed chan struct{}
}

func tapePath(turnDir string) string { return filepath.Join(turnDir, "run", "stdout") }

// openTape opens a turn's transcript and cuts it to what counts of it.
func openTape(turnDir string, size int64) (*tape, error) {
	path := tapePath(turnDir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, wrapIO("make the turn's directory", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, wrapIO("open the turn's transcript", err)
	}
	if err := f.Truncate(size); err != nil {
		return nil, wrapIO("cut the turn's transcript", errors.Join(err, f.Close()))
	}
	return &tape{file: f, size: size, changed: make(chan struct{})}, nil
}

// add appends a line and gives the offset behind it. A transcript that cannot be written holds up nobody.
func (t *tape) add(line []byte) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, err := t.file.WriteAt(append(line[:len(line):len(line)], '\n'), t.size); err == nil {
		t.size += int64(n)
	}
	close(t.changed)
	t.changed = make(chan struct{})
	return t.size
}

func (t *tape) length() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

// change is closed when there is more.
func (t *tape) change() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

func (t *tape) Close() error { return t.file.Close() }

// replay gives the transcript so far as a conversation.
func (t *tape) replay() agentcli.Conn {
	return agentcli.NewReplay(io.NewSectionReader(t.file, 0, t.length()))
}

// streamTape decodes the transcript of a turn, following it while the turn is open.
func (e *Engine) streamTape(ctx context.Context, t substrat.Turn, p agentcli.Provider, l *substrat.TurnLimits, emit func(agentcli.Event) error) error {
	r := &tapeReader{ctx: ctx, e: e, turn: t.ID}
	defer r.close()
	_, err := p.Converse(ctx, &readOnly{agentcli.NewLineReader(r, lineLimit(l))}, agentcli.Request{Recorded: true}, emit)
	return err
}

// readOnly is a conversation that nothing can be written to.
type readOnly struct{ lines *agentcli.LineReader }

func (c *readOnly) ReadFrame(ctx context.Context) (agentcli.Frame, error) {
	return c.lines.ReadFrame(ctx)
}

func (c *readOnly) WriteFrame(context.Context, []byte) error { return agentcli.ErrNoStdin }

// tapeReader follows a transcript until its turn has ended.
type tapeReader struct {
	ctx  context.Context
	e    *Engine
	turn string
	file *os.File
	at   int64
}

// Read implements io.Reader.
func (r *tapeReader) Read(p []byte) (int, error) {
	for {
		changed, grew := r.e.changedNow(), r.e.tapeChange(r.turn)
		t, err := r.e.Turn(r.ctx, r.turn)
		if err != nil {
			return 0, err
		}
		n, err := r.readFile(p)
		if n > 0 || err != nil {
			return n, err
		}
		if t.Outcome != "" {
			return 0, io.EOF
		}
		select {
		case <-changed:
		case <-grew:
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
}

func (r *tapeReader) readFile(p []byte) (int, error) {
	if r.file == nil {
		f, err := os.Open(tapePath(r.e.turnDir(r.turn)))
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		r.file = f
	}
	n, err := r.file.ReadAt(p, r.at)
	r.at += int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (r *tapeReader) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

// tapeChange is closed when a turn's transcript grows. Of a turn without one it is closed soon.
func (e *Engine) tapeChange(id string) <-chan struct{} {
	e.runMu.Lock()
	r := e.runners[id]
	e.runMu.Unlock()
	if r != nil {
		if t := r.tape.Load(); t != nil {
			return t.change()
		}
	}
	return e.spoolSoon(context.Background())
}
