package door

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// trip is one request on its way out.
type trip struct {
	host    host
	port    int
	via     string
	route   *route // nil: plain HTTP, as it came
	through http.RoundTripper

	mu       sync.Mutex
	told     *Attempt // that it was allowed, once it was
	up, down atomic.Int64
}

type contextKey int

const (
	keyInside contextKey = iota
	keyTrip
)

func tripOf(ctx context.Context) *trip { return ctx.Value(keyTrip).(*trip) }

// newServer is an HTTP server for connections from inside. All of them take a request apart and write it anew, so that two readers of one request
// cannot see two: what leaves has one host, which is the one that was checked.
func (d *Door) newServer(via string, h2 bool, handle func(http.ResponseWriter, *http.Request, *inside)) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(h2)
	return &http.Server{
		Protocols:         protocols,
		ReadHeaderTimeout: d.limits.hello,
		IdleTimeout:       d.limits.keep,
		MaxHeaderBytes:    128 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return d.ctx },
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, keyInside, c) },
		ConnState: func(c net.Conn, state http.ConnState) {
			in := c.(*inside)
			switch state {
			case http.StateNew:
				d.crew.join(1)
			case http.StateActive:
				in.begun.Add(1)
			case http.StateHijacked:
				d.crew.join(-1)
			case http.StateClosed:
				if !h2 && in.begun.Load() > in.understood.Load() {
					d.refuse(Attempt{Host: in.named(), Port: in.port, Via: via}, refusal("a request cannot be understood"))
				}
				d.crew.join(-1)
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d.crew.join(1)
			defer d.crew.join(-1)
			in := r.Context().Value(keyInside).(*inside)
			in.understood.Add(1)
			handle(w, r, in)
		}),
	}
}

// named is the name that the connection was made for, if any.
func (c *inside) named() string {
	if c.bound {
		return c.meant.String()
	}
	return ""
}

// serveWeb is port 80: each request is for the host that it names.
func (d *Door) serveWeb(w http.ResponseWriter, r *http.Request, c *inside) {
	a := Attempt{Host: shown(r.Host), Port: c.port, Via: ViaHTTP}
	h, port, err := parseAuthority(r.Host)
	switch {
	case r.Method == http.MethodConnect || r.URL.IsAbs() && r.URL.Scheme != "http":
		d.answerRefusal(w, a, http.StatusBadRequest, refusal("this port takes plain HTTP requests only"))
		return
	case err != nil:
		d.answerRefusal(w, a, http.StatusForbidden, err)
		return
	case port != 0 && port != c.port:
		d.answerRefusal(w, a, http.StatusForbidden, refusal("the request names another port than the connection's"))
		return
	case c.bound && h != c.meant:
		d.answerRefusal(w, a, http.StatusForbidden, refusal("the connection was made for "+c.meant.String()+", but the request names "+h.String()))
		return
	}
	d.forward(w, r, &trip{host: h, port: c.port, via: ViaHTTP})
}

// forward sends a plain request to a host, if the rules let it.
func (d *Door) forward(w http.ResponseWriter, r *http.Request, t *trip) {
	if err := d.asker.permit(r.Context(), d.ctx, t.host, t.port, t.via); err != nil {
		d.answerRefusal(w, Attempt{Host: t.host.String(), Port: t.port, Via: t.via}, http.StatusForbidden, err)
		return
	}
	t.through = d.plain
	d.send(w, r, t)
}

// send sends a request that is permitted and brings the answer back.
func (d *Door) send(w http.ResponseWriter, r *http.Request, t *trip) {
	// After another upgrade than to a websocket there would be further requests in what passes, unseen.
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		r.Header.Del("Upgrade")
		r.Header.Del("Http2-Settings")
	}
	// Where both sides speak at once the server would otherwise read the whole request first.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 needs no such thing
	ctx := context.WithValue(r.Context(), keyTrip, t)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { d.tellAllowed(t, i.Conn.RemoteAddr()) }})
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.told != nil {
			a := *t.told
			a.Verdict, a.Up, a.Down = Closed, t.up.Load(), t.down.Load()
			d.teller.add(a)
		}
	}()
	d.proxy.ServeHTTP(w, r.WithContext(ctx))
}

