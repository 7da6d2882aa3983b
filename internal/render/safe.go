package render

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"
)

// Safe is the last wall before a terminal: a writer in which no text gets through that [Printable] would write out, but for
// colours. Text from elsewhere is made printable where it is put among ours; what was forgotten there is caught here. JSON
// stays the JSON it was. It is safe for concurrent use.
type Safe struct {
	To io.Writer

	mu     sync.Mutex
	before rune
	rest   []byte // the beginning of a character, or of a colour, of which more may come
}

// colour is a whole sequence that sets one; unfinished is the beginning of one.
var (
	colour     = regexp.MustCompile("^\x1b\\[[0-9;]{0,20}m")
	unfinished = regexp.MustCompile("^\x1b(\\[[0-9;]{0,20})?$")
)

// Write implements io.Writer. It answers for p as a whole.
func (s *Safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) == 0 && printableASCII(p) {
		if len(p) > 0 {
			s.before = rune(p[len(p)-1])
		}
		return s.To.Write(p)
	}
	in := slices.Concat(s.rest, p)
	s.rest = nil
	var out bytes.Buffer
	for len(in) > 0 {
		if in[0] == 0x1b {
			if c := colour.Find(in); c != nil {
				out.Write(c)
				in = in[len(c):]
				continue
			}
			if unfinished.Match(in) {
				break
			}
		}
		if !utf8.FullRune(in) {
			break
		}
		r, n := utf8.DecodeRune(in)
		if r == '\n' || r == '\t' || !hidden(s.before, r) {
			out.Write(in[:n])
		} else {
			out.WriteString(escaped(r))
		}
		s.before, in = r, in[n:]
	}
	s.rest = bytes.Clone(in)
	if _, err := s.To.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes out what never became whole. It does not close what is written to.
func (s *Safe) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.rest
	s.rest = nil
	if len(rest) == 0 {
		return nil
	}
	_, err := io.WriteString(s.To, Printable(string(rest)))
	return err
}

func printableASCII(p []byte) bool {
	for _, c := range p {
		if c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}
