package turnjson

import "strings"

// transcript puts the turn's text together, each piece once.
//
// Text comes in deltas, and a whole message may repeat those that it is made of. Which message repeats what is known by
// where it stands, never by how much it looks alike: a message repeats the open segment, the oldest segment that was not
// repeated yet, or all of those; whatever it holds beyond is new. Nothing is put between pieces and nothing is taken out.
type transcript struct {
	all strings.Builder
	// open are the segments that no message has repeated yet. The last one is still written to, unless closed.
	open   []string
	closed bool
	// ended counts the segments that are complete.
	ended int
	// pieces is how many frames the segment that is written to came in; loose says that they were whole messages that may
	// have been deltas. Held is one that repeats the piece before it, until it is known what it was.
	pieces int
	loose  bool
	held   string
}

// delta adds a piece and gives it back.
func (t *transcript) delta(s string) string {
	if s == "" {
		return ""
	}
	if len(t.open) == 0 || t.closed {
		t.open, t.closed, t.pieces, t.loose = append(t.open, ""), false, 0, false
	}
	t.open[len(t.open)-1] += s
	t.pieces++
	t.all.WriteString(s)
	return s
}

// boundary ends the segment that is written to, and tells whether there was one.
func (t *transcript) boundary() bool {
	if len(t.open) == 0 || t.closed {
		return false
	}
	t.closed = true
	t.ended++
	return true
}

// message adds a whole message and gives what of it is new. The segment is complete after it.
func (t *transcript) message(s string) (fresh string) {
	if len(t.open) == 0 {
		if t.ended >= 2 && s == t.all.String() {
			return ""
		}
		return t.whole(s)
	}
	last, joined := t.open[len(t.open)-1], strings.Join(t.open, "")
	switch {
	case !t.closed && strings.HasPrefix(s, last):
		return t.whole(s[len(last):])
	case s == t.open[0]:
		if len(t.open) == 1 {
			return t.whole("")
		}
		t.open = t.open[1:]
		return ""
	case strings.HasPrefix(s, joined):
		return t.whole(s[len(joined):])
	case strings.HasPrefix(s, t.all.String()):
		return t.whole(s[t.all.Len():])
	}
	t.boundary()
	return t.whole(s)
}

// whole adds the rest of a message that covers all that is open.
func (t *transcript) whole(rest string) string {
	if rest != "" || len(t.open) > 0 && !t.closed {
		t.ended++
	}
	t.all.WriteString(rest)
	t.open, t.closed, t.pieces = nil, false, 0
	return rest
}

// loosely takes a message of the official CLI that has the mark of a delta. The CLI marks some repetitions like that too:
// a segment in several pieces that comes again is one. After a single piece it is held until the next frame tells.
func (t *transcript) loosely(s string) (fresh string, complete bool) {
	writing := len(t.open) > 0 && !t.closed
	if writing && !t.loose {
		return t.message(s), true // the deltas came under their own type: this is none
	}
	if writing && s == t.open[len(t.open)-1] {
		if t.pieces > 1 {
			return t.message(s), true
		}
		t.held = s
		return "", false
	}
	fresh = t.delta(s)
	t.loose = true
	return fresh, false
}

// textCalls takes calls out of text that comes in pieces.
type textCalls struct {
	known func(name string) bool
	held  string
	calls []call
}

// The tags around a call in text, how long one may be, and how many are taken of a turn.
const (
	callOpen      = "<tool_call>"
	callClose     = "</tool_call>"
	textCallMost  = 1 << 20
	textCallsMost = 32
)

// take gives what of a piece, and of what was held before it, is text. What cannot be told yet is held, unless last.
func (c *textCalls) take(piece string, last bool) string {
	var out strings.Builder
	rest := c.held + piece
	c.held = ""
	for rest != "" {
		i := strings.Index(rest, callOpen)
		if i < 0 {
			keep := len(rest)
			if !last {
				keep -= frontOf(callOpen, rest)
			}
			out.WriteString(rest[:keep])
			c.held = rest[keep:]
			break
		}
		out.WriteString(rest[:i])
		rest = rest[i:]
		end := strings.Index(rest, callClose)
		if end < 0 {
			if last || len(rest) > textCallMost {
				out.WriteString(rest)
			} else {
				c.held = rest
			}
			break
		}
		body := rest[len(callOpen):end]
		if found, ok := parseTextCall(body); ok && c.known(found.name) && len(c.calls) < textCallsMost {
			c.calls = append(c.calls, found)
		} else {
			out.WriteString(rest[:end+len(callClose)])
		}
		rest = rest[end+len(callClose):]
	}
	return out.String()
}

// frontOf tells how much of the end of s may be the front of tag.
func frontOf(tag, s string) int {
	for n := min(len(tag)-1, len(s)); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
