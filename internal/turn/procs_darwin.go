package turn

import "golang.org/x/sys/unix"

// identify gives a process with its start time in microseconds; zero Start where it is gone.
func identify(pid int) process {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return process{PID: pid}
	}
	start := info.Proc.P_starttime
	return process{PID: pid, Start: uint64(start.Sec)*1e6 + uint64(start.Usec)}
}

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
