package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// mono reads the clock that all processes of the machine share, in nanoseconds.
func mono() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}

// stamps reads an agent's answer.
func stamps(text string) (began, ended int64, err error) {
	_, err = fmt.Sscanf(text[max(0, strings.Index(text, "T0=")):], "T0=%d T1=%d", &began, &ended)
	return began, ended, err
}

// buildAgent builds the agent that is run: a static program, so that a sandbox needs nothing for it.
func buildAgent(path string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "substrat.dev/substrat/internal/bench/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the agent: %w\n%s", err, out)
	}
	return nil
}
