package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// foreign refuses the calls of the x32 convention, which are those of this one under other numbers.
func foreign() block { return whenAny(0x40000000, refuse(unix.ENOSYS)) }

// otherRightsHere are the older forms of the calls that give a file its mode.
func otherRightsHere() block {
	given := func(number, mode uint32) block {
		return when(number, arg(mode), whenAny(idBits, refuse(unix.EPERM)), allow())
	}
	return join(given(unix.SYS_CHMOD, 1), given(unix.SYS_CREAT, 1), given(unix.SYS_MKNOD, 1), made(unix.SYS_OPEN, 1, 2))
}

// privilegedHere are calls of this processor alone that only an administrator needs.
var privilegedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM}
