package door

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"time"

	"substrat.dev/substrat"
)

// Options are what a door needs of its surroundings. All have a default.
type Options struct {
	// Resolve gives the addresses of a name, as this machine sees them. Default: the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked; it must not look anything up. Default: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Ask asks a person whether a host may be reached. It is called once for a place at a time and may take as long as it likes; an
	// error is no answer, and the next connection asks again. Without it nobody is asked, and what would be asked about is denied.
	Ask func(ctx context.Context, host string, port int) (bool, error)
	// Log is told of attempts, one at a time; it has to return soon. It is told the last ones before Serve returns.
	Log func(Attempt)
	// TLS is for the targets of routes, where the system's certificates do not do.
	TLS *tls.Config
}

// Listeners are the sockets inside, by the port that they stand for.
type Listeners struct {
	TCP map[int]net.Listener
	DNS net.PacketConn
}

// limits are bounds in time.
type limits struct {
	hello time.Duration // until a ClientHello, a request's headers or a DNS query is there
	idle  time.Duration // without a byte either way
	keep  time.Duration // between two requests
}

const mostConnections = 512

// Door decides about connections and carries them. One door serves one sandbox, once.
type Door struct {
	rules    *rules
	names    *names
	teller   *teller
	asker    *asker
	machine  *machine
	resolved *resolver
	dialOne  func(ctx context.Context, network, address string) (net.Conn, error)
	ech      bool
	limits   limits
	places   chan struct{}
	crew     *crew

	plain *http.Transport
	proxy *httputil.ReverseProxy

	// While it serves.
	ctx context.Context
	web *http.Server
}

// New makes a door of a policy, which is checked.
func New(p Policy, o Options) (*Door, error) {
	c, err := p.compile()
	if err != nil {
		return nil, err
	}
	if o.Resolve == nil {
		o.Resolve = lookup
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	d := &Door{
		rules:    &rules{compiled: c},
		names:    newNames(),
		teller:   newTeller(o.Log),
		machine:  &machine{look: net.InterfaceAddrs},
		resolved: &resolver{resolve: o.Resolve, kept: map[string]resolution{}},
		dialOne:  o.Dial,
		ech:      p.AllowECH,
		limits:   limits{hello: 10 * time.Second, idle: 30 * time.Minute, keep: 2 * time.Minute},
		places:   make(chan struct{}, mostConnections),
		crew:     &crew{},
	}
	d.crew.on.L = &d.crew.mu
	d.asker = &asker{ask: o.Ask, rules: d.rules, tell: d.teller, start: d.crew.start, wait: askWait, open: map[place]*question{}}
	d.plain = d.newTransport(func(ctx context.Context, h host, port int) (*outside, error) { return d.dial(ctx, h, port) })
	for _, r := range c.routes {
		t := d.newTransport(r.dialer(d))
		t.TLSClientConfig, t.ForceAttemptHTTP2 = o.TLS, true
		r.transport = t
	}
	d.proxy = d.newProxy()
	return d, nil
}

// Allow lets a host be reached from now on, as a person's answer does. host is a name, an address or a pattern such as *.x.com; port 0 means 443 and 80. It does
// not reach what the policy denies.
func (d *Door) Allow(host string, port int) error { return d.say(host, port, true) }

// Deny refuses a host from now on. Connections that are open stay.
func (d *Door) Deny(host string, port int) error { return d.say(host, port, false) }

func (d *Door) say(text string, port int, allow bool) error {
	p, err := parsePattern(text)
	if err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot take an answer about %q: %v", shown(text), err)
	}
	if p.port == 0 {
		p.port = port
	}
	if p.port != port && port != 0 || port < 0 || port > 65535 {
		return substrat.Errorf(substrat.CodeInvalid, "cannot take an answer about %q on port %d", shown(text), port)
	}
	d.rules.say(p, allow)
	d.asker.answered()
	return nil
}

// Serve serves until outer ends, or a listener fails. It closes the listeners and every connection, and waits for all that it started.
func (d *Door) Serve(outer context.Context, l Listeners) error {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	d.ctx = ctx
	d.web = d.newServer(ViaHTTP, false, d.serveWeb)
	servers := []*http.Server{d.web}
	serve := func(f func() error) {
		d.crew.start(func() { cancel(f()) })
	}
	d.crew.start(func() { d.teller.run(ctx) })
	for port, inner := range l.TCP {
		g := &gate{Listener: inner, door: d, port: port}
		server := d.serverFor(port)
		if server == nil {
			serve(func() error { return d.serveEach(g) })
			continue
		}
		servers = append(servers, server)
		serve(func() error { return server.Serve(g) })
	}
	if l.DNS != nil {
		serve(func() error { return d.serveDNS(l.DNS) })
	}
	<-ctx.Done()
	for _, inner := range l.TCP {
		inner.Close()
	}
	if l.DNS != nil {
		l.DNS.Close()
	}
	for _, s := range servers {
		s.Close()
	}
	d.crew.wait()
	d.plain.CloseIdleConnections()
	for _, r := range d.rules.routes {
		r.transport.(*http.Transport).CloseIdleConnections()
	}
	d.teller.flush()
	if outer.Err() != nil {
		return nil
	}
	return substrat.Errorf(substrat.CodeInternal, "cannot serve the sandbox's network any longer: %v", context.Cause(ctx))
}

// serverFor gives the HTTP server for a port, nil where HTTP is not what is spoken.
func (d *Door) serverFor(port int) *http.Server {
	if r := d.rules.routes[port]; r != nil {
		return d.newServer(ViaRoute, true, r.serve(d))
	}
	switch port {
	case portHTTP:
		return d.web
	case PortProxy:
		return d.newServer(ViaConnect, false, d.serveProxy)
	}
	return nil
}

// serveEach serves a port on which something else is spoken.
func (d *Door) serveEach(g *gate) error {
	handle := d.serveTCP
	switch g.port {
	case portTLS:
		handle = d.serveTLS
	case portDNS:
		handle = d.serveDNSConn
	}
	for {
		c, err := g.accept()
		if err != nil {
			return err
		}
		d.crew.start(func() {
			defer c.Close()
			stop := context.AfterFunc(d.ctx, func() { c.Close() })
			defer stop()
			handle(d.ctx, c)
		})
	}
}
