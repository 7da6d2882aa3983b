package relay

import (
	"bufio"
	"errors"
	"io"
)

// errTooLong marks a line over its bound. It was skipped to its end: reading can go on.
var errTooLong = errors.New("a message is too long")

// lines splits a stream at its newlines, in bounded memory.
type lines struct {
	in   *bufio.Reader
	most int
	long []byte
}

func newLines(r io.Reader, most int) *lines {
	return &lines{in: bufio.NewReaderSize(r, 8<<10), most: most}
}

// next gives the next line with its newline, which is added to a last line that has none. It is valid until the
// following call.
func (l *lines) next() ([]byte, error) {
	l.long = nil
	line, err := l.in.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	size := 0
	for {
		if size += len(line); size <= l.most {
			l.long = append(l.long, line...)
		} else {
			l.long = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		line, err = l.in.ReadSlice('\n')
	}
	switch {
	case err != nil && size == 0:
		return nil, err
	case size > l.most:
		return nil, errTooLong
	case err != nil:
		l.long = append(l.long, '\n') // the stream ended within the line; the next call says so
	}
	return l.long, nil
}
