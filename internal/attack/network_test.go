//go:build attack && linux

package attack

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const dialTime = 2 * time.Second

// dials tries to reach addresses. A connection that is made is a hole, whatever answers.
func dials(networkName string, addrs ...string) outcome {
	var last error = errors.New("there is no such address on this machine")
	for _, a := range addrs {
		if a == "" {
			continue
		}
		c, err := net.DialTimeout(networkName, a, dialTime)
		if err == nil {
			_ = c.Close()
			return was(hole, "connected to %s", a)
		}
		last = err
	}
	if len(strings.Join(addrs, "")) == 0 {
		return was(untried, "%v", last)
	}
	return was(refused, "%v", last)
}

// asks sends a datagram and waits for an answer.
func asks(data []byte, addrs ...string) outcome {
	var last error = errors.New("no answer")
	tried := 0
	for _, a := range addrs {
		if a == "" {
			continue
		}
		tried++
		c, err := net.DialTimeout("udp", a, dialTime)
		if err != nil {
			last = err
			continue
		}
		_ = c.SetDeadline(time.Now().Add(dialTime))
		_, err = c.Write(data)
		if err == nil {
			_, err = c.Read(make([]byte, 512))
		}
		_ = c.Close()
		if err == nil {
			return was(hole, "%s answered", a)
		}
		last = err
	}
	if tried == 0 {
		return was(untried, "there is no such address on this machine")
	}
	return was(refused, "%v", last)
}

// arrived says whether a listener of the host was reached, whatever the program inside believes.
func arrived(names ...string) func(*world, outcome) outcome {
	return func(w *world, o outcome) outcome {
		for _, n := range names {
			if got := w.hits.of(n); got > 0 {
				return was(hole, "%d connections arrived at the host's %s", got, n)
			}
		}
		return o
	}
}

// dnsQuery asks for the address of example.com.
var dnsQuery = []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01")

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

