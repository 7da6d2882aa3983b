package turn

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func marker(n int64) []byte { return fmt.Appendf(nil, "<%d>\n", n) }

func newTestSpool(w *limitedWriter, limit int64, size int) *spool {
	return &spool{w: w, limit: limit, tail: ring{size: size}, marker: marker}
}

// limitedWriter is a disk that may be full.
type limitedWriter struct {
	bytes.Buffer
	room int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > w.room {
		n, _ := w.Buffer.Write(p[:w.room])
		w.room = 0
		return n, errors.New("no space left")
	}
	w.room -= len(p)
	return w.Buffer.Write(p)
}

func TestSpool(t *testing.T) {
	tests := map[string]struct {
		limit   int64
		size    int
		chunks  []string // "|" is a moment of quiet
		want    string
		dropped int64
	}{
		"all fits":              {limit: 100, size: 8, chunks: []string{"ab\ncd"}, want: "ab\ncd"},
		"exactly":               {limit: 5, size: 8, chunks: []string{"ab\ncd"}, want: "ab\ncd"},
		"tail goes on":          {limit: 4, size: 8, chunks: []string{"ab\nc", "d\n"}, want: "ab\ncd\n"},
		"quiet":                 {limit: 3, size: 8, chunks: []string{"ab\n", "cd\ne", "|", "f"}, want: "ab\ncd\nef"},
		"dropped":               {limit: 3, size: 4, chunks: []string{"ab\n", "1234567\n", "x\n"}, want: "ab\n<8>\nx\n", dropped: 8},
		"on a fresh line":       {limit: 2, size: 4, chunks: []string{"ab", "34567\n", "x\n"}, want: "ab\n<6>\nx\n", dropped: 6},
		"last line unfinished":  {limit: 0, size: 4, chunks: []string{"1234567\n", "x"}, want: "<8>\nx", dropped: 8},
		"one huge line":         {limit: 3, size: 4, chunks: []string{"12345678901234"}, want: "123\n<11>\n", dropped: 11},
		"quiet within a line":   {limit: 0, size: 4, chunks: []string{"123456789", "|", "0\nx\n"}, want: "<11>\nx\n", dropped: 11},
		"two gaps":              {limit: 0, size: 3, chunks: []string{"12345678\na\n", "|", "12345678\nb\n"}, want: "<9>\na\n<9>\nb\n", dropped: 18},
		"nothing after the gap": {limit: 0, size: 2, chunks: []string{"12345678"}, want: "<8>\n", dropped: 8},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &limitedWriter{room: 1 << 20}
			s := newTestSpool(w, tt.limit, tt.size)
			for _, c := range tt.chunks {
				if c == "|" {
					s.flush(false)
				} else {
					s.write([]byte(c))
				}
			}
			s.flush(true)
			if w.String() != tt.want || s.dropped != tt.dropped || s.written != int64(len(tt.want)) {
				t.Errorf("file %q, %d dropped, %d written; want %q, %d dropped", w.String(), s.dropped, s.written, tt.want, tt.dropped)
			}
		})
	}
}

// Whatever comes in whatever pieces: the file is the stream with stretches replaced by markers that say how long they
// were, what follows one is a whole line of the stream, the end is there if it fits, and memory is bounded.
func TestSpoolProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		limit := rapid.Int64Range(0, 60).Draw(t, "limit")
		w := &limitedWriter{room: 1 << 20}
		s := newTestSpool(w, limit, size)
		var stream strings.Builder
		for _, p := range rapid.SliceOf(rapid.StringMatching(`[a-c\n]{0,30}`)).Draw(t, "pieces") {
			stream.WriteString(p)
			s.write([]byte(p))
			if rapid.Bool().Draw(t, "quiet") {
				s.flush(false)
			}
			if len(s.tail.buf) > 2*size {
				t.Fatalf("the tail holds %d bytes, its size is %d", len(s.tail.buf), size)
			}
		}
		s.flush(true)
		if dropped := follow(t, w.String(), stream.String()); dropped != s.dropped {
			t.Fatalf("markers tell of %d dropped bytes, the spool of %d", dropped, s.dropped)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(stream.String(), "\n"), "\n")
		if last := lines[len(lines)-1]; len(last) < size && !strings.HasSuffix(strings.TrimSuffix(w.String(), "\n"), last) {
			t.Fatalf("the last line %q is lost: %q", last, w.String())
		}
	})
}

// follow reads a file beside the stream that it came from and gives how much the markers stand for.
func follow(t *rapid.T, file, stream string) int64 {
	dropped, ok := comesFrom(file, stream)
	if !ok {
		t.Fatalf("the file %q does not come from the stream %q", file, stream)
	}
	return dropped
}

// comesFrom says whether file can come from the stream.
func comesFrom(file, stream string) (dropped int64, ok bool) {
	begin, rest, gap := strings.Cut(file, "<")
	if !gap {
		return 0, file == stream
	}
	number, after, _ := strings.Cut(rest, ">\n")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, false
	}
	// A line end before a marker is the stream's, or was put there for the marker.
	for _, kept := range []string{begin, strings.TrimSuffix(begin, "\n")} {
		if !strings.HasPrefix(stream, kept) || len(stream)-len(kept) < n {
			continue
		}
		left := stream[len(kept)+n:]
		if atLine := strings.HasSuffix(stream[:len(kept)+n], "\n"); left != "" && !atLine {
			continue // what follows a marker is a whole line
		}
		if more, ok := comesFrom(after, left); ok {
			return int64(n) + more, true
		}
	}
	return 0, false
}

// F5: a full disk loses bytes and says how many; when there is room again, records come through again.
func TestSpoolFullDisk(t *testing.T) {
	w := &limitedWriter{room: 4}
	s := newTestSpool(w, 1000, 8)
	s.write([]byte("ab\ncd\n"))
	s.write([]byte("123456789012345678\n"))
	s.flush(false)
	if s.err == nil || w.String() != "ab\nc" {
		t.Fatalf("file %q, error %v", w.String(), s.err)
	}
	w.room = 1000
	s.write([]byte("end\n"))
	s.flush(false)
	if want := "ab\nc\n<21>\nend\n"; w.String() != want || s.dropped != 21 {
		t.Errorf("file %q, %d dropped, want %q", w.String(), s.dropped, want)
	}
}

// While the process runs, the file grows beyond its limit by a bounded amount only.
func TestSpoolIsBounded(t *testing.T) {
	w := &limitedWriter{room: 1 << 20}
	s := newTestSpool(w, 10, 10)
	for range 1000 {
		s.write([]byte("12345678\n"))
		s.flush(false)
	}
	s.flush(true)
	if most := 10 + (quietFlushes+3)*10 + (quietFlushes+3)*10; w.Len() > most || !strings.HasSuffix(w.String(), "12345678\n") {
		t.Errorf("%d bytes in the file, want at most %d and the last line", w.Len(), most)
	}
}
