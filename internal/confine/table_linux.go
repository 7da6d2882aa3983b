//go:build amd64 || arm64

package confine

import "golang.org/x/sys/unix"

// Calls that only an administrator or an exploit makes.
var privileged = []uint32{
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
}

// Calls of which programs expect that a kernel may lack them, and that have been the way through many kernels.
var unwanted = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// Calls that change what is mounted where, and into which namespace.
var mounting = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
}

// Calls that look into another process.
var debugging = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
}

// Calls that share memory and queues with all processes of the user, where no namespace of its own holds them.
var sharing = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	socketType = 0xf // the rest of the type are SOCK_CLOEXEC and SOCK_NONBLOCK
)

// calls gives the filter of p, without unix sockets where unixOpen is false: all calls are allowed but those named here. Calls whose fate does not hang on their
// arguments cost nothing, because the kernel remembers it per number.
func calls(p Plan, unixOpen bool) block {
	out := join(load(offArch), unless(auditArch, kill()), load(offNumber), foreign())
	deny := func(errno unix.Errno, numbers []uint32) {
		for _, n := range numbers {
			out = append(out, when(n, refuse(errno))...)
		}
	}
	deny(unix.EPERM, privileged)
	deny(unix.EPERM, privilegedHere)
	deny(unix.ENOSYS, unwanted)
	if !p.Nested {
		deny(unix.EPERM, mounting)
		// The flags of clone3 lie in memory, where no filter sees them. Without it libc uses clone.
		deny(unix.ENOSYS, []uint32{unix.SYS_CLONE3})
		out = append(out, when(unix.SYS_CLONE, arg(0), whenAny(newNamespaces, refuse(unix.EPERM)), allow())...)
		out = append(out, when(unix.SYS_UNSHARE, arg(0), whenAny(newNamespaces|unix.CLONE_NEWTIME, refuse(unix.EPERM)), allow())...)
	}
	if !p.Debug {
		deny(unix.EPERM, debugging)
	}
	if p.Landlock == LandlockMust {
		deny(unix.EPERM, sharing)
		// The limits of the user's other processes, the daemon among them: a limit on time ends its process.
		out = append(out, when(unix.SYS_PRLIMIT64, arg(0), among(0), refuse(unix.EPERM))...)
	}
	out = join(out,
		when(unix.SYS_IOCTL, arg(1), when(unix.TIOCSTI, refuse(unix.EPERM)), when(unix.TIOCLINUX, refuse(unix.EPERM)), allow()),
		// The harmless ones are those of uname's answer, of addresses that are not random (sanitizers need it), and the
		// question which one is set.
		when(unix.SYS_PERSONALITY, arg(0), among(0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff), refuse(unix.EPERM)),
		when(unix.SYS_SOCKET, sockets(p, unixOpen)),
		when(unix.SYS_SOCKETPAIR, arg(0), among(unix.AF_UNIX), refuse(unix.EAFNOSUPPORT)),
	)
	out = append(out, otherRights()...)
	if p.NoUDP {
		out = join(out, fastOpen())
	}
	return join(out, allow())
}

// idBits make a file run with the rights of who owns it. On the host such a file is a way to be the user whose agent made it, for
// anybody there. openat2 hides its mode in memory; nobody makes such a file with it.
const idBits = 0o6000

// otherRights refuses to give these bits to a file that is there, or is made.
func otherRights() block {
	given := func(number, mode uint32) block {
		return when(number, arg(mode), whenAny(idBits, refuse(unix.EPERM)), allow())
	}
	out := join(given(unix.SYS_FCHMOD, 1), given(unix.SYS_FCHMODAT, 2), given(unix.SYS_FCHMODAT2, 2), given(unix.SYS_MKNODAT, 2),
		made(unix.SYS_OPENAT, 2, 3))
	return append(out, otherRightsHere()...)
}

// made is for calls that make a file only with a flag; without it there is anything where the mode would be.
func made(number, flags, mode uint32) block {
	return when(number, arg(flags), whenAny(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, arg(mode), whenAny(idBits, refuse(unix.EPERM))), allow())
}

// sockets allows what programs talk with. A family that is not here is refused because it is not bound to the network
// namespace (vsock reaches the host of a virtual machine), or because it is the kernel's least tested code.
func sockets(p Plan, unixOpen bool) block {
	local := when(unix.AF_UNIX, allow())
	if !unixOpen {
		local = when(unix.AF_UNIX, refuse(unix.EACCES))
	}
	internet := join(arg(1), mask(socketType), unless(unix.SOCK_STREAM, unless(unix.SOCK_DGRAM, refuse(unix.EPERM))),
		arg(2), among(0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6, unix.IPPROTO_MPTCP),
		refuse(unix.EPROTONOSUPPORT))
	switch {
	case p.Landlock == LandlockMust && len(p.ConnectTCP) == 0 && !p.AnyNet:
		internet = refuse(unix.EACCES)
	case p.NoUDP:
		// MPTCP and SCTP are streams too, and Landlock's rules for TCP do not see them.
		internet = join(arg(1), mask(socketType), unless(unix.SOCK_STREAM, refuse(unix.EPERM)),
			arg(2), among(0, unix.IPPROTO_TCP), refuse(unix.EPROTONOSUPPORT))
	}
	return join(arg(0), local,
		when(unix.AF_INET, internet), when(unix.AF_INET6, internet),
		when(unix.AF_NETLINK, arg(2), among(unix.NETLINK_ROUTE), refuse(unix.EPROTONOSUPPORT)),
		refuse(unix.EAFNOSUPPORT))
}

// fastOpen refuses to connect by sending, which is a way around Landlock's rules for connect.
func fastOpen() block {
	flags := func(n uint32) block { return join(arg(n), whenAny(unix.MSG_FASTOPEN, refuse(unix.EPERM)), allow()) }
	return join(when(unix.SYS_SENDTO, flags(3)), when(unix.SYS_SENDMSG, flags(2)), when(unix.SYS_SENDMMSG, flags(3)))
}
