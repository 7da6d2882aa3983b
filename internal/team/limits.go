package team

import "time"

// Limits bound a team. They steer decisions only, so changing them never changes how a journal folds.
type Limits struct {
	// Depth is how many levels a tree may have, the root being one; Descendants how many agents one agent may have
	// under it when agents spawn. A person is bound by Depth only.
	Depth, Descendants int
	// Hops is how long a chain of messages may grow from what the user said.
	Hops int
	// Attempts is how many turns may fail on the same mail; Interrupts how many may be cut off by a crash.
	Attempts, Interrupts int
	// ReplyDeadline is how long a request may stay unanswered.
	ReplyDeadline time.Duration
	// Backoff is the wait after the first failed attempt; it grows fourfold up to BackoffMax.
	Backoff, BackoffMax time.Duration
	// TextBytes bounds a message, QueueLen a mailbox.
	TextBytes, QueueLen int
	// SpawnsPerMinute bounds how many agents the agents of a team may spawn in a minute.
	SpawnsPerMinute int
	// Reminders, Subscriptions and Questions bound what one agent may have open.
	Reminders, Subscriptions, Questions int
	// AskDeadline is how long a question waits for a person.
	AskDeadline time.Duration
}

// DefaultLimits are generous for people and tight enough that a runaway team stops.
func DefaultLimits() Limits {
	return Limits{
		Depth: 8, Descendants: 200, Hops: 100,
		Attempts: 3, Interrupts: 20,
		ReplyDeadline: time.Hour,
		Backoff:       time.Second, BackoffMax: 5 * time.Minute,
		TextBytes: 1 << 20, QueueLen: 10_000,
		SpawnsPerMinute: 60, Reminders: 50, Subscriptions: 100, Questions: 20,
		AskDeadline: 24 * time.Hour,
	}
}

// backoff is the wait after the nth failure in a row, n from 1.
func (l Limits) backoff(n int) time.Duration { return grow(l.Backoff, 4, n, l.BackoffMax) }

// interruptBackoff is short: the agent did nothing wrong, but a crash that repeats must not spin.
func (l Limits) interruptBackoff(n int) time.Duration {
	return grow(l.Backoff/10, 2, n, l.BackoffMax/10)
}

// grow multiplies d by factor n-1 times, up to most.
func grow(d, factor time.Duration, n int, most time.Duration) time.Duration {
	for i := 1; i < n && 0 < d && d < most; i++ {
		if d > most/factor {
			return most
		}
		d *= factor
	}
	return min(d, most)
}
