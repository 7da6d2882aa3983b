//go:build attack && linux

package attack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// one is a call that must fail.
func call(name string, nr uintptr, args ...uintptr) func(*facts) outcome {
	return func(*facts) outcome {
		r, err := raw(nr, args...)
		if err != nil {
			return was(refused, "%s: %v", name, err)
		}
		return was(hole, "%s gave %d", name, r)
	}
}

// kernel are attempts on parts of the kernel that an agent has no use for.
func kernel() []attempt {
	var ring [120]byte
	var mapAttr = [18]uint32{2, 4, 8, 1} // BPF_MAP_TYPE_ARRAY, key 4, value 8, one entry
	perf := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK, Bits: unix.PerfBitExcludeKernel}
	perfKernel := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK}
	empty := [1]byte{}
	return []attempt{
		{id: "K01", threat: "io_uring", what: "io_uring_setup, whose work no filter sees", try: call("io_uring_setup", unix.SYS_IO_URING_SETUP, 4, ptr(&ring))},
		{id: "K02", threat: "T13", what: "bpf: make a map", try: call("bpf", unix.SYS_BPF, 0, ptr(&mapAttr), 72)},
		{id: "K03", threat: "T13", what: "perf_event_open on the kernel", try: call("perf_event_open", unix.SYS_PERF_EVENT_OPEN, ptr(&perfKernel), ^uintptr(0), 0, ^uintptr(0), 0)},
		{id: "K04", threat: "T13", what: "perf_event_open on itself", try: call("perf_event_open", unix.SYS_PERF_EVENT_OPEN, ptr(&perf), 0, ^uintptr(0), ^uintptr(0), 0)},
		{id: "K05", threat: "T13", what: "userfaultfd, for races in the kernel", try: call("userfaultfd", unix.SYS_USERFAULTFD, unix.O_CLOEXEC)},
		{id: "K06", threat: "T13", what: "load a module (init_module, finit_module, delete_module)", try: func(*facts) outcome {
			file, _ := os.Open("/proc/self/exe")
			return allFail(map[string]error{"init_module": unix.InitModule([]byte("x"), ""), "finit_module": unix.FinitModule(int(file.Fd()), "", 0), "delete_module": unix.DeleteModule("attack", 0)})
		}},
		{id: "K07", threat: "T13", what: "kexec_load, reboot, swapon, acct", try: func(*facts) outcome {
			return allFail(map[string]error{
				"kexec_load": rawErr(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0), "reboot": rawErr(unix.SYS_REBOOT, 0xfee1dead, 672274793, 0, 0),
				"swapon": rawErr(unix.SYS_SWAPON, ptr(&[]byte("/none\x00")[0]), 0), "acct": rawErr(unix.SYS_ACCT, ptr(&[]byte("/tmp/none\x00")[0])),
			})
		}},
		{id: "K08", threat: "T13", what: "set the clock and the host's name", try: func(*facts) outcome {
			now := unix.NsecToTimespec(time.Now().UnixNano())
			return allFail(map[string]error{
				"clock_settime": unix.ClockSettime(unix.CLOCK_REALTIME, &now), "adjtimex": rawErr(unix.SYS_ADJTIMEX, ptr(&unix.Timex{Modes: 1})),
				"sethostname": unix.Sethostname([]byte("attack")), "setdomainname": unix.Setdomainname([]byte("attack")),
			})
		}},
		{id: "K09", threat: "T13", what: "iopl, ioperm, modify_ldt, vm86", try: func(*facts) outcome {
			if runtime.GOARCH != "amd64" {
				return was(untried, "only on amd64")
			}
			return allFail(map[string]error{"iopl": rawErr(172, 3), "ioperm": rawErr(173, 0x70, 1, 1)})
		}},
		{id: "K10", threat: "T14", what: "add_key and keyctl: reach or fill kernel keyrings", try: func(*facts) outcome {
			if _, err := unix.AddKey("user", "attack-inside", []byte("x"), unix.KEY_SPEC_USER_KEYRING); err != nil {
				return was(refused, "%v", err)
			}
			return was(contained, "a key in a keyring of its own user namespace")
		}},
		{id: "K11", threat: "T13", what: "move pages, set memory policy, look into others (kcmp, process_vm_writev)", try: func(f *facts) outcome {
			return allFail(map[string]error{
				"move_pages of the daemon": rawErr(unix.SYS_MOVE_PAGES, uintptr(f.Daemon), 0, 0, 0, 0, 0), "kcmp with the daemon": rawErr(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(f.Daemon), 0, 0, 0),
				"migrate_pages of 1": rawErr(unix.SYS_MIGRATE_PAGES, 1, 1, 0, 0), "process_vm_writev of 1": rawErr(unix.SYS_PROCESS_VM_WRITEV, 1, ptr(&empty), 0, ptr(&empty), 0, 1),
			})
		}},
		{id: "K12", threat: "T13", what: "fanotify and quotactl: watch or change whole file systems", try: func(*facts) outcome {
			fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT, unix.O_RDONLY)
			if err == nil {
				_ = unix.Close(fd)
				return was(hole, "fanotify with permission events")
			}
			return allFail(map[string]error{"fanotify": err, "quotactl": rawErr(unix.SYS_QUOTACTL, 0x800002<<8, ptr(&[]byte("/dev/none\x00")[0]), 0, 0)})
		}},
		{id: "K13", threat: "seccomp", what: "pass the filter by the i386 interface (int 0x80)", try: byInt80},
		{id: "K14", threat: "seccomp", what: "pass the filter by the x32 interface", try: func(*facts) outcome {
			if runtime.GOARCH != "amd64" {
				return was(untried, "only on amd64")
			}
			const x32 = 0x40000000
			return allFail(map[string]error{"io_uring_setup": rawErr(x32|425, 4, ptr(&ring)), "getpid": rawErr(x32 | 39)})
		}},
		{id: "K15", threat: "T13", what: "take a seccomp notifier or drop the filter (prctl, seccomp)", try: func(*facts) outcome {
			if err := unix.Prctl(unix.PR_SET_SECCOMP, 0, 0, 0, 0); err == nil {
				return was(hole, "the filter was dropped")
			}
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil {
				return was(hole, "no_new_privs was taken back")
			}
			return was(refused, "both stay")
		}},
		{id: "K16", threat: "T19", what: "stay after the turn: daemon with setsid, double fork, ignored signals", play: stays},
	}
}

