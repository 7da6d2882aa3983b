package netns

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// Main is the hidden command. It runs in the new namespaces, and returns only when it fails.
func Main(args []string) int {
	runtime.LockOSThread()
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "substrat netns: this command is started by a shim only")
		return failed
	}
	var o order
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		fmt.Fprintln(os.Stderr, "substrat netns: cannot read the order:", err)
		return failed
	}
	if err := o.carryOut(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot make the sandbox's network:", err)
		return failed
	}
	err := become(args[1:])
	fmt.Fprintln(os.Stderr, "cannot start the sandbox:", err)
	return failed
}

const failed = 125

// carryOut opens what is to be listened on and hands it over.
func (o order) carryOut() error {
	defer unix.Close(o.FD)
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("the loopback: %w", err)
	}
	if err := allLocal(); err != nil {
		return fmt.Errorf("the route: %w", err)
	}
	var fds []int
	for _, port := range o.TCP {
		fd, err := listen(unix.SOCK_STREAM, port)
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		fds = append(fds, fd)
	}
	for _, port := range o.UDP {
		fd, err := listen(unix.SOCK_DGRAM, port)
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		fds = append(fds, fd)
	}
	for part := range slices.Chunk(fds, rightsMost) {
		if err := unix.Sendmsg(o.FD, []byte{1}, unix.UnixRights(part...), nil, 0); err != nil {
			return fmt.Errorf("handing over: %w", err)
		}
		for _, fd := range part {
			unix.Close(fd)
		}
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// allLocal makes every address one of the loopback's, so that who dials an address, whatever it is, is met by us where we listen, and
// is told no, instead of by nobody.
func allLocal() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const loopback = 1
	message := make([]byte, 0, 64)
	message = binary.NativeEndian.AppendUint32(message, unix.SizeofNlMsghdr+unix.SizeofRtMsg+8)
	message = binary.NativeEndian.AppendUint16(message, unix.RTM_NEWROUTE)
	message = binary.NativeEndian.AppendUint16(message, unix.NLM_F_REQUEST|unix.NLM_F_CREATE|unix.NLM_F_ACK)
	message = append(message, make([]byte, 8)...) // sequence and sender
	message = append(message, unix.AF_INET, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0)
	message = binary.NativeEndian.AppendUint16(message, 8)
	message = binary.NativeEndian.AppendUint16(message, unix.RTA_OIF)
	message = binary.NativeEndian.AppendUint32(message, loopback)
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel's answer makes no sense")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 { //nolint:gosec // a negative errno
		return unix.Errno(-code)
	}
	return nil
}

// listen takes every address of the namespace: names are given addresses of 127.64.0.0/10.
func listen(kind, port int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	at := &unix.SockaddrInet4{Port: port}
	if kind == unix.SOCK_DGRAM {
		at.Addr = [4]byte{127, 0, 0, 1}
		return fd, unix.Bind(fd, at)
	}
	if err := unix.Bind(fd, at); err != nil {
		return 0, err
	}
	return fd, unix.Listen(fd, 256)
}

// become drops what the new namespaces brought, which bwrap refuses to run with, and executes argv.
func become(argv []string) error {
	if os.Getuid() != 0 {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return err
		}
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&head, &none[0]); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return unix.Exec(path, argv, os.Environ())
}
