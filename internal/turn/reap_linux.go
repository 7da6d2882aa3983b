package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// reap kills until it finds nobody.
func reap(ctx context.Context, id string, recorded []process) error {
	for {
		table, err := processTable()
		if err != nil {
			return err
		}
		victims := victims(table, id, recorded)
		if len(victims) == 0 {
			return nil
		}
		for _, p := range victims {
			if err := killProcess(ctx, p); err != nil {
				return err
			}
		}
	}
}

// victims are the processes of the turn that live. This process and those above it never are: a daemon may itself have
// been started by somebody's turn.
func victims(table []procStat, id string, recorded []process) []process {
	spare := ancestry(table, os.Getpid())
	var roots []int
	var out []process
	for _, p := range table {
		if p.state != 'Z' && !slices.Contains(spare, p.PID) && (slices.Contains(recorded, p.process) || marked(p.process, id)) {
			roots = append(roots, p.PID)
			out = append(out, p.process)
		}
	}
	for _, p := range descendants(table, roots...) {
		if p.state != 'Z' && !slices.Contains(spare, p.PID) && !slices.Contains(out, p.process) {
			out = append(out, p.process)
		}
	}
	return out
}

func ancestry(table []procStat, pid int) []int {
	parents := map[int]int{}
	for _, p := range table {
		parents[p.PID] = p.parent
	}
	var out []int
	for ; pid > 0 && !slices.Contains(out, pid); pid = parents[pid] {
		out = append(out, pid)
	}
	return out
}

// marked says whether p's environment holds the marker with exactly this id, and p is still the process it was.
func marked(p process, id string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
	if err != nil {
		return false // gone, or another user's
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == Marker+"="+id {
			return identify(p.PID).Start == p.Start
		}
	}
	return false
}

// killProcess kills exactly p and waits until it is gone, so that the next look at the table is true.
func killProcess(ctx context.Context, p process) error {
	fd, err := openProcess(p)
	switch {
	case errors.Is(err, unix.ENOSYS):
		signalProcess(p, unix.SIGKILL)
		return pause(ctx, time.Millisecond)
	case errors.Is(err, unix.ESRCH):
		return nil
	case err != nil:
		return fmt.Errorf("cannot kill process %d: %w", p.PID, err)
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("cannot kill process %d: %w", p.PID, err)
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		switch {
		case n > 0:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("process %d does not die: %w", p.PID, ctx.Err())
		case err != nil && err != unix.EINTR:
			return fmt.Errorf("cannot wait for process %d: %w", p.PID, err)
		}
	}
}
