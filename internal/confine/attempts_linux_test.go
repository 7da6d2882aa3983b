//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var mapsKeys = maps.Keys[map[string]func(string) error]

func errnoName(e syscall.Errno) string {
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return strconv.Itoa(int(e))
}

// attempt is a call that the filter should refuse with want.
type attempt struct {
	name, want string
	do         func() error
}

func call(number uintptr, args ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		return errno
	}
}

func socket(domain, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
}

// none is a pointer, a descriptor or a process that does not exist.
const none = ^uintptr(0)

// attempts are calls whose arguments would do no harm if they were allowed: most would give another error then.
func attempts() []attempt {
	pid := uintptr(os.Getpid())
	path := uintptr(unsafe.Pointer(unsafe.StringData("/tmp\x00")))
	var word uint64
	at := uintptr(unsafe.Pointer(&word))
	out := []attempt{
		{"mount", "EPERM", call(unix.SYS_MOUNT, 0, 0, 0, 0, 0)},
		{"mount bind", "EPERM", call(unix.SYS_MOUNT, path, path, 0, unix.MS_BIND, 0)},
		{"umount2", "EPERM", call(unix.SYS_UMOUNT2, 0, 0)},
		{"pivot_root", "EPERM", call(unix.SYS_PIVOT_ROOT, 0, 0)},
		{"chroot", "EPERM", call(unix.SYS_CHROOT, 0)},
		{"move_mount", "EPERM", call(unix.SYS_MOVE_MOUNT, none, 0, none, 0, 0)},
		{"open_tree", "EPERM", call(unix.SYS_OPEN_TREE, none, path, 0)},
		{"open_tree_attr", "EPERM", call(unix.SYS_OPEN_TREE_ATTR, none, path, 0, 0, 0)},
		{"fsopen", "EPERM", call(unix.SYS_FSOPEN, 0, 0)},
		{"fsconfig", "EPERM", call(unix.SYS_FSCONFIG, none, 0, 0, 0, 0)},
		{"fsmount", "EPERM", call(unix.SYS_FSMOUNT, none, 0, 0)},
		{"fspick", "EPERM", call(unix.SYS_FSPICK, none, path, 0)},
		{"mount_setattr", "EPERM", call(unix.SYS_MOUNT_SETATTR, none, path, 0, 0, 0)},
		{"setns", "EPERM", call(unix.SYS_SETNS, none, 0)},
		{"clone3", "ENOSYS", call(unix.SYS_CLONE3, 0, 0)},
		{"ptrace attach", "EPERM", call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1<<22-1, 0, 0)},
		{"process_vm_readv", "EPERM", call(unix.SYS_PROCESS_VM_READV, pid, 0, 0, 0, 0, 0)},
		{"process_vm_writev", "EPERM", call(unix.SYS_PROCESS_VM_WRITEV, pid, 0, 0, 0, 0, 0)},
		{"pidfd_getfd", "EPERM", call(unix.SYS_PIDFD_GETFD, none, 0, 0)},
		{"kcmp", "EPERM", call(unix.SYS_KCMP, pid, pid, 0, 0, 0)},
		{"bpf", "EPERM", call(unix.SYS_BPF, 0, 0, 0)},
		{"perf_event_open", "EPERM", call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, none, 0)},
		{"userfaultfd", "EPERM", call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1)},
		{"io_uring_setup", "ENOSYS", call(unix.SYS_IO_URING_SETUP, 1, 0)},
		{"io_uring_enter", "ENOSYS", call(unix.SYS_IO_URING_ENTER, none, 0, 0, 0, 0)},
		{"io_uring_register", "ENOSYS", call(unix.SYS_IO_URING_REGISTER, none, 0, 0, 0)},
		{"keyctl", "EPERM", call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0)},
		{"add_key", "EPERM", call(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0)},
		{"request_key", "EPERM", call(unix.SYS_REQUEST_KEY, 0, 0, 0, 0)},
		{"kexec_load", "EPERM", call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff0000)},
		{"kexec_file_load", "EPERM", call(unix.SYS_KEXEC_FILE_LOAD, none, none, 0, 0, none)},
		{"init_module", "EPERM", call(unix.SYS_INIT_MODULE, 0, 0, 0)},
		{"finit_module", "EPERM", call(unix.SYS_FINIT_MODULE, none, 0, 0)},
		{"delete_module", "EPERM", call(unix.SYS_DELETE_MODULE, 0, 0)},
		{"open_by_handle_at", "EPERM", call(unix.SYS_OPEN_BY_HANDLE_AT, none, 0, 0)},
		{"fanotify_init", "EPERM", call(unix.SYS_FANOTIFY_INIT, unix.FAN_REPORT_FID, 0)},
		{"quotactl", "EPERM", call(unix.SYS_QUOTACTL, 0, 0, 0, 0)},
		{"quotactl_fd", "EPERM", call(unix.SYS_QUOTACTL_FD, none, 0, 0, 0)},
		{"swapon", "EPERM", call(unix.SYS_SWAPON, 0, 0)},
		{"swapoff", "EPERM", call(unix.SYS_SWAPOFF, 0)},
		{"reboot", "EPERM", call(unix.SYS_REBOOT, 0, 0, 0, 0)},
		{"settimeofday", "EPERM", call(unix.SYS_SETTIMEOFDAY, 0, 0)},
		{"clock_settime", "EPERM", call(unix.SYS_CLOCK_SETTIME, none, 0)},
		{"adjtimex", "EPERM", call(unix.SYS_ADJTIMEX, 0)},
		{"clock_adjtime", "EPERM", call(unix.SYS_CLOCK_ADJTIME, 0, 0)},
		{"acct", "EPERM", call(unix.SYS_ACCT, 1)},
		{"syslog", "EPERM", call(unix.SYS_SYSLOG, 10, 0, 0)},
		{"vhangup", "EPERM", call(unix.SYS_VHANGUP)},
		{"lookup_dcookie", "EPERM", call(unix.SYS_LOOKUP_DCOOKIE, 0, 0, 0)},
		{"nfsservctl", "EPERM", call(unix.SYS_NFSSERVCTL, 0, 0, 0)},
		{"personality", "EPERM", call(unix.SYS_PERSONALITY, 0x0400000)},
		{"ioctl TIOCSTI", "EPERM", call(unix.SYS_IOCTL, 0, unix.TIOCSTI, at)},
		{"ioctl TIOCSTI, high bits", "EPERM", call(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, at)},
		{"ioctl TIOCLINUX", "EPERM", call(unix.SYS_IOCTL, 0, 1<<40|unix.TIOCLINUX, at)},
		{"socket vsock", "EAFNOSUPPORT", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"socket packet", "EAFNOSUPPORT", socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		{"socket alg", "EAFNOSUPPORT", socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{"socket can", "EAFNOSUPPORT", socket(unix.AF_CAN, unix.SOCK_RAW, 0)},
		{"socket bluetooth", "EAFNOSUPPORT", socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 0)},
		{"socket raw", "EPERM", socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)},
		{"socket raw6", "EPERM", socket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6)},
		{"socket sctp", "EPROTONOSUPPORT", socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)},
		{"socket netlink audit", "EPROTONOSUPPORT", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)},
		{"socket netlink netfilter", "EPROTONOSUPPORT", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)},
		{"socketpair tipc", "EAFNOSUPPORT", call(unix.SYS_SOCKETPAIR, unix.AF_TIPC, unix.SOCK_STREAM, 0, at)},
	}
	for name, flag := range map[string]uintptr{"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID,
		"net": unix.CLONE_NEWNET, "ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP} {
		out = append(out, attempt{"clone " + name, "EPERM", func() error { return cloned(flag) }})
		if flag != unix.CLONE_NEWUSER { // which a process of many threads may not ask for anyway
			out = append(out, attempt{"unshare " + name, "EPERM", call(unix.SYS_UNSHARE, flag)})
		}
	}
	return append(append(out, attempt{"unshare time", "EPERM", call(unix.SYS_UNSHARE, unix.CLONE_NEWTIME)}), attemptsHere()...)
}

