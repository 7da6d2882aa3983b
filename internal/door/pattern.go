package door

import (
	"net/netip"
	"strings"

	"substrat.dev/substrat"
)

// The ports with a meaning of their own.
const (
	portDNS   = 53
	portHTTP  = 80
	portTLS   = 443
	PortProxy = 3128 // an HTTP proxy, for programs that go by HTTPS_PROXY
)

// fakes is where the addresses of names come from.
var fakes = netip.MustParsePrefix("127.64.0.0/10")

// pattern is one entry of a list.
type pattern struct {
	any    bool   // "*": every name; an address has to be named itself
	suffix string // ".x.com" for "*.x.com"
	host   host
	port   int // 0: none was named
}

// parsePattern takes an entry, or says what is wrong with it.
func parsePattern(text string) (pattern, error) {
	p := pattern{}
	switch rest, isSuffix := strings.CutPrefix(text, "*."); {
	case text == "*" || strings.HasPrefix(text, "*:"):
		p.any = true
		if port, ok := strings.CutPrefix(text, "*:"); ok {
			n, err := parsePort(port)
			if err != nil {
				return p, err
			}
			p.port = n
		}
	case isSuffix:
		h, port, err := parseAuthority(rest)
		if err != nil {
			return p, err
		}
		if h.literal() {
			return p, refusal("an address has no names below it")
		}
		p.suffix, p.port = "."+h.name, port
	case strings.Contains(text, "*"):
		return p, refusal("a star stands only at the beginning, before a dot")
	default:
		if !strings.HasPrefix(text, "[") && strings.Count(text, ":") > 1 {
			return p, refusal("an IPv6 address needs brackets")
		}
		h, port, err := parseAuthority(text)
		if err != nil {
			return p, err
		}
		if h.addr.IsValid() && fakes.Contains(h.addr) {
			return p, refusal("the door itself gives these addresses to names")
		}
		p.host, p.port = h, port
	}
	return p, nil
}

// matches says that the pattern means h. Of the loopback's three forms each matches the others: what is dialled is then only
// what was named (see rules.address).
func (p pattern) matches(h host) bool {
	switch {
	case p.any:
		return !h.literal()
	case p.suffix != "":
		return !h.literal() && len(h.name) > len(p.suffix) && strings.HasSuffix(h.name, p.suffix)
	case p.host.loopback():
		return h.loopback()
	}
	return p.host == h
}

// permits says that an entry of what is allowed means this host and port.
func (p pattern) permits(h host, port int) bool {
	return p.matches(h) && p.onPort(port)
}

func (p pattern) onPort(port int) bool {
	if p.port == 0 {
		return isWeb(port)
	}
	return p.port == port
}

// forbids is the same for an entry of what is denied, which without a port means every port, and as "*" addresses too.
func (p pattern) forbids(h host, port int) bool {
	return (p.any || p.matches(h)) && (p.port == 0 || p.port == port)
}

func isWeb(port int) bool { return port == portTLS || port == portHTTP }

// parsePatterns takes a list of a configuration.
func parsePatterns(list []string, which string) ([]pattern, error) {
	out := make([]pattern, 0, len(list))
	for _, text := range list {
		p, err := parsePattern(text)
		if err != nil {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use %q in the list of hosts that are %s: %v", shown(text), which, err).
				WithHint(`write a name (api.example.com), everything below a name (*.example.com), an address ([::1]:8080), each with or without a port, or "*"`)
		}
		out = append(out, p)
	}
	return out, nil
}
