package turn

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"substrat.dev/substrat/agentcli/redact"
)

// quiet is how long a stream rests before the end of what was beyond its limit is appended.
const quiet = 50 * time.Millisecond

// clock says when there last was output, in nanoseconds of the monotonic clock since the turn's start.
type clock struct {
	start time.Time
	last  atomic.Int64
}

func (c *clock) touch() { c.last.Store(int64(time.Since(c.start))) }

// idle is how long there has been no output.
func (c *clock) idle() time.Duration { return time.Since(c.start) - time.Duration(c.last.Load()) }

// pump moves a stream from its pipe to its spool until the pipe ends or is closed.
type pump struct {
	from  *os.File
	to    *spool
	hide  *redact.Stream // what must not be written
	clock *clock
	grew  func()        // called after each growth of the file
	done  chan struct{} // closed at the end; then the spool may be looked at
}

func (p *pump) run(bufferSize int) {
	defer close(p.done)
	buf := make([]byte, bufferSize)
	var timed, rested bool
	for {
		if wait := p.to.waiting() && !rested; wait || timed {
			timed = wait
			_ = p.from.SetReadDeadline(deadline(wait)) // without one, the tail comes at the end
		}
		before := p.to.written
		n, err := p.from.Read(buf)
		if n > 0 {
			p.clock.touch()
			p.to.write(p.hide.Push(buf[:n]))
		}
		rested = errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !rested {
			p.to.write(p.hide.End())
		}
		if err != nil {
			p.to.flush(!rested)
		}
		if p.to.written > before {
			p.grew()
		}
		if err != nil && !rested {
			return
		}
	}
}

func deadline(set bool) time.Time {
	if !set {
		return time.Time{}
	}
	return time.Now().Add(quiet)
}

// stop ends the pump although somebody still holds the other end of the pipe.
func (p *pump) stop() {
	p.from.Close()
	<-p.done
}
