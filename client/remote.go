package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/sock"
)

// Remote is a daemon that is reached over TCP.
type Remote struct {
	// URL is http or https, a host and a port.
	URL string
	// Token is what `substrat daemon token` shows there. It is sent with every request and never shown.
	Token string
	// CAFile has certificates in PEM that are trusted besides the system's; it is for https only.
	CAFile string
}

// NewRemote makes a client of a daemon that listens on TCP. A malformed URL, no token, and certificates that cannot be
// read are CodeInvalid.
func NewRemote(r Remote) (*Client, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot reach a daemon at %.200q: not a URL of a host and a port", r.URL).WithHint("http://127.0.0.1:7777")
	}
	if r.Token == "" {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot reach the daemon at %s without its token", u.Host).
			WithHint("substrat daemon token shows it, where the daemon runs")
	}
	c := &Client{base: u.Scheme + "://" + u.Host, token: r.Token}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), u.Scheme)
	}
	if u.Scheme == "https" {
		c.secure = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}}
		if c.secure.RootCAs, err = trusted(r.CAFile); err != nil {
			return nil, err
		}
	}
	c.address = address
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) }
	// No proxy: the token is for the daemon alone. No redirects: it sends none, and the token must not follow one.
	c.http = &http.Client{
		Transport:     &http.Transport{DialContext: dial, DialTLSContext: dial, MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // nil is the system's certificates
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read the certificates: %v", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot read the certificates in %s: there are none in PEM", file)
	}
	return pool, nil
}

// connect opens a connection, with TLS where that is spoken.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	if c.socket != "" {
		return sock.Dial(ctx, c.socket)
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	if c.secure == nil {
		return d.DialContext(ctx, "tcp", c.address)
	}
	return (&tls.Dialer{NetDialer: &d, Config: c.secure}).DialContext(ctx, "tcp", c.address)
}

// Dial opens a connection to the daemon for a request that [net/http] cannot make, and gives the lines of the request's
// head that it needs, each with its end.
func (c *Client) Dial(ctx context.Context) (conn net.Conn, head string, err error) {
	if conn, err = c.dial(ctx); err != nil {
		return nil, "", err
	}
	host, _ := url.Parse(c.base)
	head = "Host: " + host.Host + "\r\n"
	if c.token != "" {
		head += "Authorization: Bearer " + c.token + "\r\n"
	}
	return conn, head, nil
}
