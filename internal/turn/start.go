package turn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// ShimCommand is the hidden command of the executable that runs a shim: `<exe> shim <dir>`.
const ShimCommand = "shim"

// Start makes dir (absolute; it may exist, without a turn in it), runs `exe shim dir` and returns when that has started
// spec's process or failed to. A process that could not be started is no error here: Wait gives StartFailed and why.
//
// Errors: invalid for a malformed spec, conflict where dir holds a turn, unsupported for a sandbox outside Linux,
// otherwise internal. When ctx ends early, the shim and all it started are ended. A [Launcher] does the same faster.
func Start(ctx context.Context, exe, dir string, spec Spec) (*Turn, error) {
	return start(ctx, dir, spec, func() (idleShim, error) { return spawn(exe, dir) })
}

// start gives the turn to a shim that get provides.
func start(ctx context.Context, dir string, spec Spec, get func() (idleShim, error)) (*Turn, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if spec.Sandboxed && !canSandbox {
		return nil, substrat.Errorf(substrat.CodeUnsupported, "cannot start turn %s: sandboxes need Linux", spec.ID)
	}
	if !filepath.IsAbs(dir) {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot start turn %s: its directory is not absolute: %q", spec.ID, dir)
	}
	sweepChildren()
	t, err := launch(dir, spec, get)
	if err != nil {
		return nil, fmt.Errorf("cannot start turn %s: %w", spec.ID, err)
	}
	select {
	case <-t.started:
		return t, nil
	case <-t.ended:
		return t, nil
	case <-ctx.Done():
		// The shim is our child and not waited for yet, so its pid is still its own.
		killErr := unix.Kill(t.pid, unix.SIGKILL)
		<-t.ended
		return nil, errors.Join(fmt.Errorf("cannot start turn %s: %w", spec.ID, ctx.Err()), killErr, t.Close(), Reap(context.WithoutCancel(ctx), dir))
	}
}

func launch(dir string, spec Spec, get func() (idleShim, error)) (*Turn, error) {
	l, err := lay(dir, spec.ID)
	defer l.close()
	if err != nil {
		return nil, err
	}
	shim, err := get()
	if err != nil {
		return nil, err
	}
	if err := shim.give(job{Dir: dir, Spec: spec, Stdin: spec.Stdin, Secrets: spec.Secrets, Options: spec.Options}, l); err != nil {
		return nil, errors.Join(err, shim.discard())
	}
	return newTurn(dir, shim.conn, shim.pid), nil
}

// layout holds what is opened for a shim before it has the turn.
type layout struct {
	lock, listener, log *os.File
}

// lay makes the turn's directory and everything in it that must be there before the shim. The lock comes first: it
// says whether the directory is free.
func lay(dir, id string) (l layout, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return l, fmt.Errorf("cannot make the turn's directory: %w", err)
	}
	l.lock, err = newLock(dir, id)
	if errors.Is(err, fs.ErrExist) {
		return l, substrat.Errorf(substrat.CodeConflict, "the directory holds a turn already: %s", dir)
	}
	if err != nil {
		return l, err
	}
	if l.listener, err = listenCtl(dir); err != nil {
		return l, err
	}
	l.log, err = os.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return l, err
}

func (l layout) close() {
	for _, f := range []*os.File{l.lock, l.listener, l.log} {
		if f != nil {
			f.Close()
		}
	}
}
