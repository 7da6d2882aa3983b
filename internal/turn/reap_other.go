//go:build !linux

package turn

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// reap kills the group of the recorded process. Without /proc the marker cannot be read.
func reap(ctx context.Context, _ string, recorded []process) error {
	for _, p := range recorded {
		for p.Start != 0 && identify(p.PID).Start == p.Start {
			_ = unix.Kill(-p.PID, unix.SIGKILL)
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}