func network() []attempt {
	return []attempt{
		{id: "E01", threat: "T11", what: "dial a listener on the host's 127.0.0.1", try: func(f *facts) outcome { return dials("tcp", f.Loopback, "localhost:"+portOf(f.Loopback)) }, judge: arrived("loopback")},
		{id: "E02", threat: "T11", what: "dial a listener on the host's ::1", try: func(f *facts) outcome { return dials("tcp", f.Loopback6) }, judge: arrived("loopback6")},
		{id: "E03", threat: "T11", what: "dial the machine's own address", try: func(f *facts) outcome { return dials("tcp", f.Machine) }, judge: arrived("machine")},
		{id: "E04", threat: "T11", what: "dial the machine's link-local IPv6 address", try: func(f *facts) outcome { return dials("tcp", f.LinkLocal) }, judge: arrived("linklocal")},
		{id: "E05", threat: "T11", what: "dial public addresses, by TCP over IPv4 and IPv6", try: func(*facts) outcome {
			return dials("tcp", "1.1.1.1:443", "8.8.8.8:53", "93.184.215.14:80", "[2606:4700:4700::1111]:443")
		}},
		{id: "E06", threat: "T11", what: "send datagrams to the host and to public resolvers", try: func(f *facts) outcome {
			return asks(dnsQuery, net.JoinHostPort("127.0.0.1", portOf(f.UDP)), net.JoinHostPort(hostOf(f.Machine), portOf(f.UDP)), "8.8.8.8:53", "1.1.1.1:53")
		}, judge: arrived("udp")},
		{id: "E07", threat: "T11", what: "ask the host's resolver for a name, by UDP and TCP", try: func(f *facts) outcome {
			var addrs []string
			for _, r := range append(f.Resolvers, "127.0.0.53", "127.0.0.1") {
				addrs = append(addrs, net.JoinHostPort(r, "53"))
			}
			if o := asks(dnsQuery, addrs...); o.Verdict == hole {
				return o
			}
			return dials("tcp", addrs...)
		}},
		{id: "E08", threat: "T11", what: "resolve a name as a program would", try: func(*facts) outcome {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			addrs, err := net.DefaultResolver.LookupHost(ctx, "example.com")
			if err != nil {
				return was(refused, "%v", err)
			}
			return was(hole, "example.com is %v", addrs)
		}},
		{id: "E09", threat: "T11", what: "metadata services: 169.254.169.254, 169.254.170.2, fd00:ec2::254, 100.100.100.200", try: func(*facts) outcome {
			return dials("tcp", "169.254.169.254:80", "169.254.170.2:80", "[fd00:ec2::254]:80", "100.100.100.200:80", "192.0.0.192:80")
		}},
		{id: "E10", threat: "T11", what: "raw sockets and packet sockets, ping sockets", try: func(*facts) outcome {
			errs := map[string]error{}
			for name, s := range map[string][3]int{
				"raw icmp": {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, "raw icmp6": {unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6}, "raw": {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW},
				"packet": {unix.AF_PACKET, unix.SOCK_RAW, 0x300}, "packet dgram": {unix.AF_PACKET, unix.SOCK_DGRAM, 0x300},
			} {
				fd, err := unix.Socket(s[0], s[1], s[2])
				if err == nil {
					_ = unix.Close(fd)
				}
				errs[name] = err
			}
			return allFail(errs)
		}},
		{id: "E11", threat: "T11", what: "AF_VSOCK to the machine below this one (2) and to itself (1)", try: func(*facts) outcome {
			fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			if err != nil {
				return was(refused, "socket: %v", err)
			}
			defer unix.Close(fd)
			_ = unix.SetNonblock(fd, true)
			for _, cid := range []uint32{unix.VMADDR_CID_HOST, unix.VMADDR_CID_LOCAL} {
				err = unix.Connect(fd, &unix.SockaddrVM{CID: cid, Port: 1024})
				if err == nil || isErrno(err, unix.EINPROGRESS) || isErrno(err, unix.ECONNRESET) {
					return was(hole, "the address family is open: a connection to %d was begun (%v)", cid, err)
				}
			}
			return was(hole, "sockets of this family can be made, and belong to no network namespace (%v)", err)
		}},
		{id: "E12", threat: "T11", what: "other families: Bluetooth, CAN, AF_ALG, AF_XDP, TIPC, SMC, RDS, KCM, NFC, IEEE 802.15.4", try: func(*facts) outcome {
			var open []string
			for name, family := range map[string]int{"bluetooth": 31, "can": 29, "alg": 38, "xdp": 44, "tipc": 30, "smc": 43, "rds": 21, "kcm": 41, "nfc": 39, "ieee802154": 36, "qipcrtr": 42, "appletalk": 5, "x25": 9, "phonet": 35} {
				for _, kind := range []int{unix.SOCK_RAW, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM, unix.SOCK_STREAM} {
					if fd, err := unix.Socket(family, kind, 0); err == nil {
						_ = unix.Close(fd)
						open = append(open, name)
						break
					}
				}
			}
			if len(open) > 0 {
				return was(hole, "sockets could be made: %v", open)
			}
			return was(refused, "none can be made")
		}},
		{id: "E13", threat: "T11", what: "change the network by netlink: links, routes, addresses", try: func(*facts) outcome {
			fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
			if err != nil {
				return was(refused, "socket: %v", err)
			}
			defer unix.Close(fd)
			// RTM_NEWLINK of a dummy device, with an acknowledgement.
			msg := []byte{52, 0, 0, 0, 16, 0, 5, 6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 18, 0, 9, 0, 1, 0, 'd', 'u', 'm', 'm', 'y', 0, 0, 0, 4, 0, 2, 0}
			if err := unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
				return was(refused, "%v", err)
			}
			buf := make([]byte, 256)
			n, _, err := unix.Recvfrom(fd, buf, 0)
			if err != nil || n < 20 {
				return was(untried, "%v", err)
			}
			if code := int32(uint32(buf[16]) | uint32(buf[17])<<8 | uint32(buf[18])<<16 | uint32(buf[19])<<24); code < 0 {
				return was(refused, "%v", unix.Errno(-code))
			}
			return was(hole, "a device was made")
		}},
		{id: "E14", threat: "T11", what: "find an interface beside the loopback, or a route", try: func(*facts) outcome {
			list, err := net.Interfaces()
			if err != nil {
				return was(refused, "%v", err)
			}
			for _, i := range list {
				if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
					return was(hole, "%s is up", i.Name)
				}
			}
			data, _ := os.ReadFile("/proc/net/route")
			if n := strings.Count(string(data), "\n"); n > 1 {
				return was(hole, "%d routes", n-1)
			}
			return was(refused, "%d interfaces, no route", len(list))
		}},
	}
}

