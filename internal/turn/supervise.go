package turn

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killTime bounds how long the shim waits for what it has killed; a process stuck in the kernel can outlast it.
	killTime = 10 * time.Second
	// lingerTime is for pipes that a process outside the turn holds open when all of the turn is dead.
	lingerTime = 200 * time.Millisecond
)

// supervise follows the process to its end and sees that nothing of it is left.
func (s *shim) supervise() Exit {
	s.ladder = newLadder(s.spec.Limits, &s.child)
	defer s.ladder.stop()
	wall, silence := optionalTimer(s.spec.Limits.Wall), optionalTimer(s.spec.Limits.Silence)
	defer wall.Stop()
	defer silence.Stop()
	alone := optionalTimer(s.spec.Limits.Alone)
	defer alone.Stop()
	statusDone := s.child.statusDone()
	if statusDone == nil {
		s.recordStatus()
	}
	for {
		select {
		case <-s.child.exited:
			return s.finish()
		case <-statusDone:
			statusDone = nil
			s.recordStatus()
		case r := <-s.hub.requests:
			s.serve(r)
		case <-s.ladder.timer.C:
			s.ladder.climb()
		case r := <-s.over():
			s.exceeded = r.Text
			s.ladder.exceed()
		case <-wall.C:
			s.ladder.begin(Wall)
		case <-silence.C:
			if left := s.spec.Limits.Silence - s.clock.idle(); left > 0 {
				silence.Reset(left)
			} else {
				s.ladder.begin(Silence)
			}
		case <-alone.C:
			if left := s.spec.Limits.Alone - s.hub.alone(); left > 0 {
				alone.Reset(left)
			} else {
				s.note("stopped", errors.New("no daemon came back for it"))
				s.ladder.begin(Cancelled)
			}
		case sig := <-s.stop:
			if sig == unix.SIGTERM {
				s.note("stopped", errors.New("the shim got SIGTERM"))
				s.ladder.begin(Cancelled)
			}
		}
	}
}

// optionalTimer never fires for zero.
func optionalTimer(d time.Duration) *time.Timer {
	timer := time.NewTimer(d)
	if d == 0 {
		timer.Stop()
	}
	return timer
}

// serve does what a daemon asks.
func (s *shim) serve(r request) {
	switch r.Op {
	case opWrite:
		s.child.stdin.take(feed{data: r.Data, reply: r.reply})
	case opCloseStdin:
		s.child.stdin.take(feed{last: true, reply: r.reply})
	case opEnd:
		s.child.stdin.close()
		s.ladder.resultSeen()
		r.reply("")
	case opCancel:
		s.ladder.begin(Cancelled)
		r.reply("")
	case opHost:
		s.net.decide(r.Host, r.Port, r.Allow)
		r.reply("")
	default:
		r.reply("its shim does not know " + r.Op)
	}
}

// finish comes after the process's exit: what it left on its pipes is drained, what it left running is killed.
func (s *shim) finish() Exit {
	s.drain(s.spec.Limits.DrainGrace)
	if !s.child.killAll(killTime) {
		s.note("not all is gone", errors.New("a process of the turn does not die"))
	}
	s.drain(lingerTime)
	// What the kernel ended for its use of memory shows only now.
	if r, hit := s.unbind(); hit && s.exceeded == "" && (s.ladder.reason == Exited || s.ladder.reason == Ended) {
		s.exceeded, s.ladder.reason = r.Text, Exceeded
	}
	s.net.close()
	s.stdout.stop()
	s.stderr.stop()
	s.child.stdin.stop()
	s.note("cannot write stdout", s.stdout.to.err)
	s.note("cannot write stderr", s.stderr.to.err)
	exit := s.child.exit()
	exit.Reason = s.ladder.reason
	exit.StdoutBytes, exit.DroppedBytes, exit.StderrBytes = s.stdout.to.written, s.stdout.to.dropped, s.stderr.to.written
	if exit.Reason == Exceeded {
		exit.Err = s.exceeded
	}
	if s.ladder.rung == running && (s.child.neverRan() || s.stepFailed(exit)) {
		exit.Reason, exit.Code, exit.Err = StartFailed, -1, s.startProblem()
	}
	return exit
}

// drain waits until both pipes have ended, but no longer than grace. Requests are answered meanwhile.
func (s *shim) drain(grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for _, done := range []chan struct{}{s.stdout.done, s.stderr.done} {
		for waiting := true; waiting; {
			select {
			case <-done:
				waiting = false
			case r := <-s.hub.requests:
				r.reply(tooLate(r.Op))
			case <-timer.C:
				return
			}
		}
	}
}

// tooLate answers a request that came after the process's exit: what it asks for has happened, unless it is to write.
func tooLate(op string) string {
	if op == opEnd || op == opCancel {
		return ""
	}
	return "it has exited"
}

func (s *shim) recordStatus() {
	s.child.describe(&s.status)
	s.note("cannot record the status", writeJSON(s.dir, statusName, s.status))
}

// stepFailed says that the sandbox's last step ended in place of becoming the agent. It says so on standard error, before which
// nothing can have been printed.
func (s *shim) stepFailed(exit Exit) bool {
	if !s.spec.Sandboxed || exit.Code < stepFailedLeast || exit.Code > stepFailedMost || exit.StdoutBytes > 0 {
		return false
	}
	text := s.stderrHead()
	return strings.HasPrefix(text, "substrat: the sandbox cannot ") || strings.HasPrefix(text, "substrat: the agent's program ") ||
		strings.HasPrefix(text, "substrat: cannot confine ")
}

// The codes of a last step that failed, as of env and of container runtimes.
const (
	stepFailedLeast = 125
	stepFailedMost  = 127
)

// startProblem is what bwrap, or the last step, said when it could not make the sandbox or run the agent in it.
func (s *shim) startProblem() string {
	text := strings.TrimSpace(s.stderrHead())
	if text == "" {
		return "cannot start the sandbox: it ended without a word"
	}
	return "cannot start the sandbox: " + strings.TrimPrefix(text, "substrat: ")
}

// stderrHead is what was printed on standard error at first.
func (s *shim) stderrHead() string {
	text := make([]byte, 4<<10)
	f, err := os.Open(filepath.Join(s.dir, stderrName))
	if err != nil {
		return ""
	}
	defer f.Close()
	n, _ := f.Read(text)
	return string(text[:n])
}
