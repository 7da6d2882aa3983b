//go:build amd64 || arm64

package confine

import "golang.org/x/sys/unix"

// Offsets in struct seccomp_data. Both processors of the table are little-endian, so the low half of an argument comes
// first.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// block is a piece of a filter without a jump out of itself: it ends in a return, or runs on into what follows.
type block []unix.SockFilter

// refuse lets the call fail with errno.
func refuse(errno unix.Errno) block {
	return block{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}}
}

func allow() block { return block{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}} }

func kill() block {
	return block{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS}}
}

// load takes 32 bits of the call's description into the accumulator.
func load(offset uint32) block {
	return block{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

// arg loads the low half of an argument. For what the kernel itself takes as 32 bits this is all of it: a filter that
// compared 64 would be passed with bits that the kernel then ignores.
func arg(n uint32) block { return load(offArgs + 8*n) }

func mask(bits uint32) block {
	return block{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits}}
}

// when runs then only if the accumulator is v.
func when(v uint32, then ...block) block { return jump(unix.BPF_JEQ, v, true, then) }

// unless runs then only if the accumulator is not v.
func unless(v uint32, then ...block) block { return jump(unix.BPF_JEQ, v, false, then) }

// whenAny runs then only if the accumulator has any of the bits.
func whenAny(bits uint32, then ...block) block { return jump(unix.BPF_JSET, bits, true, then) }

// among allows the call if the accumulator is one of vs, and runs on otherwise.
func among(vs ...uint32) block {
	var out block
	for _, v := range vs {
		out = append(out, when(v, allow())...)
	}
	return out
}

func jump(test uint16, k uint32, want bool, then []block) block {
	body := join(then...)
	if len(body) > 255 {
		panic("confine: a block of the filter is too long to jump over")
	}
	j := unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k}
	if want {
		j.Jf = uint8(len(body))
	} else {
		j.Jt = uint8(len(body))
	}
	return append(block{j}, body...)
}

func join(parts ...block) block {
	var out block
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
