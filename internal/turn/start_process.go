package turn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// pipes are the ends of the process's stdio that go to it, and those that stay.
type pipes struct {
	theirs []int
	in     int // -1 where stdin is /dev/null
	out    *os.File
	err    *os.File
	status *os.File // of bwrap's --json-status-fd, nil for a bare process
}

// start starts the process and what follows it.
func (s *shim) start() error {
	s.note("cannot adopt orphans", adoptOrphans())
	if s.noNet != nil {
		return s.noNet
	}
	p, err := openPipes(s.spec)
	if err != nil {
		return err
	}
	argv := s.spec.Argv
	if s.spec.Sandboxed {
		ours := []string{argv[0], "--json-status-fd", "3"}
		if len(s.spec.Options) > 0 {
			ours = append(ours, "--args", "4")
		}
		argv = append(ours, argv[1:]...)
	}
	pid, err := s.execBounded(argv, &p)
	closeAll(p.theirs)
	if err != nil {
		return err
	}
	s.child.follow(pid, p.status)
	s.child.stdin = newFeederOrNone(p.in, s.spec)
	stdout := newSpool(s.dir, stdoutName, s.spec.Limits.OutputBytes, outputTail, overflowMarker)
	stderr := newSpool(s.dir, stderrName, s.spec.Limits.StderrBytes, stderrTail, stderrMarker)
	stderr.bytes = true
	s.stdout = &pump{from: p.out, to: stdout, hide: s.known.Stream(), clock: s.clock, grew: func() { s.hub.tell(evGrew) }, done: make(chan struct{})}
	s.stderr = &pump{from: p.err, to: stderr, hide: s.known.Stream(), clock: s.clock, grew: func() {}, done: make(chan struct{})}
	go s.stdout.run(256 << 10)
	go s.stderr.run(64 << 10)
	return nil
}

func newFeederOrNone(fd int, spec Spec) *feeder {
	if fd < 0 {
		f := &feeder{work: make(chan feed), done: make(chan struct{})}
		close(f.done)
		return f
	}
	return newFeeder(fd, spec.Stdin, spec.KeepStdin)
}

func openPipes(spec Spec) (p pipes, err error) {
	p.in = -1
	if len(spec.Stdin) == 0 && !spec.KeepStdin {
		null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return p, fmt.Errorf("cannot open %s: %w", os.DevNull, err)
		}
		p.theirs = append(p.theirs, null)
	} else {
		r, w, err := pipe()
		if err != nil {
			return p, err
		}
		if err := unix.SetNonblock(w, true); err != nil {
			return p, fmt.Errorf("cannot make a pipe: %w", err)
		}
		p.theirs, p.in = append(p.theirs, r), w
	}
	ours := []**os.File{&p.out, &p.err}
	if spec.Sandboxed {
		ours = append(ours, &p.status)
	}
	for _, f := range ours {
		r, w, err := pipe()
		if err != nil {
			return p, err
		}
		if err := unix.SetNonblock(r, true); err != nil {
			return p, fmt.Errorf("cannot make a pipe: %w", err)
		}
		*f = os.NewFile(uintptr(r), "pipe")
		p.theirs = append(p.theirs, w)
	}
	if spec.Sandboxed && len(spec.Options) > 0 {
		options, pinned, err := pin(spec, len(p.theirs)+1)
		if err != nil {
			return p, err
		}
		fd, err := unseen(options)
		if err != nil {
			closeAll(pinned)
			return p, err
		}
		p.theirs = append(append(p.theirs, fd), pinned...)
	}
	return p, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// environment is the spec's with the marker, which nothing in the spec can replace.
func environment(spec Spec) []string {
	env := make([]string, 0, len(spec.Env)+1)
	for _, v := range spec.Env {
		if !strings.HasPrefix(v, Marker+"=") {
			env = append(env, v)
		}
	}
	return append(env, Marker+"="+spec.ID)
}

func workDir(spec Spec) string {
	if spec.Dir == "" {
		return "/"
	}
	return spec.Dir
}

const outputTail = 1 << 20

func newSpool(dir, name string, limit int64, tail int, marker func(int64) []byte) *spool {
	return &spool{w: &lazyFile{path: filepath.Join(dir, name)}, limit: limit, tail: ring{size: tail}, marker: marker}
}

// lazyFile is made at the first write, which is while the agent initialises.
type lazyFile struct {
	path string
	file *os.File
}

// Write implements io.Writer.
func (l *lazyFile) Write(p []byte) (int, error) {
	if l.file == nil {
		f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return 0, err
		}
		l.file = f
	}
	return l.file.Write(p)
}

func overflowMarker(n int64) []byte {
	return fmt.Appendf(nil, `{"type":"substrat.overflow","dropped_bytes":%d}`+"\n", n)
}

func stderrMarker(n int64) []byte {
	return fmt.Appendf(nil, "[substrat: %d bytes dropped]\n", n)
}
