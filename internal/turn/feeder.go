package turn

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// maxWrites bounds the writes that wait for the process to read.
const maxWrites = 8

// feeder writes to the process's stdin, so that a process which does not read holds up nobody but the writer.
type feeder struct {
	pipe *os.File // nil where stdin is closed from the beginning
	work chan feed
	done chan struct{}
}

// feed is one write, or the end of stdin where last.
type feed struct {
	data  []byte
	last  bool
	reply func(err string)
}

// newFeeder takes over the writing end of a pipe that nobody has written to yet. Where the pipe takes all of a stdin
// that is not kept at once, as it nearly always does, there is no goroutine.
func newFeeder(fd int, first []byte, keep bool) *feeder {
	f := &feeder{work: make(chan feed, maxWrites), done: make(chan struct{})}
	if n, err := unix.Write(fd, first); err == nil && n > 0 {
		first = first[n:]
	}
	f.pipe = os.NewFile(uintptr(fd), "stdin")
	if len(first) == 0 && !keep {
		f.pipe.Close()
		close(f.done)
		return f
	}
	f.work <- feed{data: first, last: !keep, reply: func(string) {}}
	go f.run()
	return f
}

func (f *feeder) run() {
	defer close(f.done)
	defer f.pipe.Close()
	for w := range f.work {
		_, err := f.pipe.Write(w.data)
		if w.last {
			err = nil
			f.pipe.Close()
		}
		w.reply(stdinProblem(err))
	}
}

const stdinClosed = "its stdin is closed"

// closedProblem is the answer where there is no stdin: to close it is no problem.
func closedProblem(last bool) string {
	if last {
		return ""
	}
	return stdinClosed
}

func stdinProblem(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, os.ErrClosed), errors.Is(err, unix.EPIPE):
		return stdinClosed
	}
	return err.Error()
}

// take queues a write or the end. It never blocks.
func (f *feeder) take(w feed) {
	select {
	case <-f.done:
		w.reply(closedProblem(w.last))
		return
	default:
	}
	select {
	case f.work <- w:
	default:
		w.reply("it does not read its stdin")
	}
}

// close closes stdin at once, whatever is queued.
func (f *feeder) close() { f.pipe.Close() }

// stop ends the feeder. Nothing may be taken after it.
func (f *feeder) stop() {
	f.pipe.Close()
	close(f.work)
	<-f.done
}
