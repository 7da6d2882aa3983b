package door

import (
	"net/netip"
	"strconv"
	"strings"
)

// host is a name in lower case or an address, never both.
type host struct {
	name string
	addr netip.Addr
}

const localhost = "localhost"

var (
	loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopback6 = netip.IPv6Loopback()
)

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// authority is the host with its port, as in a URL.
func (h host) authority(port int) string {
	if h.addr.Is6() {
		return "[" + h.addr.String() + "]:" + strconv.Itoa(port)
	}
	return h.String() + ":" + strconv.Itoa(port)
}

// loopback says that it is one of the three ways to say this machine; they stand for each other.
func (h host) loopback() bool {
	return h.name == localhost || h.addr == loopback4 || h.addr == loopback6
}

// literal says that no name has to be resolved for it.
func (h host) literal() bool { return h.addr.IsValid() || h.name == localhost }

// refusal is why something may not be. Its text is shown to people and agents.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	mostName  = 253
	mostLabel = 63
)

// parseName takes a host name as it is on the wire. What a resolver somewhere might read in a second way is refused.
func parseName(s string) (string, error) {
	switch {
	case s == "":
		return "", refusal("no host is named")
	case len(s) > mostName:
		return "", refusal("the host's name is too long")
	case strings.HasSuffix(s, "."):
		return "", refusal("the host's name ends with a dot")
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			return "", refusal("the host's name holds a character that no name has")
		}
	}
	name := strings.ToLower(s)
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return "", refusal("the host's name is malformed")
		}
		last = label
	}
	// Resolvers take a last part that is a number for an address: 0x7f000001, 127.1, 2130706433.
	if isNumber(last) {
		return "", refusal("the host is an address in disguise")
	}
	return name, nil
}

func isLabel(s string) bool {
	if s == "" || len(s) > mostLabel {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' && i > 0 && i < len(s)-1) {
			return false
		}
	}
	return true
}

func isNumber(s string) bool {
	hex, isHex := strings.CutPrefix(s, "0x")
	for i := range len(hex) {
		c := hex[i]
		if !('0' <= c && c <= '9' || isHex && 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

// parseHost takes a name or an address without brackets. An address has one form only.
func parseHost(s string) (host, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		if addr.Is4In6() || addr.Zone() != "" {
			return host{}, refusal("the host is an address in disguise")
		}
		return host{addr: addr}, nil
	}
	name, err := parseName(s)
	return host{name: name}, err
}

// parseAuthority takes host, host:port, [v6] and [v6]:port. Without a port it is port 0.
func parseAuthority(s string) (host, int, error) {
	var text, port string
	var hasPort bool
	if rest, ok := strings.CutPrefix(s, "["); ok {
		in, after, ok := strings.Cut(rest, "]")
		if !ok || !strings.Contains(in, ":") {
			return host{}, 0, refusal("the host is malformed")
		}
		text = in
		if after != "" {
			if port, hasPort = strings.CutPrefix(after, ":"); !hasPort {
				return host{}, 0, refusal("the host is malformed")
			}
		}
	} else {
		text, port, hasPort = strings.Cut(s, ":")
	}
	n := 0
	if hasPort {
		var err error
		if n, err = parsePort(port); err != nil {
			return host{}, 0, err
		}
	}
	h, err := parseHost(text)
	return h, n, err
}

func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' || s[0] == '+' {
		return 0, refusal("the port is not a number from 1 to 65535")
	}
	return int(n), nil
}

// shown makes a name that nobody has checked fit to be shown.
func shown(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most] + "…"
	}
	quoted := strconv.QuoteToASCII(s)
	return quoted[1 : len(quoted)-1]
}
