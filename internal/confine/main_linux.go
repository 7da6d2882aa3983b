package confine

import (
	"fmt"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// The step stays on the thread that it began on: capabilities belong to a thread, and so does the signal that ends it
// with its parent. The other threads of this process end at exec.
func init() {
	if len(os.Args) > 1 && os.Args[1] == Command {
		runtime.LockOSThread()
	}
}

// Main takes the arguments after [Command]. It does not return where the agent starts; otherwise it has printed one
// line to stderr and gives one of the exit codes above.
func Main(args []string) int {
	runtime.LockOSThread()
	p, argv, err := parse(args)
	if err == nil {
		err = lower(p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "substrat:", err)
		return ExitRefused
	}
	code, err := execute(argv, os.Environ())
	fmt.Fprintln(os.Stderr, "substrat:", err)
	return code
}

// lower checks and takes away. The order counts: mounts are read while all may be read; no_new_privs is what lets a
// process without rights use Landlock and seccomp; seccomp refuses calls, so it is last.
func lower(p Plan) error {
	for _, step := range []struct {
		what string
		do   func(Plan) error
	}{
		{"check the mounts", verifyMounts},
		{"give up new privileges", noNewPrivs},
		{"drop capabilities", dropCapabilities},
		{"set limits", setLimits},
		{"restrict itself with Landlock", restrict},
		{"filter system calls", filterCalls},
		{"close descriptors", closeOnExec},
	} {
		if err := step.do(p); err != nil {
			return fmt.Errorf("the sandbox cannot %s, so the agent was not started: %w", step.what, err)
		}
	}
	return nil
}

func noNewPrivs(Plan) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// closeOnExec leaves stdin, stdout and stderr. The descriptors are marked, not closed: the Go runtime still uses some.
func closeOnExec(Plan) error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Before Linux 5.11. There is no Landlock then that could hide /proc.
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
