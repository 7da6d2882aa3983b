package turn

import (
	"context"
	"syscall"

	"substrat.dev/substrat/internal/resource"
)

// execBounded starts the process inside its bounds and begins to watch them.
func (s *shim) execBounded(argv []string, p *pipes) (int, error) {
	b := s.spec.Bounds
	if b == nil {
		return s.exec(argv, p)
	}
	if b.Support.Mode != resource.ModeRlimits {
		group, err := b.Support.Open(b.Path)
		if err != nil {
			return 0, err
		}
		s.group = group
	}
	// What it begins with is measured before it runs.
	s.watch = resource.NewWatch(b.own(), nil, s.group)
	pid, err := s.exec(argv, p)
	if err != nil {
		s.watch.Stop()
		s.group.Remove()
		s.watch, s.group = nil, nil
		return 0, err
	}
	return pid, nil
}

// over gives the breach of a bound; nil, which never gives one, without bounds.
func (s *shim) over() <-chan resource.Reason {
	if s.watch == nil {
		return nil
	}
	return s.watch.Over()
}

// fork starts a process in the turn's group.
func (s *shim) fork(path string, argv []string, dir string, fds []int, attributes *syscall.SysProcAttr) (int, error) {
	return s.group.Fork(attributes, func() (int, error) { return startFile(path, argv, environment(s.spec), dir, fds, attributes) })
}

// unbind ends what watches the bounds once all of the turn is dead, and gives what was exceeded, if anything.
func (s *shim) unbind() (r resource.Reason, hit bool) {
	if s.watch != nil {
		r, hit = s.watch.Stop()
	}
	if s.group != nil {
		ctx, cancel := context.WithTimeout(context.Background(), killTime)
		defer cancel()
		s.note("cannot empty the turn's group", s.group.Kill(ctx))
		s.group.Remove()
	}
	return r, hit
}
