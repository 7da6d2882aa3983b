package turn

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// refillDelay keeps the start of the next spare out of the way of the turn that took the last one.
const refillDelay = 50 * time.Millisecond

// Launcher starts turns from spare shims that are running already, so that a turn does not wait for a large program to
// initialise. A spare is a sleeping process of a few megabytes; it ends by itself when the launcher's process dies. A
// launcher without spares at hand starts turns as [Start] does.
type Launcher struct {
	exe    string
	spares chan idleShim
	refill chan struct{} // holds at most one sign that a spare was taken
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// NewLauncher begins to keep n spares (at least one) of exe's shim.
func NewLauncher(exe string, n int) *Launcher {
	ctx, stop := context.WithCancel(context.Background())
	l := &Launcher{exe: exe, spares: make(chan idleShim, max(n, 1)), refill: make(chan struct{}, 1), stop: stop}
	l.worker.Go(func() { l.keep(ctx) })
	return l
}

// keep fills up to the number of spares, again whenever one was taken.
func (l *Launcher) keep(ctx context.Context) {
	for delay := time.Duration(0); pause(ctx, delay) == nil; delay = refillDelay {
		for len(l.spares) < cap(l.spares) {
			shim, err := spawn(l.exe, spareLabel)
			if err != nil {
				break // Start meets the same error and reports it
			}
			l.spares <- shim
		}
		select {
		case <-l.refill:
		case <-ctx.Done():
		}
	}
}

// Start is like the function Start.
func (l *Launcher) Start(ctx context.Context, dir string, spec Spec) (*Turn, error) {
	return start(ctx, dir, spec, func() (idleShim, error) { return l.take(dir) })
}

// take gives a spare that lives, or a new shim.
func (l *Launcher) take(dir string) (idleShim, error) {
	defer func() {
		select {
		case l.refill <- struct{}{}:
		default:
		}
	}()
	for {
		select {
		case shim := <-l.spares:
			if pid, err := unix.Wait4(shim.pid, nil, unix.WNOHANG, nil); pid == 0 && err == nil {
				return shim, nil
			}
			shim.conn.Close()
		default:
			return spawn(l.exe, dir)
		}
	}
}

// Close ends the spares. Turns live on. Start must not be called any more.
func (l *Launcher) Close() error {
	l.stop()
	l.worker.Wait()
	for {
		select {
		case shim := <-l.spares:
			if err := shim.discard(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}
