package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"substrat.dev/substrat"
)

// What the shim inherits beside stdin, stdout and shim.log as stderr.
const (
	fdControl  = 3 // one end of the starter's connection
	fdLock     = 4 // holds the lock
	fdListener = 5 // bound to dir/ctl
)

// ShimCommand is the hidden command of the executable that runs a shim: `<exe> shim <dir>`.
const ShimCommand = "shim"

// Start makes dir (absolute; it may exist, without a turn in it), runs `exe shim dir` and returns when that has started
// spec's process or failed to. A process that could not be started is no error here: Wait gives StartFailed and why.
//
// Errors: invalid for a malformed spec, conflict where dir holds a turn, unsupported for a sandbox outside Linux,
// otherwise internal. When ctx ends early, the shim and all it started are ended.
func Start(ctx context.Context, exe, dir string, spec Spec) (*Turn, error) {
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
	conn, pid, err := launch(exe, dir, spec)
	if err != nil {
		return nil, fmt.Errorf("cannot start turn %s: %w", spec.ID, err)
	}
	t := newTurn(dir, conn, pid)
	select {
	case <-t.started:
		return t, nil
	case <-t.ended:
		return t, nil
	case <-ctx.Done():
		// The shim is our child and not waited for yet, so its pid is still its own.
		killErr := syscall.Kill(pid, syscall.SIGKILL)
		<-t.ended
		return nil, errors.Join(fmt.Errorf("cannot start turn %s: %w", spec.ID, ctx.Err()), killErr, t.Close(), Reap(context.WithoutCancel(ctx), dir))
	}
}

func launch(exe, dir string, spec Spec) (net.Conn, int, error) {
	l, err := lay(dir, spec)
	defer l.close()
	if err != nil {
		return nil, 0, err
	}
	pid, err := syscall.ForkExec(exe, []string{exe, ShimCommand, dir}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{}, // the shim needs none; what it could inherit are secrets
		Files: l.fds(),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, 0, fmt.Errorf("cannot run %s: %w", exe, err)
	}
	conn, err := net.FileConn(l.ours)
	if err != nil {
		return nil, pid, errors.Join(err, syscall.Kill(pid, syscall.SIGKILL), waitChild(pid))
	}
	return conn, pid, nil
}

// layout holds what is opened for a shim before it runs.
type layout struct {
	null, log, lock, listener, ours, theirs *os.File
}

// lay makes the turn's directory and everything in it that must be there before the shim. The lock comes first: it
// says whether the directory is free.
func lay(dir string, spec Spec) (l layout, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return l, fmt.Errorf("cannot make the turn's directory: %w", err)
	}
	l.lock, err = newLock(dir, spec.ID)
	if errors.Is(err, fs.ErrExist) {
		return l, substrat.Errorf(substrat.CodeConflict, "the directory holds a turn already: %s", dir)
	}
	if err != nil {
		return l, err
	}
	if err := writeSpec(dir, spec); err != nil {
		return l, err
	}
	if l.listener, err = listenCtl(dir); err != nil {
		return l, err
	}
	if l.ours, l.theirs, err = socketPair(); err != nil {
		return l, err
	}
	if l.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return l, err
	}
	l.log, err = os.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return l, err
}

func writeSpec(dir string, spec Spec) error {
	data, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("cannot encode the turn: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, specName), data, 0o600); err != nil {
		return fmt.Errorf("cannot write the turn: %w", err)
	}
	if len(spec.Stdin) == 0 {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, stdinName), spec.Stdin, 0o600); err != nil {
		return fmt.Errorf("cannot write the turn: %w", err)
	}
	return nil
}

// fds is in the order of the constants above.
func (l layout) fds() []uintptr {
	return []uintptr{l.null.Fd(), l.null.Fd(), l.log.Fd(), l.theirs.Fd(), l.lock.Fd(), l.listener.Fd()}
}

func (l layout) close() {
	for _, f := range []*os.File{l.null, l.log, l.lock, l.listener, l.ours, l.theirs} {
		if f != nil {
			f.Close()
		}
	}
}
