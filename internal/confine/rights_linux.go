package confine

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Securebits under which being root gives no capability, each with its lock. The kernel's header has the names.
const (
	secureNoRoot      = 0x1 | 0x2
	secureNoSetuidFix = 0x4 | 0x8
	secureKeepCapsOff = 0x20
	secureNoAmbient   = 0x40 | 0x80
)

// dropCapabilities leaves this thread none, and with no_new_privs no program can bring one back. The bounding set and
// the securebits go too where the thread may change them; in a sandbox whose capabilities bubblewrap dropped it may
// not, and needs not.
func dropCapabilities(Plan) error {
	for c := uintptr(0); c <= 63; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			if errors.Is(err, unix.EINVAL) && c > unix.CAP_AUDIT_READ {
				break // the kernel knows no more
			}
			if !errors.Is(err, unix.EPERM) {
				return fmt.Errorf("bounding set: %w", err)
			}
			break
		}
	}
	err := unix.Prctl(unix.PR_SET_SECUREBITS, secureNoRoot|secureNoSetuidFix|secureKeepCapsOff|secureNoAmbient, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("securebits: %w", err)
	}
	err = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("ambient set: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none, now [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return err
	}
	if err := unix.Capget(&head, &now[0]); err != nil {
		return err
	}
	if now != none {
		return errors.New("some remain")
	}
	return nil
}

// cpuGrace is what a process has, after the signal that its time is up, to end by itself.
const cpuGrace = 5

func setLimits(p Plan) error {
	for _, l := range []struct {
		name     string
		resource int
		soft     uint64
		more     uint64
		set      bool
	}{
		{"core", unix.RLIMIT_CORE, 0, 0, true},
		{"open files", unix.RLIMIT_NOFILE, p.Limits.OpenFiles, 0, p.Limits.OpenFiles > 0},
		{"processes", unix.RLIMIT_NPROC, p.Limits.Processes, 0, p.Limits.Processes > 0},
		{"file size", unix.RLIMIT_FSIZE, p.Limits.FileSize, 0, p.Limits.FileSize > 0},
		{"cpu", unix.RLIMIT_CPU, p.Limits.CPUSeconds, cpuGrace, p.Limits.CPUSeconds > 0},
		{"data", unix.RLIMIT_DATA, p.Limits.Data, 0, p.Limits.Data > 0},
	} {
		if !l.set {
			continue
		}
		var is unix.Rlimit
		if err := unix.Prlimit(0, l.resource, nil, &is); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		hard := is.Max
		if l.soft < hard-min(hard, l.more) {
			hard = l.soft + l.more
		}
		if err := unix.Prlimit(0, l.resource, &unix.Rlimit{Cur: min(l.soft, hard), Max: hard}, nil); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}
