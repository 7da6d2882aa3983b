package door

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	dialEach     = 5 * time.Second // for one address, where there are others
	dialLast     = 30 * time.Second
	resolveWait  = 10 * time.Second
	resolveKeep  = 5 * time.Second // a program opens several connections at once
	mostResolved = 256
	mostAddrs    = 16 // of one name
)

// failure is why something that is allowed could not be had. Its text is shown inside too, so it holds no error of the system's resolver.
type failure string

func (f failure) Error() string { return string(f) }

// outside is a connection to a checked address.
type outside struct {
	net.Conn
	address netip.AddrPort
}

// RemoteAddr is what was dialled, also where the dialler went another way.
func (o *outside) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(o.address) }

// dial reaches a host that was permitted: it is resolved, the addresses are checked, and exactly those are dialled. also are permissions for
// addresses beside the rules.
func (d *Door) dial(ctx context.Context, h host, port int, also ...pattern) (*outside, error) {
	addrs, err := d.addresses(ctx, h)
	if err != nil {
		return nil, err
	}
	good, err := addrs[:0:0], error(failure("cannot be reached: it has no address"))
	for _, a := range addrs {
		if bad := d.rules.address(a, port, d.machine.has(a), also...); bad != nil {
			err = bad
		} else {
			good = append(good, a)
		}
	}
	for i, a := range good {
		wait := dialEach
		if i == len(good)-1 {
			wait = dialLast
		}
		one, cancel := context.WithTimeout(ctx, wait)
		at := netip.AddrPortFrom(a, uint16(port))
		c, bad := d.dialOne(one, "tcp", at.String())
		cancel()
		if bad == nil {
			return &outside{c, at}, nil
		}
		err = failure("cannot be reached: " + plain(bad))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// plain says what went wrong without addresses.
func plain(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "it did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the connection was given up"
	}
	return "the connection failed"
}

// addresses gives what may be tried, IPv4 first: where there is no IPv6, much of it fails slowly.
func (d *Door) addresses(ctx context.Context, h host) ([]netip.Addr, error) {
	switch {
	case h.addr == loopback6:
		return []netip.Addr{loopback6, loopback4}, nil
	case h.loopback():
		return []netip.Addr{loopback4, loopback6}, nil
	case h.addr.IsValid():
		return []netip.Addr{h.addr}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveWait)
	defer cancel()
	addrs, err := d.resolved.look(ctx, h.name)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
			return nil, failure("cannot be reached: there is no such name")
		}
		return nil, failure("cannot be reached: the name could not be looked up")
	}
	return addrs, nil
}

// resolver looks names up and keeps the answers for some seconds. They are checked each time they are used.
type resolver struct {
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	mu   sync.Mutex
	kept map[string]resolution
}

type resolution struct {
	at    time.Time
	addrs []netip.Addr
}

func (r *resolver) look(ctx context.Context, name string) ([]netip.Addr, error) {
	r.mu.Lock()
	kept, ok := r.kept[name]
	r.mu.Unlock()
	if ok && time.Since(kept.at) < resolveKeep {
		return kept.addrs, nil
	}
	raw, err := r.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	addrs := make([]netip.Addr, 0, len(raw))
	for _, a := range raw[:min(len(raw), mostAddrs)] {
		addrs = append(addrs, a.Unmap())
	}
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) >= mostResolved {
		clear(r.kept)
	}
	r.kept[name] = resolution{time.Now(), addrs}
	return addrs, nil
}

// lookup is the system's resolver. The dot keeps it from trying the names of this machine's own domain.
func lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
}
