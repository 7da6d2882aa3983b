package redact

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// Writer redacts a stream. A secret is found however the stream is cut: text is held back to the end of its line, and as
// long as a block or a known value may still go on. It is for one goroutine.
type Writer struct {
	r    *Redactor
	to   io.Writer
	held []byte
	// inside says that a secret longer than what is held goes on; until is what ends it, or empty for the end of its run.
	inside bool
	until  string
	err    error
}

// holdMost bounds what is held back for a line to end.
const holdMost = 64 << 10

// Writer makes a Writer to w. Close writes what is held.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{r: r, to: w} }

// Write implements io.Writer. An error is one of the writer below; nothing is written after it.
func (w *Writer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && w.err == nil; {
		n := min(len(rest), holdMost)
		w.held = append(w.held, rest[:n]...)
		rest = rest[n:]
		if bytes.IndexByte(w.held[len(w.held)-n:], '\n') >= 0 || len(w.held) > holdMost {
			w.flush(false)
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close writes what is held. It does not close the writer below.
func (w *Writer) Close() error {
	if w.err == nil {
		w.flush(true)
	}
	return w.err
}

// flush writes as much of what is held as is sure.
func (w *Writer) flush(last bool) {
	w.skip()
	if len(w.held) == 0 || w.inside {
		return
	}
	text := string(w.held)
	found := w.r.find(text)
	cut := len(text)
	if !last {
		cut = w.cut(text, found)
	}
	if cut == 0 {
		return
	}
	n := 0
	for n < len(found) && found[n].from < cut {
		n++
	}
	out := replace(nil, text[:cut], found[:n])
	w.held = append(w.held[:0], text[cut:]...)
	if w.inside { // the secret that cut ends in goes on
		w.skip()
	}
	_, w.err = w.to.Write(out)
}

// cut is up to where text can be written. What follows may still change only behind it.
func (w *Writer) cut(text string, found []span) int {
	at := strings.LastIndexByte(text, '\n') + 1
	// A known value may have lines, and its front may stand at the end.
	if w.r.longest > 0 {
		for i := max(0, len(text)-w.r.longest+1); i < at; i++ {
			if w.frontOfKnown(text[i:]) {
				at = i
				break
			}
		}
	}
	if open := openBlock(text); open >= 0 && open < at {
		at = open
	}
	if at > 0 {
		// What says that something is secret stands before it, on its line.
		at = strings.LastIndexByte(text[:at], '\n') + 1
		for _, f := range slices.Backward(found) {
			if f.from < at && at < f.to {
				at = strings.LastIndexByte(text[:f.from], '\n') + 1
			}
		}
	}
	if at > 0 {
		return at
	}
	if len(text) <= holdMost {
		return 0
	}
	return w.cutLong(text, found)
}

// cutLong cuts a line that does not end, at a space well before what is held. Where a secret is longer than that, its
// mark is written and the rest of it is passed over.
func (w *Writer) cutLong(text string, found []span) int {
	if open := openBlock(text); open == 0 {
		w.inside, w.until = true, endOfBlock(text)
		return len(text)
	} else if open > 0 {
		return open
	}
	most := len(text) - lookAhead
	for _, f := range slices.Backward(found) {
		switch {
		case f.to == len(text) && f.from == 0:
			w.inside, w.until = true, ""
			return len(text)
		case f.from-lookBehind < most && most < f.to:
			// What says that it is secret stands before it.
			most = f.from - lookBehind
		}
	}
	if most <= 0 {
		if found[0].to == len(text) {
			w.inside, w.until = true, ""
		}
		return found[0].to
	}
	space := strings.LastIndexAny(text[:most], " ,")
	for space > 0 && strings.IndexByte(" \t:=,", text[space-1]) >= 0 {
		space--
	}
	if space > 0 {
		return space
	}
	return most
}

// A secret is known by at most lookBehind bytes before it, and begins at most lookAhead bytes before it is known as one.
const (
	lookBehind = 2 * nameMost
	lookAhead  = 4096
)

func (w *Writer) frontOfKnown(s string) bool {
	for _, k := range w.r.known {
		if len(s) < len(k) && strings.HasPrefix(k, s) {
			return true
		}
	}
	return false
}

// skip passes over the rest of a secret whose mark was written.
func (w *Writer) skip() {
	if !w.inside {
		return
	}
	if w.until != "" {
		i := bytes.Index(w.held, []byte(w.until))
		if i < 0 {
			// The end may be cut in two.
			keep := min(len(w.held), len(w.until)-1)
			w.held = append(w.held[:0], w.held[len(w.held)-keep:]...)
			return
		}
		w.held = append(w.held[:0], w.held[i+len(w.until):]...)
		w.inside = false
		return
	}
	i := bytes.IndexAny(w.held, " \t\r\n\"'`,;&<>()")
	if i < 0 {
		w.held = w.held[:0]
		return
	}
	w.held = append(w.held[:0], w.held[i:]...)
	w.inside = false
}

// openBlock finds a PEM block that has begun and not ended, or the front of its first line.
func openBlock(text string) int {
	i := strings.LastIndex(text, pemBegin)
	if i < 0 {
		return -1
	}
	if to, ok := pem(text, i); ok && to == len(text) && !strings.HasSuffix(text, "-----") {
		return i
	}
	if end := endOfBlock(text[i:]); end != "" && !strings.Contains(text[i:], end) && strings.Contains(end, "PRIVATE") {
		return i
	}
	return -1
}

// endOfBlock is the line that ends the block that text begins with.
func endOfBlock(text string) string {
	label := strings.TrimPrefix(text, pemBegin)
	if i := strings.Index(label, "-----"); i >= 0 && i <= 64 {
		return "-----END " + label[:i] + "-----"
	}
	return ""
}
