package turn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"substrat.dev/substrat"
)

// attachTime bounds how long Attach tries to reach a shim that holds its lock.
const attachTime = 2 * time.Second

// Attach finds a turn again: live, ended (Wait gives its record) or lost (Wait gives ShimLost; call Reap). The lock alone
// decides. Errors: not_found without a directory, unavailable where a shim lives and cannot be reached.
func Attach(ctx context.Context, dir string) (*Turn, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot attach to the turn: there is no directory %s", dir)
	}
	sweepChildren()
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	for {
		held, err := lockHeld(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		// The record is there before the lock is free, so it is read after the lock was asked.
		if exit, ok := readExit(dir); ok {
			return endedTurn(dir, exit), nil
		}
		if !held {
			return endedTurn(dir, lostExit(dir)), nil
		}
		conn, err := dialCtl(ctx, dir)
		if err == nil {
			return newTurn(dir, conn, 0), nil
		}
		// The socket listens before the shim runs; a refusal means that the shim is about to end. Look again.
		if err := pause(ctx, time.Millisecond); err != nil {
			return nil, substrat.Errorf(substrat.CodeUnavailable, "cannot attach to the turn in %s: its shim lives and does not answer", dir)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("gave up: %w", ctx.Err())
	}
}
