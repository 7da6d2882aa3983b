package redact

import (
	"bytes"
	"slices"
	"strings"
)

// Known finds values that it was told of, in any of their [Forms], in streams of bytes. It looks for nothing else. A nil
// one knows none. It does not change and is safe for concurrent use. Nothing prints what it knows.
//
// It compares windows of the length of the shortest form, from their ends (Wu and Manber): most of them are passed over
// without looking at each byte.
type Known struct {
	least, longest int
	// byEnd are the forms by the last two bytes of their window, the longest first; shift is how far a window with other
	// bytes at its end may move.
	byEnd map[uint16][]string
	shift [1 << 16]uint8
	// byFront are the forms by their first byte.
	byFront [256][]string
	// lines says that a form has a line end in it.
	lines bool
}

// windowMost bounds the window: beyond it there is little to gain.
const windowMost = 64

// NewKnown makes one that knows the values; nil if all of them are too short to be told from words.
func NewKnown(values ...string) *Known {
	var forms []string
	for _, v := range values {
		forms = append(forms, Forms(v)...)
	}
	if len(forms) == 0 {
		return nil
	}
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	forms = slices.Compact(forms)
	k := &Known{longest: len(forms[0]), least: min(len(forms[len(forms)-1]), windowMost), byEnd: map[uint16][]string{}}
	for i := range k.shift {
		k.shift[i] = uint8(k.least - 1)
	}
	for _, f := range forms {
		for at := 1; at < k.least; at++ {
			end := uint16(f[at-1])<<8 | uint16(f[at])
			k.shift[end] = min(k.shift[end], uint8(k.least-1-at))
		}
		end := uint16(f[k.least-2])<<8 | uint16(f[k.least-1])
		k.byEnd[end] = append(k.byEnd[end], f)
		k.byFront[f[0]] = append(k.byFront[f[0]], f)
		k.lines = k.lines || strings.ContainsRune(f, '\n')
	}
	return k
}

// String says nothing of what is known.
func (k *Known) String() string { return "[known values]" }

// GoString says nothing of what is known.
func (k *Known) GoString() string { return k.String() }

// Text gives s with a mark in place of each value; s itself if it has none.
func (k *Known) Text(s string) string {
	if k == nil || len(s) < k.least {
		return s
	}
	return string(k.Bytes([]byte(s)))
}

// Bytes is like Text. It does not change data.
func (k *Known) Bytes(data []byte) []byte {
	if k == nil {
		return data
	}
	var out []byte
	for at := 0; ; {
		from, form := k.next(data, at)
		switch {
		case from < 0 && at == 0:
			return data
		case from < 0:
			return append(out, data[at:]...)
		}
		out = append(append(out, data[at:from]...), markFor(form)...)
		at = from + len(form)
	}
}

// next finds the first form at or after a place, the longest one there; from is negative if there is none.
func (k *Known) next(data []byte, at int) (from int, form string) {
	for last := at + k.least - 1; last < len(data); {
		end := uint16(data[last-1])<<8 | uint16(data[last])
		if far := k.shift[end]; far > 0 {
			last += int(far)
			continue
		}
		from := last - k.least + 1
		for _, f := range k.byEnd[end] {
			if len(data)-from >= len(f) && string(data[from:from+len(f)]) == f {
				return from, f
			}
		}
		last++
	}
	return -1, ""
}

// open finds where data ends with the front of a form, at or after a place; its length if it does not.
func (k *Known) open(data []byte, at int) int {
	at = max(at, len(data)-k.longest+1)
	if !k.lines {
		at = max(at, bytes.LastIndexByte(data[min(at, len(data)):], '\n')+1+min(at, len(data)))
	}
	for ; at < len(data); at++ {
		for _, f := range k.byFront[data[at]] {
			if len(f) > len(data)-at && string(data[at:]) == f[:len(data)-at] {
				return at
			}
		}
	}
	return len(data)
}

// Stream takes known values out of a stream of bytes. However the stream is cut, what comes out is the same: only what may
// be the front of a value is held back, which never reaches over the end of a line unless a value does. It is for one goroutine.
type Stream struct {
	k    *Known
	held []byte
	out  []byte
}

// Stream makes a Stream that nothing went through yet.
func (k *Known) Stream() *Stream { return &Stream{k: k} }

// Push takes the next bytes and gives those that are sure, valid until the next call and for as long as p is.
func (s *Stream) Push(p []byte) []byte {
	if s.k == nil {
		return p
	}
	if len(s.held) == 0 {
		return s.take(p, false)
	}
	s.held = append(s.held, p...)
	whole := s.held
	s.held = nil
	return s.take(whole, false)
}

// End gives what is held, at the end of the stream. The front of a value that is most of it is taken out like the whole.
func (s *Stream) End() []byte {
	held := s.held
	s.held = nil
	if len(held) == 0 {
		return nil
	}
	return s.take(held, true)
}

// take gives data without values and keeps what may go on, unless it is the last.
func (s *Stream) take(data []byte, last bool) []byte {
	s.out = s.out[:0]
	at, clean := 0, true
	for {
		open := len(data)
		if !last {
			open = s.k.open(data, at)
		}
		from, form := s.k.next(data[:min(len(data), open+s.k.longest)], at)
		if from < 0 || from >= open {
			return s.rest(data, at, open, clean, last)
		}
		clean = false
		s.out = append(append(s.out, data[at:from]...), markFor(form)...)
		at = from + len(form)
	}
}

// rest ends a piece: nothing is found in it from a place on, and what begins at open may go on.
func (s *Stream) rest(data []byte, at, open int, clean, last bool) []byte {
	if last {
		if open = s.k.open(data, at); open < len(data) && s.mostOf(data[open:]) {
			return append(append(s.out, data[at:open]...), Mark...)
		}
		open = len(data)
	}
	if open < len(data) {
		s.held = append([]byte(nil), data[open:]...)
	}
	if clean {
		return data[:open]
	}
	return append(s.out, data[at:open]...)
}

// mostOf reports that a front is more than half of a form.
func (s *Stream) mostOf(front []byte) bool {
	for _, f := range s.k.byFront[front[0]] {
		if len(front) >= encodedLeast && 2*len(front) > len(f) && strings.HasPrefix(f, string(front)) {
			return true
		}
	}
	return false
}

// markFor is what stands for a form: where it may be a number in JSON, another one.
func markFor(form string) string {
	if strings.Trim(form, "0123456789") == "" {
		return "1" + strings.Repeat("0", len(form)-1)
	}
	return Mark
}
