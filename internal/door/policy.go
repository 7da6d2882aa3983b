package door

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"substrat.dev/substrat"
)

// What becomes of a name that no entry means.
const (
	DefaultDeny  = "deny"
	DefaultAsk   = "ask"
	DefaultAllow = "allow"
)

// Policy says what may be reached. The zero value lets nothing out.
type Policy struct {
	// Allow and Deny hold patterns: "api.x.com", "*.x.com" (everything below x.com at any depth, not x.com), "*" (every name), an
	// address, "localhost"; each with ":port" or without. Without a port an allowed entry means 443 and 80, a denied one all ports. What
	// is denied stays denied, whatever allows it. An address is never meant by a name or "*".
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`

	// Default is what becomes of other names: DefaultDeny, which is also the empty word, DefaultAsk or DefaultAllow (ports 443 and 80).
	Default string `json:"default,omitempty"`

	// Routes are the ports on which keys are added to requests.
	Routes []Route `json:"routes,omitempty"`

	// AllowECH lets a ClientHello pass whose real name may be hidden. See the package's comment.
	AllowECH bool `json:"allow_ech,omitempty"`
}

// Route is a port inside whose requests go to one host, with headers that the agent never sees.
type Route struct {
	Port   int    `json:"port"`
	Target string `json:"target"` // https://api.example.com, or http:// for an address of this machine
	// Header is set on each request, replacing what the agent sent. An empty value removes the header.
	Header map[string]string `json:"header,omitempty"`
}

// String leaves out the values of the headers, which are secrets.
func (r Route) String() string { return fmt.Sprintf("%d to %s", r.Port, r.Target) }

// GoString does too.
func (r Route) GoString() string { return r.String() }

const (
	mostPorts   = 64
	mostEntries = 4096
)

// Check refuses a policy that cannot be kept.
func (p Policy) Check() error {
	_, err := p.compile()
	return err
}

// Ports are the further TCP ports, beside 80, 443, 53, 3128 and those of routes, that have to be listened on inside.
func (p Policy) Ports() []int {
	var out []int
	for _, text := range p.Allow {
		if e, err := parsePattern(text); err == nil && e.port != 0 && !p.taken(e.port) && !slices.Contains(out, e.port) {
			out = append(out, e.port)
		}
	}
	slices.Sort(out)
	return out
}

// Listen are all TCP ports that have to be listened on inside: the door's own, those of routes and [Policy.Ports].
func (p Policy) Listen() []int {
	out := []int{portDNS, portHTTP, portTLS, PortProxy}
	for _, r := range p.Routes {
		out = append(out, r.Port)
	}
	return append(out, p.Ports()...)
}

func ownPort(port int) bool { return isWeb(port) || port == portDNS || port == PortProxy }

func (p Policy) taken(port int) bool {
	return ownPort(port) || slices.ContainsFunc(p.Routes, func(r Route) bool { return r.Port == port })
}

// compiled is a policy that was checked.
type compiled struct {
	allow, deny []pattern
	fallback    string
	routes      map[int]*route
}

func (p Policy) compile() (c compiled, err error) {
	if n := len(p.Allow) + len(p.Deny); n > mostEntries {
		return c, substrat.Errorf(substrat.CodeTooLarge, "cannot use a list of %d hosts: %d are the most", n, mostEntries)
	}
	if c.allow, err = parsePatterns(p.Allow, "allowed"); err != nil {
		return c, err
	}
	if c.deny, err = parsePatterns(p.Deny, "denied"); err != nil {
		return c, err
	}
	if n := len(p.Ports()); n > mostPorts {
		return c, substrat.Errorf(substrat.CodeTooLarge, "cannot listen on %d ports for the list of hosts: %d are the most", n, mostPorts)
	}
	switch c.fallback = p.Default; c.fallback {
	case "":
		c.fallback = DefaultDeny
	case DefaultDeny, DefaultAsk, DefaultAllow:
	default:
		return c, substrat.Errorf(substrat.CodeInvalid, "cannot use %q for other hosts", shown(p.Default)).WithHint("write deny, ask or allow")
	}
	c.routes = map[int]*route{}
	for _, r := range p.Routes {
		if c.routes[r.Port] != nil {
			return c, substrat.Errorf(substrat.CodeInvalid, "cannot use two routes on port %d", r.Port).WithHint("give each a port of its own")
		}
		if c.routes[r.Port], err = r.compile(); err != nil {
			return c, err
		}
	}
	for _, e := range c.allow {
		if c.routes[e.port] != nil && e.host.loopback() {
			return c, substrat.Errorf(substrat.CodeInvalid, "cannot use port %d of this machine for a route and for an allowed host", e.port).WithHint("give the route another port")
		}
	}
	return c, nil
}

// compile checks a route. Errors name headers, never their values.
func (r Route) compile() (*route, error) {
	if r.Port < 1 || r.Port > 65535 || ownPort(r.Port) {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use port %d for a route", r.Port).WithHint("choose one that is not 53, 80, 443 or %d", PortProxy)
	}
	u, err := url.Parse(r.Target)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the target of the route on port %d", r.Port).WithHint("write https://, a host and perhaps a path")
	}
	h, port, err := parseAuthority(u.Host)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the target of the route on port %d: %v", r.Port, err)
	}
	if u.Scheme == "http" && !h.literal() {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the target of the route on port %d: keys would travel unencrypted", r.Port).WithHint("write https://")
	}
	if port == 0 {
		if port = portTLS; u.Scheme == "http" {
			port = portHTTP
		}
	}
	out := &route{target: u, host: h, port: port, header: map[string]string{}}
	for name, value := range r.Header {
		if !isToken(name) || strings.ContainsFunc(value, unicode.IsControl) || isFraming(name) {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot set the header %q on the route on port %d", shown(name), r.Port)
		}
		out.header[name] = value
		out.secrets = append(out.secrets, secretsOf(value)...)
	}
	return out, nil
}

// isFraming names the headers that say where a request goes and where it ends.
func isFraming(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect":
		return true
	}
	return false
}

// isToken says that a header may have this name.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
}
