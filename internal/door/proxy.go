package door

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// serveProxy is port 3128, for programs that go by HTTPS_PROXY and HTTP_PROXY.
func (d *Door) serveProxy(w http.ResponseWriter, r *http.Request, _ *inside) {
	if r.Method == http.MethodConnect {
		d.connect(w, r)
		return
	}
	a := Attempt{Host: shown(r.Host), Via: ViaHTTP}
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		d.answerRefusal(w, a, http.StatusBadRequest, refusal("this is a proxy; it takes CONNECT and requests for http:// addresses"))
		return
	}
	h, port, err := parseAuthority(r.URL.Host)
	if err != nil {
		d.answerRefusal(w, a, http.StatusForbidden, err)
		return
	}
	if port == 0 {
		port = portHTTP
	}
	d.forward(w, r, &trip{host: h, port: port, via: ViaHTTP})
}

const connected = "HTTP/1.1 200 Connection established\r\n\r\n"

// connect opens a tunnel. What it names is checked here, and what is then spoken in it again: on port 443 a ClientHello for the same host, on
// port 80 requests for it, on another port (which an entry has to name) anything but a ClientHello for another host.
func (d *Door) connect(w http.ResponseWriter, r *http.Request) {
	a := Attempt{Host: shown(r.RequestURI), Via: ViaConnect}
	h, port, err := parseAuthority(r.RequestURI)
	if err == nil && port == 0 {
		err = refusal("the port is missing")
	}
	if err == nil {
		a.Host, a.Port = h.String(), port
		err = d.asker.permit(r.Context(), d.ctx, h, port, ViaConnect)
	}
	if err != nil {
		d.answerRefusal(w, a, http.StatusForbidden, err)
		return
	}
	if port == portHTTP {
		d.connectWeb(w, h)
		return
	}
	server, err := d.dial(r.Context(), h, port)
	if err != nil {
		status := http.StatusBadGateway
		if isRefusal(err) {
			status = http.StatusForbidden
		}
		d.answerRefusal(w, a, status, err)
		return
	}
	defer server.Close()
	c, first, err := hijack(w)
	if err != nil {
		return
	}
	defer c.Close()
	stop := context.AfterFunc(d.ctx, func() { c.Close() })
	defer stop()
	raw := c.(*inside).Conn
	if port != portTLS {
		d.tunnel(d.ctx, a, raw, server, nil, func() ([]byte, error) { return d.sniff(d.ctx, raw, first, h) })
		return
	}
	hi, first, err := d.peek(d.ctx, raw, first)
	if err == nil {
		_, err = d.named(hi, h)
	}
	if err != nil {
		d.refuse(a, err)
		if len(first) > 0 {
			_, _ = c.Write(alertDenied) // a courtesy
		}
		return
	}
	d.tunnel(d.ctx, a, raw, server, first, nil)
}

// connectWeb gives a tunnel to port 80 to the server of that port: its requests are checked like any.
func (d *Door) connectWeb(w http.ResponseWriter, h host) {
	c, first, err := hijack(w)
	if err != nil {
		return
	}
	in := &inside{Conn: &prefixed{c, first}, port: portHTTP, meant: h, bound: true, release: func() {}}
	if d.web.Serve(&single{c: in}) != io.EOF { //nolint:errorlint // it is our own listener's
		in.Close()
	}
}

// hijack takes a connection over and says that the tunnel is open. It gives what came after the request.
func hijack(w http.ResponseWriter) (net.Conn, []byte, error) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, err
	}
	first := make([]byte, rw.Reader.Buffered())
	if _, err = io.ReadFull(rw.Reader, first); err == nil {
		if err = c.SetDeadline(time.Time{}); err == nil {
			_, err = io.WriteString(c, connected)
		}
	}
	if err != nil {
		c.Close()
	}
	return c, first, err
}

// single is a listener with one connection.
type single struct{ c net.Conn }

func (s *single) Accept() (net.Conn, error) {
	c := s.c
	if c == nil {
		return nil, io.EOF
	}
	s.c = nil
	return c, nil
}

func (s *single) Close() error   { return nil }
func (s *single) Addr() net.Addr { return &net.TCPAddr{} }
