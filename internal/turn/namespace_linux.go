package turn

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// PIDNamespace gives the pid namespace of the sandbox that runs in a turn's directory, as the inode of /proc/PID/ns/pid.
// It is not known before the sandbox is there, and no longer once its first process is gone: the kernel uses inodes again.
func PIDNamespace(dir string) (inode uint64, known bool) {
	var st status
	if readJSON(dir, statusName, &st) != nil || !st.Sandboxed || st.Init.PID <= 0 || st.Init.Start == 0 || st.Boot != bootID() {
		return 0, false
	}
	inode = st.PidNamespace
	if inode == 0 { // a bubblewrap that does not report it
		var own, its unix.Stat_t
		if unix.Stat("/proc/self/ns/pid", &own) != nil || unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", st.Init.PID), &its) != nil || own.Ino == its.Ino {
			return 0, false
		}
		inode = its.Ino
	}
	return inode, identify(st.Init.PID) == st.Init
}

// PIDNamespaceOf gives the pid namespace of a process that is in another one than this.
func PIDNamespaceOf(pid int) (inode uint64, known bool) {
	var own, its unix.Stat_t
	if pid <= 0 || unix.Stat("/proc/self/ns/pid", &own) != nil || unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", pid), &its) != nil {
		return 0, false
	}
	return its.Ino, own.Ino != its.Ino
}
