package door

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// notPublic are the IPv4 networks that are not the internet's, with what to call them.
var notPublic = []struct {
	net  netip.Prefix
	what string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "an address of a private network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address inside a provider's network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "an address of this machine"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local or metadata address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "an address of a private network"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.88.99.0/24"), "an address that leads to another"},
	{netip.MustParsePrefix("192.168.0.0/16"), "an address of a private network"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a reserved address"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a reserved address"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a reserved address"},
	{netip.MustParsePrefix("224.0.0.0/3"), "a multicast or reserved address"},
}

// Of IPv6 only what is given out as global is public, and of that not what wraps or tunnels to IPv4.
var (
	global6    = netip.MustParsePrefix("2000::/3")
	notGlobal6 = []netip.Prefix{
		netip.MustParsePrefix("2001::/23"), // protocol assignments, Teredo, ORCHID
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("2002::/16"), // 6to4
		netip.MustParsePrefix("3fff::/20"),
	}
	// nat64 wraps an IPv4 address. Hosts that have IPv6 only get all of IPv4 in this form, so what is inside decides.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// private says what is wrong with an address, or nothing.
func private(a netip.Addr) string {
	switch {
	case !a.IsValid() || a.Zone() != "":
		return "not a plain address"
	case a.Is4In6():
		return private(a.Unmap())
	case a.Is4():
		for _, n := range notPublic {
			if n.net.Contains(a) {
				return n.what
			}
		}
		return ""
	case nat64.Contains(a):
		b := a.As16()
		return private(netip.AddrFrom4([4]byte(b[12:])))
	case a.IsLoopback():
		return "an address of this machine"
	case !global6.Contains(a):
		return "an address that is not public"
	}
	for _, n := range notGlobal6 {
		if n.Contains(a) {
			return "an address that is not public"
		}
	}
	return ""
}

// machine knows this machine's own addresses: a public one leads to services here that listen on all addresses.
type machine struct {
	look func() ([]net.Addr, error)

	mu    sync.Mutex
	at    time.Time
	known map[netip.Addr]bool
}

// machineLook is how long an answer serves.
const machineLook = 20 * time.Second

func (m *machine) has(a netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || time.Since(m.at) > machineLook {
		m.at, m.known = time.Now(), map[netip.Addr]bool{}
		addrs, err := m.look()
		if err != nil {
			addrs = nil // without the list the other checks stand
		}
		for _, x := range addrs {
			if n, ok := x.(*net.IPNet); ok {
				if own, ok := netip.AddrFromSlice(n.IP); ok {
					m.known[own.Unmap()] = true
				}
			}
		}
	}
	return m.known[a]
}
