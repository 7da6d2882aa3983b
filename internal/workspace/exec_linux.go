package workspace

import (
	"os/exec"
	"syscall"
)

// dieWithParent sees that no call outlives the daemon: a checkout that goes on alone would write over the agent that a
// new daemon has started meanwhile.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
