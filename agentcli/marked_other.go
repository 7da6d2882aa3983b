//go:build !linux

package agentcli

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// killMarked finds nobody: only Linux shows the environment of processes. What has left the group of its run gets away.
func killMarked(string) bool { return false }

func signalName(s syscall.Signal) string { return unix.SignalName(s) }