// cloned starts a program in a new namespace.
func cloned(flag uintptr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flag}
	return cmd.Run()
}

// verbs are attempts with an argument: verb=argument.
var verbs = map[string]func(string) error{
	"write": func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	},
	"create": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
	"comm": func(string) error {
		if err := os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0); err != nil {
			return err
		}
		return os.WriteFile("/proc/self/comm", []byte("other"), 0)
	},
	"read": func(path string) error { _, err := os.ReadFile(path); return err },
	"exec": func(path string) error { return exec.Command(path).Run() },
	"rename": func(pair string) error {
		from, to, _ := strings.Cut(pair, ":")
		if err := os.WriteFile(from, nil, 0o600); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
		return os.Truncate(to, 5)
	},
	"kill": func(pid string) error {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		return unix.Kill(n, 0)
	},
	"sharing": func(string) error {
		for _, n := range sharing {
			if err := call(uintptr(n), none, 0, 0, 0, 0, 0)(); !errors.Is(err, unix.EPERM) {
				return fmt.Errorf("call %d: %w", n, err)
			}
		}
		return errors.New("refused")
	},
	"limit": func(pid string) error {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		return unix.Prlimit(n, unix.RLIMIT_CPU, nil, &unix.Rlimit{})
	},
	"killchild": func(string) error {
		cmd := exec.Command("sleep", "100")
		if err := cmd.Start(); err != nil {
			return err
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		_ = cmd.Wait()
		return nil
	},
	"abstract": func(name string) error {
		l, err := net.Listen("unix", "@"+name)
		if err != nil {
			return err
		}
		defer l.Close()
		return dial("unix", "@"+name)
	},
	"unix":   func(path string) error { return dial("unix", path) },
	"tcp":    func(to string) error { return dial("tcp", to) },
	"udp":    func(to string) error { return dial("udp", to) },
	"listen": func(at string) error { l, err := net.Listen("tcp", at); return closed(l, err) },
	"mptcp":  func(string) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)() },
	"fastopen": func(to string) error {
		_, port, err := net.SplitHostPort(to)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}})
	},
	"call": func(name string) error {
		for _, a := range attempts() {
			if a.name == name {
				return a.do()
			}
		}
		return errors.New("no such call")
	},
	"personality": func(v string) error {
		n, err := strconv.ParseUint(v, 0, 32)
		if err != nil {
			return err
		}
		return call(unix.SYS_PERSONALITY, uintptr(n))()
	},
	"securebits": func(string) error {
		n, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
		if err != nil {
			return err
		}
		return fmt.Errorf("%#x", n)
	},
	// state gives what the kernel says of this process.
	"state": func(string) error {
		data, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		var words []string
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, ":")
			switch name {
			case "CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd", "NoNewPrivs", "Seccomp":
				words = append(words, name+"="+strings.TrimLeft(strings.TrimSpace(value), "0"))
			}
		}
		return errors.New(strings.Join(words, " "))
	},
	"limits": func(string) error {
		var out []string
		for _, r := range []int{unix.RLIMIT_CORE, unix.RLIMIT_NOFILE, unix.RLIMIT_NPROC, unix.RLIMIT_FSIZE, unix.RLIMIT_CPU, unix.RLIMIT_DATA} {
			var l unix.Rlimit
			if err := unix.Getrlimit(r, &l); err != nil {
				return err
			}
			out = append(out, fmt.Sprintf("%d", l.Max))
		}
		return errors.New(strings.Join(out, " "))
	},
	"descriptors": func(string) error {
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			return err
		}
		var out []string
		for _, l := range links {
			n, err := strconv.Atoi(filepath.Base(l))
			if err != nil {
				return err
			}
			to, err := os.Readlink(l)
			// The Go runtime of this program has opened some of its own.
			own := strings.HasPrefix(to, "/proc/") || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/")
			if err == nil && n > 2 && !own {
				out = append(out, to)
			}
		}
		if len(out) > 0 {
			return errors.New(strings.Join(out, " "))
		}
		return nil
	},
}

func dial(network, to string) error {
	c, err := net.DialTimeout(network, to, 5*time.Second)
	if err == nil {
		err = c.Close()
	}
	return err
}

func closed(l net.Listener, err error) error {
	if err == nil {
		err = l.Close()
	}
	return err
}
