package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/engine"
)

// streamAgent follows an agent's turns from the reader's place on.
func (s *server) streamAgent(w http.ResponseWriter, r *http.Request) {
	from, err := streamPlace(r)
	if err == nil {
		_, err = s.Engine.Agent(r.Context(), r.PathValue("ref"))
	}
	if err != nil {
		writeProblem(w, err)
		return
	}
	out := &liveStream{sse: newSSE(w), stop: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(out.keepAlive)
	_ = s.Engine.Stream(r.Context(), r.PathValue("ref"), from, out.emit)
	close(out.stop)
	wg.Wait()
}

// liveStream writes items and, when nothing comes, heartbeats.
type liveStream struct {
	*sse
	mu   sync.Mutex
	stop chan struct{}
}

func (l *liveStream) keepAlive() {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-beat.C:
			l.mu.Lock()
			_ = l.beat()
			l.mu.Unlock()
		}
	}
}

func (l *liveStream) emit(item engine.StreamItem) error {
	name := "event"
	switch {
	case item.Started != nil:
		name = "started"
	case item.Ended != nil:
		name = "ended"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.add(fmt.Sprintf("%d.%d", item.Number, item.Offset), name, item); err != nil {
		return err
	}
	return l.flush()
}

// streamPlace is where a reader wants to go on: the id of the last item it saw.
func streamPlace(r *http.Request) (engine.StreamPos, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("from")
	}
	if text == "" {
		return engine.StreamPos{}, nil
	}
	number, offset, _ := strings.Cut(text, ".")
	n, err := strconv.Atoi(number)
	var pos int64
	if err == nil && offset != "" {
		pos, err = strconv.ParseInt(offset, 10, 64)
	}
	if err != nil || n < 0 || pos < 0 {
		return engine.StreamPos{}, substrat.Errorf(substrat.CodeInvalid, "cannot go on from %.40q: not TURN.OFFSET", text)
	}
	return engine.StreamPos{Turn: n, Offset: pos}, nil
}
