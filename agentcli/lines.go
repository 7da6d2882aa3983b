package agentcli

import (
	"bytes"
	"context"
	"io"
)

// LineReader cuts a stream into frames, one for each line. Memory stays within the longest line allowed: a longer one is
// skipped and noted, and reading goes on at the next line. It is for one goroutine.
type LineReader struct {
	r    io.Reader
	most int
	buf  []byte
	// start and end bound what is buffered; off is the stream offset of start.
	start, end int
	off        int64
	// skipped counts the bytes of an overlong line that is being passed over.
	skipped int64
	err     error
}

// firstBuffer fits the usual frame; the buffer grows only for lines that need it.
const firstBuffer = 64 << 10

// NewLineReader reads frames of at most maxLine bytes from r. Offsets count from where r stands.
func NewLineReader(r io.Reader, maxLine int) *LineReader {
	return &LineReader{r: r, most: max(maxLine, 1), buf: make([]byte, min(firstBuffer, max(maxLine, 1)+1))}
}

// ReadFrame gives the next line without its line end, "\n" or "\r\n". A last line without one is given too. After the
// last line it gives io.EOF; an error of the reader is given once everything before it has been. Only the reader itself
// can wait; ctx is looked at between reads.
func (l *LineReader) ReadFrame(ctx context.Context) (Frame, error) {
	scanned := l.start
	for {
		if i := bytes.IndexByte(l.buf[scanned:l.end], '\n'); i >= 0 {
			return l.take(scanned+i, 1), nil
		}
		scanned = l.end
		if l.err != nil {
			if l.end > l.start || l.skipped > 0 {
				return l.take(l.end, 0), nil
			}
			return Frame{}, l.err
		}
		if err := ctx.Err(); err != nil {
			return Frame{}, err
		}
		scanned -= l.makeRoom()
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
	}
}

// take gives the frame that ends at i, before newline bytes of line end.
func (l *LineReader) take(i, newline int) Frame {
	data := l.buf[l.start:i]
	l.off += int64(i + newline - l.start)
	l.start = i + newline
	f := Frame{End: l.off}
	if l.skipped > 0 || len(data) > l.most {
		f.Skipped = l.skipped + int64(len(data))
		l.skipped = 0
		return f
	}
	f.Data = bytes.TrimSuffix(data, []byte("\r"))
	return f
}

// makeRoom makes space to read into, and tells by how much the buffered bytes moved to the front.
func (l *LineReader) makeRoom() (moved int) {
	if l.end-l.start > l.most {
		l.skipped += int64(l.end - l.start)
		l.off += int64(l.end - l.start)
		moved = l.end
		l.start, l.end = 0, 0
		// What the overlong line made the buffer grow to is let go.
		l.buf = make([]byte, min(firstBuffer, l.most+1))
		return moved
	}
	if l.start > 0 && (l.start == l.end || l.end == len(l.buf)) {
		moved = l.start
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.most+firstBuffer))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	return moved
}