func hostOf(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// sockets are attempts on unix sockets.
func sockets() []attempt {
	return []attempt{
		{id: "U01", threat: "T12", what: "connect to an abstract socket of the host", try: func(f *facts) outcome { return dials("unix", f.Abstract) }, judge: arrived("abstract")},
		{id: "U02", threat: "T12", what: "connect to sockets of the host in /tmp, /run, /var/run, ssh-agent, D-Bus, X11, docker", try: func(f *facts) outcome {
			return dials("unix", append(f.Unix, "/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
				"/tmp/.X11-unix/X0", "@/tmp/.X11-unix/X0", "/run/user/0/bus", "/run/user/1000/bus", "/run/podman/podman.sock", "/run/snapd.socket", "/run/libvirt/libvirt-sock", os.Getenv("SSH_AUTH_SOCK"))...)
		}, judge: func(w *world, o outcome) outcome {
			var names []string
			for _, p := range w.facts.Unix {
				names = append(names, p, filepath.Base(p))
			}
			return arrived(names...)(w, o)
		}},
		{id: "U03", threat: "T12", what: "find any other socket in the file system and connect to it", try: func(f *facts) outcome {
			var found []string
			_ = filepath.Walk("/", func(p string, st os.FileInfo, err error) error {
				if err != nil || p == "/proc" || p == "/usr" || p == f.Shared {
					if st != nil && st.IsDir() {
						return filepath.SkipDir
					}
					return nil
				}
				if st.Mode()&os.ModeSocket != 0 && p != "/run/substrat/sock/agent.sock" {
					found = append(found, p)
				}
				return nil
			})
			if len(found) > 0 {
				return was(hole, "%v", found)
			}
			return was(refused, "only the agent's own is there")
		}},
		{id: "U04", threat: "T12", what: "see the host's sockets in /proc/net/unix", try: func(f *facts) outcome {
			data, err := os.ReadFile("/proc/net/unix")
			if err != nil {
				return was(refused, "%v", err)
			}
			if strings.Contains(string(data), strings.TrimPrefix(f.Abstract, "@")) || strings.Contains(string(data), "daemon.sock") {
				return was(hole, "they are listed")
			}
			return was(refused, "%d lines, none of the host", strings.Count(string(data), "\n"))
		}},
		{id: "U05", threat: "T2", what: "connect to the operator's socket", try: func(f *facts) outcome {
			return dials("unix", filepath.Join(f.Home, "daemon.sock"), "/run/substrat/daemon.sock", "/run/substrat/sock/daemon.sock", "/run/substrat/sock/../daemon.sock", "/proc/1/root"+filepath.Join(f.Home, "daemon.sock"))
		}},
		{id: "U06", threat: "T1", what: "connect to another agent's socket by its path", try: func(f *facts) outcome {
			return dials("unix", f.VictimSock, "/proc/1/root"+f.VictimSock)
		}},
		{id: "U07", threat: "T12", what: "connect to a socket that a program of the person has in the workspace", try: func(f *facts) outcome {
			o := dials("unix", filepath.Join(f.Shared, "person.sock"))
			if o.Verdict == hole {
				o = was(known, "it lies in what the agent was given: %s", o.Text)
			}
			return o
		}},
		{id: "U08", threat: "T12", what: "meet another agent by an abstract socket or in /tmp", play: func(w *world) outcome {
			_, turn := w.begin("lead/victim", step{"shell": "perl -MIO::Socket::UNIX -e 'socket(S,1,1,0); bind(S, pack(\"S a*\",1,\"\\0attack-meet\")); listen(S,1); touch(); sub touch{open F,\">listens\"} $SIG{ALRM}=sub{exit}; alarm 20; accept(C,S); open F,\">met\"'", "timeout_ms": 25000})
			defer w.cancel("lead/victim")
			_ = turn
			if !soon(func() bool { _, err := os.Stat(filepath.Join(w.facts.Shared, "listens")); return err == nil }) {
				return was(untried, "no perl to listen with")
			}
			out := w.shell("lead/attacker", "perl -MIO::Socket::UNIX -e 'socket(S,1,1,0); connect(S, pack(\"S a*\",1,\"\\0attack-meet\")) or die \"$!\"; print \"met\"'")
			if _, err := os.Stat(filepath.Join(w.facts.Shared, "met")); err == nil {
				return was(hole, "they met")
			}
			return was(refused, "%s", firstLine(out))
		}},
	}
}
