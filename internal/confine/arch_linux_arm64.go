package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// foreign has nothing to refuse: this processor has one convention for 64-bit calls.
func foreign() block { return nil }

// otherRightsHere is empty: this processor has no older forms of the calls that give a file its mode.
func otherRightsHere() block { return nil }

// privilegedHere is empty: this processor has no calls of its own that only an administrator needs.
var privilegedHere []uint32