// byInt80 runs a program of a few bytes that calls the kernel as 32-bit programs do. Its exit code is the error.
func byInt80(*facts) outcome {
	if runtime.GOARCH != "amd64" {
		return was(untried, "only on amd64")
	}
	for name, call := range map[string][]byte{
		"io_uring_setup":  {0xb8, 0xa9, 0x01, 0, 0, 0xbb, 1, 0, 0, 0}, // 425 with one entry and null parameters: EFAULT if it is reached
		"ptrace(TRACEME)": {0xb8, 26, 0, 0, 0, 0x31, 0xdb, 0x90, 0x90, 0x90},
		"add_key":         {0xb8, 0x1e, 0x01, 0, 0, 0x31, 0xdb, 0x90, 0x90, 0x90}, // 286 with a null type: EFAULT if it is reached
	} {
		if err := os.WriteFile("/tmp/int80", tinyELF(call), 0o755); err != nil {
			return was(untried, "%v", err)
		}
		err := exec.Command("/tmp/int80").Run()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return was(hole, "%s worked", name)
		case errors.As(err, &exit) && exit.ExitCode() == int(unix.EFAULT):
			return was(hole, "%s reached the kernel: EFAULT", name)
		case !errors.As(err, &exit):
			return was(untried, "%v", err)
		}
	}
	return was(refused, "every call failed, or ended the program")
}

// tinyELF is a 64-bit program: the call given, int 0x80, and exit with its error.
func tinyELF(set []byte) []byte {
	code := append(set, 0x31, 0xc9, 0x31, 0xd2, 0xcd, 0x80, // ecx, edx 0; int 0x80
		0xf7, 0xd8, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05) // neg eax; edi = eax; exit by syscall
	const base, head = 0x400000, 120
	put := func(b []byte, at int, v uint64, n int) {
		for i := range n {
			b[at+i] = byte(v >> (8 * i))
		}
	}
	b := make([]byte, head)
	copy(b, "\x7fELF\x02\x01\x01")
	put(b, 16, 2, 2)
	put(b, 18, 62, 2)
	put(b, 20, 1, 4)
	put(b, 24, base+head, 8)
	put(b, 32, 64, 8)
	put(b, 52, 64, 2)
	put(b, 54, 56, 2)
	put(b, 56, 1, 2)
	put(b, 64, 1, 4) // PT_LOAD
	put(b, 68, 5, 4)
	put(b, 80, base, 8)
	put(b, 88, base, 8)
	put(b, 96, uint64(head+len(code)), 8)
	put(b, 104, uint64(head+len(code)), 8)
	put(b, 112, 0x1000, 8)
	return append(b, code...)
}

// stays looks whether anything of a turn outlives it.
func stays(w *world) outcome {
	mark := fmt.Sprintf("%d.%d", 86400, os.Getpid())
	w.turn("lead/attacker", step{"shell": "trap '' TERM HUP INT; for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM; setsid sleep " + mark + " >/dev/null 2>&1 </dev/null & sleep " + mark + "' >/dev/null 2>&1 &) ; done; true", "timeout_ms": 5000})
	if !soon(func() bool { return len(hostProcesses(mark)) == 0 }) {
		return was(hole, "%d processes live on", len(hostProcesses(mark)))
	}
	return was(refused, "nothing of the turn is left")
}