func (d *Door) tellAllowed(t *trip, at net.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told != nil {
		return
	}
	t.told = &Attempt{Host: t.host.String(), Port: t.port, Via: t.via, Verdict: Allowed, Address: at.String()}
	d.teller.add(*t.told)
}

// answerRefusal tells inside and outside why a request was not sent.
func (d *Door) answerRefusal(w http.ResponseWriter, a Attempt, status int, err error) {
	d.refuse(a, err)
	subject := a.Host
	if h, _, bad := parseAuthority(a.Host); bad == nil && a.Port != 0 {
		subject = h.authority(a.Port)
	}
	text := "substrat: " + subject + " " + err.Error()
	// What begins with a noun is a sentence of its own; the host stands before it.
	for _, noun := range []string{"the ", "this ", "no ", "a "} {
		if strings.HasPrefix(err.Error(), noun) {
			text = "substrat: " + subject + ": " + err.Error()
		}
	}
	if status == http.StatusForbidden {
		text += "; ask the person who runs this team"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// newProxy is what carries requests of all kinds; which kind follows from the trip.
func (d *Door) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		BufferPool:    &buffers{},
		Transport:     roundTrip(func(r *http.Request) (*http.Response, error) { return tripOf(r.Context()).through.RoundTrip(r) }),
		Rewrite: func(p *httputil.ProxyRequest) {
			t := tripOf(p.In.Context())
			p.Out.URL.User = nil
			if t.route != nil {
				t.route.rewrite(p)
			} else {
				p.Out.URL.Scheme, p.Out.URL.Host = "http", t.host.authority(t.port)
				p.Out.Host = p.Out.URL.Host
				if t.port == portHTTP {
					p.Out.Host = strings.TrimSuffix(p.Out.Host, ":80")
				}
			}
			if p.Out.Body != nil && p.Out.Body != http.NoBody {
				p.Out.Body = &countedBody{p.Out.Body, &t.up}
			}
		},
		ModifyResponse: func(r *http.Response) error {
			t := tripOf(r.Request.Context())
			if t.route != nil {
				t.route.clean(r.Header)
				r.Status = "" // the target's own words for the status are not passed on
			}
			if both, ok := r.Body.(io.ReadWriteCloser); ok && r.StatusCode == http.StatusSwitchingProtocols {
				r.Body = &countedBoth{both, t}
			} else {
				r.Body = &countedBody{r.Body, &t.down}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			t := tripOf(r.Context())
			status := http.StatusBadGateway
			var no refusal
			var cannot failure
			switch {
			case errors.As(err, &no):
				err, status = no, http.StatusForbidden
			case errors.As(err, &cannot):
				err = cannot
			default:
				err = failure("cannot be reached: " + plain(err))
			}
			d.answerRefusal(w, Attempt{Host: t.host.String(), Port: t.port, Via: t.via}, status, err)
		},
	}
}

// newTransport is a client that knows of no proxy, follows nothing, and dials what was checked.
func (d *Door) newTransport(dial func(ctx context.Context, h host, port int) (*outside, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			h, port, err := parseAuthority(address)
			if err != nil {
				return nil, err
			}
			// Not "return dial(…)": a nil *outside is not a nil net.Conn.
			c, err := dial(ctx, h, port)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		DisableCompression:     true,
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// countedBody counts what is read of a body.
type countedBody struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// countedBoth counts both directions of an upgraded connection.
type countedBoth struct {
	io.ReadWriteCloser
	t *trip
}

func (c *countedBoth) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.t.down.Add(int64(n))
	return n, err
}

func (c *countedBoth) Write(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Write(p)
	c.t.up.Add(int64(n))
	return n, err
}

// buffers lends the proxy what it copies with.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
