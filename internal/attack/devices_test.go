//go:build attack && linux

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// held keeps what the kernel is given the address of on the heap, where it does not move.
var held []any

// ptr gives a kernel call the address of a value.
func ptr[T any](p *T) uintptr {
	held = append(held, p)
	return uintptr(unsafe.Pointer(p))
}

// opens tries to open files in any way there is.
func opens(paths ...string) outcome {
	var last error
	for _, p := range paths {
		for _, how := range []int{os.O_RDWR, os.O_RDONLY, os.O_WRONLY} {
			file, err := os.OpenFile(p, how|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
			if err == nil {
				_ = file.Close()
				return was(hole, "%s was opened", p)
			}
			last = err
		}
	}
	return was(refused, "%v", last)
}

func devices() []attempt {
	return []attempt{
		{id: "D01", threat: "T13", what: "open the memory of the machine: /dev/mem, /dev/kmem, /dev/port, /proc/kcore", try: func(*facts) outcome {
			return opens("/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore", "/proc/kmem", "/dev/cpu/0/msr")
		}},
		{id: "D02", threat: "T13", what: "read the kernel's log: /dev/kmsg, /proc/kmsg, syslog()", try: func(*facts) outcome {
			if o := opens("/dev/kmsg", "/proc/kmsg"); o.Verdict == hole {
				return o
			}
			buf := make([]byte, 4096)
			if n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf); err == nil {
				return was(hole, "syslog() gave %d bytes", n)
			} else {
				return was(refused, "%v", err)
			}
		}},
		{id: "D03", threat: "T12", what: "open disks", try: func(*facts) outcome {
			list, _ := filepath.Glob("/dev/[shvx]d[a-z]*")
			more, _ := filepath.Glob("/dev/nvme*")
			dm, _ := filepath.Glob("/dev/dm-*")
			return opens(append(append(append(list, more...), dm...), "/dev/sda", "/dev/vda", "/dev/loop0", "/dev/loop-control", "/dev/mapper/control")...)
		}},
		{id: "D04", threat: "T12", what: "open /dev/kvm, /dev/net/tun, /dev/fuse, /dev/vsock and other doors", try: func(*facts) outcome {
			return opens("/dev/kvm", "/dev/net/tun", "/dev/fuse", "/dev/vsock", "/dev/vhost-vsock", "/dev/vhost-net", "/dev/uinput", "/dev/input/event0", "/dev/snd/controlC0", "/dev/dri/card0",
				"/dev/userfaultfd", "/dev/autofs", "/dev/rfkill", "/dev/watchdog", "/dev/rtc0", "/dev/tty0", "/dev/tty1", "/dev/hpet", "/dev/ppp", "/dev/cuse")
		}},
		{id: "D05", threat: "T12", what: "find any device beside the harmless ones", try: func(*facts) outcome {
			harmless := map[string]bool{"null": true, "zero": true, "full": true, "random": true, "urandom": true, "tty": true, "ptmx": true, "console": true}
			var odd []string
			_ = filepath.Walk("/dev", func(p string, st os.FileInfo, err error) error {
				if err == nil && st.Mode()&os.ModeDevice != 0 && !harmless[filepath.Base(p)] && !strings.HasPrefix(p, "/dev/pts/") {
					odd = append(odd, p)
				}
				return nil
			})
			if len(odd) > 0 {
				return was(hole, "%v", odd)
			}
			return was(refused, "null, zero, full, random, urandom, tty only")
		}},
		{id: "D06", threat: "T13", what: "make devices with mknod, in the workspace, the home, /tmp and /dev", try: func(*facts) outcome {
			var last error
			for _, dir := range []string{".", os.Getenv("HOME"), "/tmp", "/dev"} {
				for name, dev := range map[string]uint64{"mem": unix.Mkdev(1, 1), "disk": unix.Mkdev(8, 0), "vda": unix.Mkdev(254, 0)} {
					mode := uint32(unix.S_IFBLK)
					if name == "mem" {
						mode = unix.S_IFCHR
					}
					p := filepath.Join(dir, "node-"+name)
					if last = unix.Mknod(p, mode|0o600, int(dev)); last == nil {
						_ = os.Remove(p)
						return was(hole, "%s was made", p)
					}
				}
			}
			return was(refused, "%v", last)
		}},
		{id: "D07", threat: "T19", what: "type into the terminal: TIOCSTI, TIOCLINUX, /dev/tty, /dev/console", try: func(*facts) outcome {
			c := byte('x')
			var last error = fmt.Errorf("there is no terminal")
			for _, p := range []string{"/dev/tty", "/dev/console", "/dev/tty0", "/dev/pts/0", "/proc/self/fd/0", "/proc/self/fd/2"} {
				file, err := os.OpenFile(p, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
				if err != nil {
					last = err
					continue
				}
				err = rawErr(unix.SYS_IOCTL, file.Fd(), unix.TIOCSTI, ptr(&c))
				sub := byte(2)
				err2 := rawErr(unix.SYS_IOCTL, file.Fd(), 0x541C, ptr(&sub))
				_ = file.Close()
				if err == nil || err2 == nil {
					return was(hole, "%s took it", p)
				}
				last = err
			}
			return was(refused, "%v", last)
		}},
		{id: "D08", threat: "T13", what: "write to /proc/sys: core_pattern, modprobe, binfmt_misc, ip_forward", try: func(*facts) outcome {
			var last error
			for _, p := range []string{"kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/yama/ptrace_scope", "fs/binfmt_misc/register", "net/ipv4/ip_forward", "vm/overcommit_memory", "kernel/unprivileged_bpf_disabled"} {
				p = "/proc/sys/" + p
				value, _ := os.ReadFile(p)
				file, err := os.OpenFile(p, os.O_WRONLY, 0)
				if err != nil {
					last = err
					continue
				}
				if strings.HasSuffix(p, "/core_pattern") { // what it holds already: nothing changes
					_, err = file.Write(value)
				}
				_ = file.Close()
				if err != nil {
					last = err
					continue
				}
				return was(hole, "%s could be written: the host runs what stands there, as root", p)
			}
			return was(refused, "%v", last)
		}},
		{id: "D09", threat: "T13", what: "write to /proc/sysrq-trigger or any other file of /proc outside processes", try: func(*facts) outcome {
			var open []string
			_ = filepath.Walk("/proc", func(p string, st os.FileInfo, err error) error {
				rest := strings.TrimPrefix(p, "/proc/")
				if err != nil || strings.HasPrefix(rest, "sys/") || len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' || strings.HasPrefix(rest, "self") || strings.HasPrefix(rest, "thread-self") {
					if st != nil && st.IsDir() {
						return filepath.SkipDir
					}
					return nil
				}
				if st.Mode().IsRegular() && !strings.HasPrefix(rest, "pressure/") { // anyone may watch the pressure
					if file, err := os.OpenFile(p, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
						_ = file.Close()
						open = append(open, p)
					}
				}
				return nil
			})
			if len(open) > 0 {
				return was(hole, "open for writing: %v", open)
			}
			return was(refused, "none opens for writing")
		}},
		{id: "D10", threat: "T13", what: "read what /proc says of the machine: kallsyms, kpageflags, slabinfo, timer_list", try: func(*facts) outcome {
			data, err := os.ReadFile("/proc/kallsyms")
			if err == nil && len(data) > 0 && !strings.HasPrefix(string(data), "0000000000000000") {
				return was(hole, "/proc/kallsyms has addresses: %.40q", data)
			}
			var read []string
			for _, p := range []string{"/proc/kpageflags", "/proc/kpagecount", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/timer_list", "/proc/sched_debug", "/proc/iomem"} {
				if file, err := os.Open(p); err == nil {
					_ = file.Close()
					read = append(read, p)
				}
			}
			if len(read) > 0 {
				return was(contained, "read, but no address in clear is in them: %v", read)
			}
			return was(refused, "%v", err)
		}},
		{id: "D11", threat: "T13", what: "write to /sys, or read it", try: func(f *facts) outcome {
			if o := writes("/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/sys/kernel/mm/transparent_hugepage/enabled"); o.Verdict == hole {
				return o
			}
			return reads(f, true, "/sys/kernel/security", "/sys/fs/cgroup", "/sys/class")
		}},
	}
}
