package turn

import "time"

// rung is how far the shim has gone to end the process.
type rung int

const (
	running     rung = iota
	graced           // the result was seen, the process may exit by itself
	interrupted      // the agent has SIGINT
	terminated       // all its processes have SIGTERM
	killed           // everything has SIGKILL
)

// target is what the ladder ends. Each method says whether there was somebody to get the signal.
type target interface {
	interrupt() bool
	terminate() bool
	kill()
}

// ladder ends a process step by step. Its steps are bounded in time, whatever the process does about them.
type ladder struct {
	limits Limits
	target target
	timer  *time.Timer // fires when it is time to climb
	rung   rung
	reason Reason
}

func newLadder(l Limits, t target) ladder {
	timer := time.NewTimer(0)
	timer.Stop()
	return ladder{limits: l, target: t, timer: timer, reason: Exited}
}

func (l *ladder) stop() { l.timer.Stop() }

// resultSeen gives the process its grace. A ladder that has begun goes on as it was.
func (l *ladder) resultSeen() {
	if l.rung == running {
		l.rung = graced
		l.timer.Reset(l.limits.ResultGrace)
	}
}

// begin ends the process for a reason, at once. The first reason counts.
func (l *ladder) begin(reason Reason) {
	if l.rung > graced || l.rung == graced && reason != Cancelled {
		return
	}
	l.reason = reason
	l.rung = interrupted
	if !l.target.interrupt() {
		l.climb()
		return
	}
	l.timer.Reset(l.limits.InterruptGrace)
}

// exceed kills the process: what eats up the machine is not asked first.
func (l *ladder) exceed() {
	if l.rung <= graced {
		l.reason = Exceeded
	}
	if l.rung < killed {
		l.rung = killed
		l.target.kill()
	}
}

// climb takes the next step.
func (l *ladder) climb() {
	if l.rung == graced {
		l.reason = Ended
	}
	switch l.rung {
	case graced, interrupted:
		l.rung = terminated
		if l.target.terminate() {
			l.timer.Reset(l.limits.TermGrace)
			return
		}
		l.climb()
	case terminated:
		l.rung = killed
		l.target.kill()
	}
}
