package agentcli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// killMarked kills every process that has the mark in its environment, and says whether there was one. This finds those
// that began a session of their own; one that also cleared its environment gets away, which only a sandbox prevents.
func killMarked(mark string) (found bool) {
	entries, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return false
	}
	for _, path := range entries {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), append([]byte("\x00"+mark), 0)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && pid != os.Getpid() && syscall.Kill(pid, syscall.SIGKILL) == nil {
			found = true
		}
	}
	return found
}

func signalName(s syscall.Signal) string { return unix.SignalName(s) }
