package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// foreign refuses the calls of the x32 convention, which are those of this one under other numbers.
func foreign() block { return whenAny(0x40000000, refuse(unix.ENOSYS)) }

// privilegedHere are calls of this processor alone that only an administrator needs.
var privilegedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM}
