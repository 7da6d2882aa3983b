package tool

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"substrat.dev/substrat"
)

// lineMost bounds one message of an agent.
const lineMost = 4 << 20

// lines reads a connection line by line.
type lines struct{ scan *bufio.Scanner }

func newLines(r io.Reader) *lines {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4<<10), lineMost)
	return &lines{s}
}

// next gives the next line that is not blank. It is valid until the next one.
func (l *lines) next() ([]byte, error) {
	for l.scan.Scan() {
		if line := bytes.TrimSpace(l.scan.Bytes()); len(line) > 0 {
			return line, nil
		}
	}
	err := l.scan.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return nil, substrat.Errorf(substrat.CodeTooLarge, "a message is longer than %d bytes", lineMost)
	}
	if err == nil {
		err = io.EOF
	}
	return nil, err
}

func asError(err error) (*substrat.Error, bool) {
	var e *substrat.Error
	ok := errors.As(err, &e)
	return e, ok
}
