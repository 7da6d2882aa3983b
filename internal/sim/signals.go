package sim

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// errSignal is why a run was called off.
type errSignal struct{ sig os.Signal }

func (e errSignal) Error() string { return "called off by " + e.sig.String() }

// callerGrace is how long a cancelled caller's context waits for the signal that may be its cause: with
// signal.NotifyContext the context can be done a moment before our own channel has the signal.
const callerGrace = 50 * time.Millisecond

// withSignals gives a context that ends on SIGINT and SIGTERM and remembers which. The stop function waits for the
// goroutine behind it.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case sig := <-ch:
			cancel(errSignal{sig})
		case <-parent.Done():
			cancel(errSignal{laterSignal(ch)})
		case <-done:
		}
	})
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		watcher.Wait()
		cancel(nil)
	}
}

func laterSignal(ch <-chan os.Signal) os.Signal {
	timer := time.NewTimer(callerGrace)
	defer timer.Stop()
	select {
	case sig := <-ch:
		return sig
	case <-timer.C:
		return syscall.SIGTERM
	}
}

// signalled gives the exit code of a run that a signal ended.
func signalled(ctx context.Context) (int, bool) {
	cause, ok := errors.AsType[errSignal](context.Cause(ctx))
	switch {
	case !ok:
		return 0, false
	case cause.sig == os.Interrupt:
		return exitINT, true
	default:
		return exitTERM, true
	}
}

// ignoreSignals makes the process deaf to the polite signals, its children too.
func ignoreSignals() { signal.Ignore(syscall.SIGINT, syscall.SIGTERM) }
