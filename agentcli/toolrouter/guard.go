package toolrouter

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// Resolver finds the addresses of a host, as *net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// refused are the ranges that are not the public internet, by IANA's registries of special purposes, and those by which an
// address of the other family can be reached.
var refused = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // a cloud's own services behind a public address
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

// global is what of the second family is handed out as public. NAT64, mapped and local addresses are outside of it.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// Public reports whether an address is on the public internet and stands for itself.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	for _, p := range refused {
		if p.Contains(a) {
			return false
		}
	}
	return a.Is4() || global.Contains(a)
}

// guard dials addresses that it has looked up and checked itself, so that what was checked is what is reached.
type guard struct {
	resolver Resolver
	allow    func(netip.Addr) bool
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

func (g *guard) dialContext(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := g.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs[:min(len(addrs), 4)] {
		var conn net.Conn
		if conn, err = g.dial(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// lookup gives the addresses of a host. One that is not public refuses them all: a name with both is a trap.
func (g *guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs, err := g.addresses(ctx, strings.TrimSuffix(host, "."))
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if !g.allow(a) {
			return nil, substrat.Errorf(substrat.CodeForbidden, "cannot fetch from %s: its address %s is not on the public internet", clip(host, 100), a)
		}
	}
	return addrs, nil
}

func (g *guard) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if numeric(host) {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot fetch from %s: an address must be written as four decimal numbers", clip(host, 100))
	}
	lower := strings.ToLower(host)
	if lower == "localhost" || strings.HasSuffix(lower, ".localhost") || strings.HasSuffix(lower, ".internal") || strings.HasSuffix(lower, ".local") || !strings.Contains(lower, ".") {
		return nil, substrat.Errorf(substrat.CodeForbidden, "cannot fetch from %s: it is a name of the local network", clip(host, 100))
	}
	addrs, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addrs) == 0 {
		return nil, substrat.Errorf(substrat.CodeNotFound, "cannot fetch from %s: the name has no address (%v)", clip(host, 100), err)
	}
	return addrs, nil
}

// numeric reports a host whose last part is a number in some notation: resolvers of C read those as addresses, 0x7f.1 and
// 2130706433 alike.
func numeric(host string) bool {
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if last == "" {
		return true
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		_, err := strconv.ParseUint(hex, 16, 64)
		return hex == "" || err == nil
	}
	return strings.Trim(last, "0123456789") == ""
}

// dialTimeout bounds one try to connect.
const dialTimeout = 5 * time.Second
