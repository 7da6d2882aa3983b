package netns

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Step is one that was prepared and not yet started.
type Step struct {
	order        order
	ours, theirs int
}

// New prepares a step that listens on ports of the new network. Its process is to find, as descriptor at, what [Step.Theirs] gives.
func New(tcp, udp []int, at int) (*Step, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make a socket: %w", err)
	}
	return &Step{order: order{FD: at, TCP: tcp, UDP: udp}, ours: pair[0], theirs: pair[1]}, nil
}

// Argv is what runs argv in the new network; it is to be started as Exe.
func (s *Step) Argv(argv []string) ([]string, error) { return s.order.argv(argv) }

// Exe is this program, whatever became of the file that it was started from.
const Exe = "/proc/self/exe"

// Theirs is the descriptor for the process. It is closed by Receive and by Close.
func (s *Step) Theirs() int { return s.theirs }

// Attributes puts the process into new namespaces, as the user that it is.
func (s *Step) Attributes(a *syscall.SysProcAttr) {
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	a.GidMappingsEnableSetgroups = false
	a.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}
}

// Receive takes the sockets, once the process was started. The step is done then.
func (s *Step) Receive() (Sockets, error) {
	unix.Close(s.theirs)
	s.theirs = -1
	defer s.Close()
	fds, err := receive(s.ours, len(s.order.TCP)+len(s.order.UDP))
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return Sockets{}, err
	}
	return s.order.sockets(fds)
}

// Close gives up.
func (s *Step) Close() {
	for _, fd := range []*int{&s.ours, &s.theirs} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// receive takes the sockets that the step sends, in the order they were asked for. It ends when the step has closed its end.
func receive(fd, want int) ([]int, error) {
	var out []int
	oob := make([]byte, unix.CmsgSpace(4*rightsMost))
	for len(out) < want {
		n, oobn, _, _, err := unix.Recvmsg(fd, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return out, os.NewSyscallError("recvmsg", err)
		case n == 0:
			return out, errEnded
		}
		messages, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return out, err
		}
		for i := range messages {
			fds, err := unix.ParseUnixRights(&messages[i])
			if err != nil {
				return out, err
			}
			out = append(out, fds...)
		}
	}
	return out, nil
}

var errEnded = errors.New("the step that makes the network ended")

// sockets gives descriptors their form in Go.
func (o order) sockets(fds []int) (s Sockets, err error) {
	s.TCP, s.UDP = map[int]net.Listener{}, map[int]net.PacketConn{}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "listener")
		if i < len(o.TCP) {
			var l net.Listener
			if l, err = net.FileListener(f); err == nil {
				s.TCP[o.TCP[i]] = l
			}
		} else {
			var c net.PacketConn
			if c, err = net.FilePacketConn(f); err == nil {
				s.UDP[o.UDP[i-len(o.TCP)]] = c
			}
		}
		f.Close()
		if err != nil {
			s.Close()
			return s, err
		}
	}
	return s, nil
}
