package turn

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stderrTail is how much of the end of stderr is kept and given.
const stderrTail = 64 << 10

// Reader follows a turn's stdout. Read blocks until there is more, and gives io.EOF when the turn has ended and all was
// read. It is for one goroutine.
type Reader struct {
	t      *Turn
	ctx    context.Context
	file   *os.File // opened when it is there: the shim makes it at the first output
	offset int64
}

// NewReader reads from the beginning. Read fails with ctx's error when ctx ends, and with code unavailable when the
// turn's handle is closed before its end.
func (t *Turn) NewReader(ctx context.Context) *Reader { return t.NewReaderAt(ctx, 0) }

// NewReaderAt reads from an offset in bytes, for one who has recorded how far it had come.
func (t *Turn) NewReaderAt(ctx context.Context, offset int64) *Reader {
	return &Reader{t: t, ctx: ctx, offset: offset}
}

// Offset is how far the reader has come.
func (r *Reader) Offset() int64 { return r.offset }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if err := r.ctx.Err(); err != nil {
			return 0, err
		}
		// In this order, what is written before the end is never missed, nor a change between read and wait.
		change, ended := r.t.change(), !r.t.Alive()
		n, err := r.readFile(p)
		if n > 0 || err != nil {
			return n, err
		}
		if ended {
			return 0, r.end()
		}
		select {
		case <-change:
		case <-r.ctx.Done():
		}
	}
}

func (r *Reader) end() error {
	if r.t.isClosed() {
		return errClosed
	}
	return io.EOF
}

// readFile gives 0, nil where there is no more for now.
func (r *Reader) readFile(p []byte) (int, error) {
	if r.file == nil {
		f, err := os.Open(filepath.Join(r.t.dir, stdoutName))
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		r.file = f
	}
	n, err := r.file.ReadAt(p, r.offset)
	r.offset += int64(n)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// Close closes the reader, not the turn.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// StderrTail gives the last 64 KiB of what is in dir/stderr. While a process that has written more than
// Limits.StderrBytes runs, that is not its latest.
func (t *Turn) StderrTail() []byte {
	f, err := os.Open(filepath.Join(t.dir, stderrName))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	tail := make([]byte, min(info.Size(), stderrTail))
	n, _ := f.ReadAt(tail, info.Size()-int64(len(tail)))
	return tail[:n]
}
