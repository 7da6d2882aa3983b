package turn

import "bytes"

// ring keeps the last bytes of a stream. It copies each byte at most twice on average.
type ring struct {
	size int
	buf  []byte // up to 2*size; the last size bytes count
	// midLine says that the first byte kept is not the first one of a line.
	midLine bool
}

// add appends p and gives how many bytes fell out at the front.
func (r *ring) add(p []byte) (lost int) {
	if over := len(p) - r.size; over > 0 {
		lost = len(r.buf) + over
		r.midLine = p[over-1] != '\n'
		r.buf = append(r.buf[:0], p[over:]...)
		return lost
	}
	if over := len(r.buf) + len(p) - 2*r.size; over > 0 {
		lost = len(r.buf) + len(p) - r.size
		r.cut(lost)
	}
	r.buf = append(r.buf, p...)
	return lost
}

// cut drops n bytes at the front.
func (r *ring) cut(n int) {
	if n == 0 {
		return
	}
	r.midLine = r.buf[n-1] != '\n'
	r.buf = r.buf[:copy(r.buf, r.buf[n:])]
}

// firstLine is where the first line begins that is there from its beginning, the length where none does.
func (r *ring) firstLine() int {
	if !r.midLine {
		return 0
	}
	if i := bytes.IndexByte(r.buf, '\n'); i >= 0 {
		return i + 1
	}
	return len(r.buf)
}

// lastLineEnd is the offset behind the last line end, 0 where there is none.
func (r *ring) lastLineEnd() int { return bytes.LastIndexByte(r.buf, '\n') + 1 }
