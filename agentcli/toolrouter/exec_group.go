package toolrouter

import (
	"os/exec"
	"syscall"
)

// group makes a command the head of a process group, which ends with it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		killGroup(cmd)
		return nil
	}
}

// killGroup ends what is left of a command's group. Until Wait has returned the group's number cannot be another's, and
// after it only while some of the group live.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
