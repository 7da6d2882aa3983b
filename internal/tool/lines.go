package tool

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"substrat.dev/substrat"
)

// lineMost bounds one message of an agent. The relay has the same bound.
const lineMost = 4 << 20

// errTooLong marks a line over its bound. It was skipped to its end: reading can go on.
var errTooLong = substrat.Errorf(substrat.CodeTooLarge, "a message is longer than %d bytes", lineMost)

// lines splits a connection at its newlines, in bounded memory.
type lines struct {
	in   *bufio.Reader
	long []byte
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 8<<10)} }

// next gives the next line that is not blank, without its newline. It is valid until the following call. A line that
// the end of the stream cut off is dropped: nobody is there to read the answer, and a relay will repeat it.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.one()
		if line = bytes.TrimSpace(line); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

func (l *lines) one() ([]byte, error) {
	l.long = nil
	line, err := l.in.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	size := 0
	for {
		if size += len(line); size <= lineMost {
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
	case err != nil:
		return nil, err
	case size > lineMost:
		return nil, errTooLong
	}
	return l.long, nil
}
