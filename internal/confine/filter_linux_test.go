//go:build amd64 || arm64

package confine

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// machine runs a filter without the kernel.
func machine(t *testing.T, p Plan) func(arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	var program []bpf.Instruction
	for _, i := range calls(p, true) {
		program = append(program, bpf.RawInstruction{Op: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K}.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return func(arch, number uint32, args ...uint64) uint32 {
		// The kernel's words are as the processor has them, the packets of this machine are big-endian.
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[0:], number)
		binary.BigEndian.PutUint32(data[4:], arch)
		for i, a := range args {
			binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
			binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
		}
		r, err := vm.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(r)
	}
}

const allowed = unix.SECCOMP_RET_ALLOW

func errnoOf(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

func TestFilter(t *testing.T) {
	const high = 0xdeadbeef << 32
	perm := errnoOf(unix.EPERM)
	for _, c := range []struct {
		name   string
		plan   Plan
		want   uint32
		number uint32
		args   []uint64
	}{
		{"read", Plan{}, allowed, unix.SYS_READ, nil},
		{"a call of the future", Plan{}, allowed, 900, nil},
		{"clone of a thread", Plan{}, allowed, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_FS}},
		{"clone with the exit signal whose bit is CLONE_NEWTIME's", Plan{}, allowed, unix.SYS_CLONE, []uint64{0x91}},
		{"clone of namespaces", Plan{}, perm, unix.SYS_CLONE, []uint64{high | unix.CLONE_NEWUSER | 17}},
		{"clone of namespaces, nested", Plan{Nested: true}, allowed, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | 17}},
		{"clone3", Plan{}, errnoOf(unix.ENOSYS), unix.SYS_CLONE3, nil},
		{"clone3, nested", Plan{Nested: true}, allowed, unix.SYS_CLONE3, nil},
		{"unshare of files", Plan{}, allowed, unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES | unix.CLONE_FS}},
		{"unshare of the clock", Plan{}, perm, unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWTIME}},
		{"ptrace", Plan{}, perm, unix.SYS_PTRACE, nil},
		{"ptrace, debug", Plan{Debug: true}, allowed, unix.SYS_PTRACE, nil},
		{"ptrace, nested", Plan{Nested: true}, perm, unix.SYS_PTRACE, nil},
		{"mount, debug", Plan{Debug: true}, perm, unix.SYS_MOUNT, nil},
		{"TIOCSTI with high bits", Plan{Nested: true, Debug: true}, perm, unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}},
		{"TCGETS", Plan{}, allowed, unix.SYS_IOCTL, []uint64{0, unix.TCGETS}},
		{"TIOCSTI as the descriptor", Plan{}, allowed, unix.SYS_IOCTL, []uint64{unix.TIOCSTI, unix.TCGETS}},
		{"unix socket", Plan{}, allowed, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}},
		{"vsock", Plan{}, errnoOf(unix.EAFNOSUPPORT), unix.SYS_SOCKET, []uint64{high | unix.AF_VSOCK, unix.SOCK_STREAM}},
		{"tcp", Plan{}, allowed, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 6}},
		{"udp", Plan{}, allowed, unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}},
		{"udp refused", Plan{NoUDP: true}, perm, unix.SYS_SOCKET, []uint64{high | unix.AF_INET, high | unix.SOCK_DGRAM}},
		{"tcp without udp", Plan{NoUDP: true}, allowed, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}},
		{"mptcp without udp", Plan{NoUDP: true}, errnoOf(unix.EPROTONOSUPPORT), unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}},
		{"raw", Plan{}, perm, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_RAW | unix.SOCK_NONBLOCK}},
		{"packet type", Plan{}, perm, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_PACKET}},
		{"routes", Plan{}, allowed, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}},
		{"netfilter", Plan{}, errnoOf(unix.EPROTONOSUPPORT), unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}},
		{"tcp without any port", Plan{Landlock: LandlockMust, NoUDP: true}, errnoOf(unix.EACCES), unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_STREAM}},
		{"fast open", Plan{NoUDP: true}, perm, unix.SYS_SENDTO, []uint64{3, 0, 0, unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}},
		{"fast open of a message", Plan{NoUDP: true}, perm, unix.SYS_SENDMSG, []uint64{3, 0, unix.MSG_FASTOPEN}},
		{"fast open of messages", Plan{NoUDP: true}, perm, unix.SYS_SENDMMSG, []uint64{3, 0, 1, unix.MSG_FASTOPEN}},
		{"send", Plan{NoUDP: true}, allowed, unix.SYS_SENDTO, []uint64{3, 0, 0, unix.MSG_NOSIGNAL}},
		{"fast open where it is allowed", Plan{}, allowed, unix.SYS_SENDTO, []uint64{3, 0, 0, unix.MSG_FASTOPEN}},
		{"harmless personality", Plan{}, allowed, unix.SYS_PERSONALITY, []uint64{0xffffffff}},
		{"executable data", Plan{}, perm, unix.SYS_PERSONALITY, []uint64{0x400000}},
	} {
		if got := machine(t, c.plan)(auditArch, c.number, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
		if got := machine(t, Plan{Nested: true, Debug: true})(arch, unix.SYS_READ); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("architecture %#x: %#x", arch, got)
		}
	}
	if n := len(calls(Plan{NoUDP: true}, true)); n > 1000 {
		t.Errorf("the filter has %d instructions", n)
	}
}

// No number and no argument makes the program fail or give what it should never give.
func FuzzFilter(f *testing.F) {
	f.Add(uint32(auditArch), uint32(unix.SYS_SOCKET), uint64(2), uint64(3), uint64(0), uint64(0), byte(7))
	f.Fuzz(func(t *testing.T, arch, number uint32, a, b, c, d uint64, options byte) {
		p := Plan{Nested: options&1 != 0, Debug: options&2 != 0, NoUDP: options&4 != 0}
		got := machine(t, p)(arch, number, a, b, c, d)
		if other := machine(t, p)(arch, number, a|1<<63, b|1<<62, c|1<<32, d|1<<40); other != got {
			t.Errorf("bits that the kernel ignores change %#x to %#x", got, other)
		}
		if arch != auditArch && got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("another architecture gives %#x", got)
		}
	})
}
