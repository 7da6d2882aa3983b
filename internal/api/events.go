package api

import (
	"net/http"
	"strconv"
	"time"

	"substrat.dev/substrat"
)

// eventPage is how many events are read, and buffered, at a time.
const eventPage = 500

// streamEvents follows the journal from the reader's place on.
func (s *server) streamEvents(w http.ResponseWriter, r *http.Request) {
	after, err := eventPlace(r)
	if err != nil {
		writeProblem(w, err)
		return
	}
	follow := r.URL.Query().Get("follow") != "false"
	end := s.Engine.Info().Seq
	out := newSSE(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		changed := s.Engine.EventsChanged(after)
		events, err := s.Engine.Events(r.Context(), after, eventPage)
		if err != nil {
			return
		}
		for _, ev := range events {
			if !follow && ev.Seq > end {
				_ = out.flush()
				return
			}
			if out.add(strconv.FormatInt(ev.Seq, 10), ev.Type, ev) != nil {
				return
			}
			after = ev.Seq
		}
		if len(events) > 0 {
			if out.flush() != nil {
				return
			}
			continue
		}
		if !follow {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-beat.C:
			if out.beat() != nil {
				return
			}
		}
	}
}

// eventPlace is where a reader wants to go on: Last-Event-ID, which a browser sends by itself, or ?after.
func eventPlace(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, substrat.Errorf(substrat.CodeInvalid, "cannot go on after %.40q: not an event's number", text)
	}
	return n, nil
}
