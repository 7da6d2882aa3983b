package turn

import "io"

// quietFlushes bounds how many rings' worth the spool adds to its file beyond the limit while the process still runs.
const quietFlushes = 16

// spool writes a stream to a file up to a limit. Of what comes after, it keeps the end in memory and appends that when
// the process is quiet or has ended, so that a record which ends a turn is never lost. Memory is bounded whatever comes.
// It belongs to one goroutine.
//
// The file is the stream minus whole stretches; each is replaced by one marker on a line of its own, and what follows a
// marker begins with a whole line, unless bytes is set.
type spool struct {
	w     io.Writer
	limit int64
	tail  ring
	// bytes says that what follows a marker may begin inside a line: text for people, not records.
	bytes bool
	// marker gives the line, with its line end, that stands for n dropped bytes.
	marker func(n int64) []byte

	written int64 // bytes in the file
	dropped int64 // bytes of the stream that are not in the file for good
	gap     int64 // of these, not yet told by a marker
	last    byte  // of the file
	full    bool  // the limit was reached or a write failed: everything goes to the tail
	flushed int64 // written beyond the limit while the process ran
	err     error // the first failed write
}

// write takes the next bytes of the stream. It never fails: what the file does not take is kept in the tail, or
// dropped and counted.
func (s *spool) write(p []byte) {
	if !s.full {
		p = p[s.put(p[:min(int64(len(p)), s.limit-s.written)]):]
		if len(p) == 0 {
			return
		}
		s.full = true
		s.tail.midLine = s.written > 0 && s.last != '\n'
	}
	s.lose(int64(s.tail.add(p)))
}

// put writes to the file and gives how much of p that took.
func (s *spool) put(p []byte) int {
	if len(p) == 0 {
		return 0
	}
	n, err := s.w.Write(p)
	if err != nil {
		s.full = true
		if s.err == nil {
			s.err = err
		}
	}
	if n > 0 {
		s.last = p[n-1]
		s.written += int64(n)
	}
	return n
}

func (s *spool) lose(n int64) {
	s.dropped += n
	s.gap += n
}

// waiting says that flush(false) may have something to add.
func (s *spool) waiting() bool {
	return s.full && len(s.tail.buf) > 0 && s.flushed < quietFlushes*int64(s.tail.size)
}

// flush appends the whole lines of the tail; at the end, all that is left of it behind the beginning of a line.
func (s *spool) flush(final bool) {
	begin, end := 0, len(s.tail.buf)
	if s.gap > 0 && !s.bytes {
		begin = s.tail.firstLine()
	}
	if final {
		if end > 0 || s.gap > 0 {
			s.append(begin, end)
			s.lose(int64(len(s.tail.buf)))
			s.tail.buf = nil
		}
		return
	}
	if end = s.tail.lastLineEnd(); end > begin && s.waiting() {
		s.flushed += int64(end - begin)
		s.append(begin, end)
	}
}

// append writes the tail from begin to end, after a marker where something is missing before it. What was before begin
// is lost, what is behind end stays in the tail.
func (s *spool) append(begin, end int) {
	s.lose(int64(begin))
	s.tail.cut(begin)
	end -= begin
	var out []byte
	if s.gap > 0 {
		if s.written > 0 && s.last != '\n' {
			out = append(out, '\n')
		}
		out = append(out, s.marker(s.gap)...)
	}
	head := len(out)
	n := s.put(append(out, s.tail.buf[:end]...))
	if n < head {
		return // the marker is not whole: it is written again the next time
	}
	s.gap = 0
	s.tail.cut(n - head)
}
