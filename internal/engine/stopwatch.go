package engine

import (
	"sync"
	"time"
)

// stopwatch counts the time in which something goes on, as often and as overlapping as it does.
type stopwatch struct {
	mu    sync.Mutex
	going int
	since time.Time
	total time.Duration
	last  time.Time
}

func (s *stopwatch) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.going == 0 {
		s.since = now
	}
	s.going++
}

func (s *stopwatch) end(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.going--
	if s.going == 0 {
		s.total += now.Sub(s.since)
		s.last = now
	}
}

// read gives the time so far, and when it last went on: now, if it does.
func (s *stopwatch) read(now time.Time) (total time.Duration, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.going > 0 {
		return s.total + now.Sub(s.since), now
	}
	return s.total, s.last
}
