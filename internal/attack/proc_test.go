//go:build attack && linux

package attack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var fixedTime = time.Unix(1, 0)

func runTool(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return string(out), err
}

// processes are attempts on other processes.
func processes() []attempt {
	return []attempt{
		{id: "P01", threat: "T13", what: "see processes that are not the sandbox's", try: func(f *facts) outcome {
			list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, p := range list {
				data, _ := os.ReadFile(p)
				if bytes.Contains(data, []byte("daemon\x00run")) {
					return was(hole, "%s is the daemon", p)
				}
			}
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", f.Daemon)); err == nil {
				return was(hole, "/proc/%d is there", f.Daemon)
			}
			return was(refused, "%d processes, all of this turn", len(list))
		}},
		{id: "P02", threat: "T14", what: "find the daemon's environment in /proc/*/environ", try: func(*facts) outcome {
			list, _ := filepath.Glob("/proc/[0-9]*/environ")
			read := 0
			for _, p := range append(list, "/proc/self/environ") {
				data, err := os.ReadFile(p)
				if err == nil {
					read++
				}
				if bytes.Contains(data, []byte(envCanary)) {
					return was(hole, "%s has it", p)
				}
			}
			return was(refused, "%d environments, none has it", read)
		}},
		{id: "P03", threat: "T14", what: "find prompts and paths of the host in /proc/*/cmdline", try: func(f *facts) outcome {
			list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, p := range list {
				data, _ := os.ReadFile(p)
				if bytes.Contains(data, []byte("SCRIPT")) || bytes.Contains(data, []byte(f.Home)) {
					return was(hole, "%s: %.120q", p, data)
				}
			}
			return was(refused, "%d command lines", len(list))
		}},
		{id: "P04", threat: "T13", what: "signal, trace and read the memory of the daemon by its number", try: func(f *facts) outcome {
			buf := make([]byte, 8)
			local := []unix.Iovec{{Base: &buf[0], Len: 8}}
			remote := []unix.RemoteIovec{{Base: 0x400000, Len: 8}}
			_, read := unix.ProcessVMReadv(f.Daemon, local, remote, 0)
			_, pidfd := unix.PidfdOpen(f.Daemon, 0)
			errs := map[string]error{"kill": unix.Kill(f.Daemon, 0), "ptrace": onThread(func() error { return unix.PtraceAttach(f.Daemon) }), "process_vm_readv": read, "pidfd_open": pidfd}
			return allFail(errs)
		}},
		{id: "P05", threat: "T13", what: "ptrace process 1, the guard of the sandbox", try: func(*facts) outcome {
			err := onThread(func() error { return unix.PtraceAttach(1) })
			if err == nil {
				return was(hole, "attached")
			}
			return was(refused, "%v", err)
		}},
		{id: "P06", threat: "T13", what: "ptrace a sibling, the agent's own CLI", try: func(*facts) outcome {
			pid := os.Getppid()
			err := onThread(func() error {
				if err := unix.PtraceAttach(pid); err != nil {
					return err
				}
				var ws unix.WaitStatus
				_, _ = unix.Wait4(pid, &ws, 0, nil)
				return unix.PtraceDetach(pid)
			})
			if err == nil {
				return was(contained, "attached to its own parent, of the same sandbox")
			}
			return was(refused, "%v", err)
		}},
		{id: "P07", threat: "T13", what: "gain privileges: capabilities, no_new_privs, a filter", try: func(f *facts) outcome {
			data, _ := os.ReadFile("/proc/self/status")
			got := map[string]string{}
			for line := range strings.Lines(string(data)) {
				k, v, _ := strings.Cut(line, ":")
				got[k] = strings.TrimSpace(v)
			}
			for _, k := range []string{"CapEff", "CapPrm", "CapBnd", "CapAmb", "CapInh"} {
				if strings.Trim(got[k], "0") != "" {
					return was(hole, "%s is %s", k, got[k])
				}
			}
			if got["NoNewPrivs"] != "1" {
				return was(hole, "NoNewPrivs is %s", got["NoNewPrivs"])
			}
			if got["Seccomp"] != "2" {
				return was(hole, "there is no seccomp filter (Seccomp: %s)", got["Seccomp"])
			}
			return was(refused, "no capability, no new privileges, a filter")
		}},
		{id: "P08", threat: "T13", what: "run the system's setuid programs", try: func(*facts) outcome {
			for _, p := range []string{"/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/chsh"} {
				if st, err := os.Stat(p); err != nil || st.Mode()&os.ModeSetuid == 0 {
					continue
				}
				cmd := exec.Command("/bin/sh", "-c", p+" --help >/dev/null 2>&1 & sleep 0.05; grep -h '^CapEff' /proc/$!/status; true")
				out, _ := cmd.CombinedOutput()
				if s := string(out); strings.Contains(s, "CapEff") && !strings.Contains(s, "0000000000000000") {
					return was(hole, "%s runs with %s", p, s)
				}
			}
			if err := unix.Setresuid(12345, 12345, 12345); err == nil {
				return was(hole, "setresuid worked")
			}
			return was(refused, "setuid has no effect, setresuid is not permitted")
		}},
		{id: "P09", threat: "T16", what: "raise its own limits and priority", try: func(*facts) outcome {
			var lim unix.Rlimit
			_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &lim)
			errs := map[string]error{
				"nice":     unix.Setpriority(unix.PRIO_PROCESS, 0, -10),
				"rlimit":   unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: lim.Max + 1, Max: lim.Max + 1}),
				"realtime": rawErr(unix.SYS_SCHED_SETSCHEDULER, 0, 1, ptr(&[1]int32{50})),
			}
			return allFail(errs)
		}},
		{id: "P10", threat: "T13", what: "read System V shared memory of the host", try: func(f *facts) outcome {
			id, err := unix.SysvShmGet(f.ShmKey, 0, 0)
			if err != nil {
				return was(refused, "%v", err)
			}
			mem, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
			if err == nil && bytes.Contains(mem, []byte(f.Canary)) {
				return was(hole, "the segment was read")
			}
			return was(hole, "the segment was found")
		}},
		{id: "P11", threat: "T14", what: "read the user's kernel keyring", try: func(f *facts) outcome {
			for _, ring := range []int{unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING, unix.KEY_SPEC_SESSION_KEYRING} {
				if _, err := unix.KeyctlSearch(ring, "user", f.KeyName, 0); err == nil {
					return was(hole, "the key was found")
				} else if !isErrno(err, unix.ENOKEY) {
					return was(refused, "%v", err)
				}
			}
			data, _ := os.ReadFile("/proc/keys")
			for line := range strings.Lines(string(data)) {
				if !strings.Contains(line, f.KeyName) {
					continue
				}
				id, _ := strconv.ParseInt(strings.Fields(line)[0], 16, 64)
				buf := make([]byte, 256)
				if n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, int(id), buf, 0); err == nil {
					return was(hole, "the key was read: %q", buf[:n])
				}
				return was(contained, "/proc/keys names it, and it cannot be read")
			}
			return was(refused, "its keyrings are its own")
		}},
	}
}

// allFail is refused if every call failed.
func allFail(errs map[string]error) outcome {
	var texts []string
	for how, err := range errs {
		if err == nil {
			return was(hole, "%s worked", how)
		}
		texts = append(texts, how+": "+err.Error())
	}
	return was(refused, "%s", texts[0])
}

// onThread does what belongs to one thread, which is not used again.
func onThread(do func() error) error {
	out := make(chan error)
	go func() {
		runtime.LockOSThread()
		out <- do()
	}()
	return <-out
}

// rawErr makes a system call; nil if it worked.
func rawErr(nr uintptr, args ...uintptr) error {
	_, err := raw(nr, args...)
	return err
}

func raw(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return r, errno
	}
	return r, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
