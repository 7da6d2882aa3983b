package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// How long a reader may take for one event before it is given up, and how often an idle stream shows that it lives.
const (
	writeMost = 30 * time.Second
	heartbeat = 15 * time.Second
)

// sse writes server-sent events to one reader.
type sse struct {
	w   http.ResponseWriter
	c   *http.ResponseController
	buf bytes.Buffer
}

func newSSE(w http.ResponseWriter) *sse {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s := &sse{w: w, c: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	_ = s.c.Flush()
	return s
}

// add puts an event into the buffer.
func (s *sse) add(id, name string, data any) error {
	line, err := json.Marshal(data)
	if err != nil {
		return err
	}
	s.buf.WriteString("id: " + id + "\nevent: " + name + "\ndata: ")
	s.buf.Write(line)
	s.buf.WriteString("\n\n")
	return nil
}

// flush sends what is buffered. A reader that does not take it in time is gone.
func (s *sse) flush() error {
	_ = s.c.SetWriteDeadline(time.Now().Add(writeMost))
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	s.buf.Reset()
	return s.c.Flush()
}

// beat shows an idle reader that the stream lives.
func (s *sse) beat() error {
	s.buf.WriteString(": alive\n\n")
	return s.flush()
}
