package door

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"
)

// hello is what a ClientHello says in the clear.
type hello struct {
	name string // as it was sent; empty: none
	ech  bool   // its real name may be hidden
}

const (
	extensionECH  = 0xfe0d
	extensionESNI = 0xffce // the draft before it
	mostHello     = 80 << 10
	recordTLS     = 22 // the first byte of a TLS connection
)

var (
	errSeen   = errors.New("seen")
	errTooBig = refusal("the ClientHello is too large")
	errNotTLS = refusal("the connection does not begin with TLS")
)

// peek reads a ClientHello from r and gives back the bytes that it took, whether or not it could be understood.
func peek(ctx context.Context, r io.Reader) (hello, []byte, error) {
	var out hello
	tape := &tape{r: r}
	config := &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		out.name = info.ServerName
		out.ech = slices.Contains(info.Extensions, extensionECH) || slices.Contains(info.Extensions, extensionESNI)
		return nil, errSeen
	}}
	err := tls.Server(tape, config).HandshakeContext(ctx)
	switch {
	case errors.Is(err, errSeen):
		return out, tape.read, nil
	case errors.As(err, &tls.RecordHeaderError{}):
		err = errNotTLS
	case errors.Is(err, errTooBig):
		err = errTooBig
	case tape.err != nil:
		err = refusal("the connection ended before a ClientHello was there")
	default:
		err = refusal("the ClientHello is malformed")
	}
	return hello{}, tape.read, err
}

// tape is a connection for crypto/tls that keeps what was read and writes nothing: the alerts of our reading are not the client's.
type tape struct {
	r    io.Reader
	read []byte
	err  error
}

func (t *tape) Read(p []byte) (int, error) {
	if len(t.read) >= mostHello {
		return 0, errTooBig
	}
	n, err := t.r.Read(p[:min(len(p), mostHello-len(t.read))])
	t.read = append(t.read, p[:n]...)
	if err != nil {
		t.err = err
	}
	return n, err
}

func (t *tape) Write(p []byte) (int, error)      { return len(p), nil }
func (t *tape) Close() error                     { return nil }
func (t *tape) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (t *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (t *tape) SetDeadline(time.Time) error      { return nil }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }

// alertDenied is a TLS alert, access_denied, so that a client's error says more than that a connection ended.
var alertDenied = []byte{21, 3, 1, 0, 2, 2, 49}

// named checks what a ClientHello says against the host that the connection was made for, and gives the host to dial. meant is empty where
// none is known.
func (d *Door) named(h hello, meant host) (host, error) {
	if h.ech && !d.ech {
		return host{}, refusal("the ClientHello may hide another name (ECH)")
	}
	if meant.addr.IsValid() {
		return meant, nil // the address itself is permitted, whatever is spoken there
	}
	if h.name == "" {
		return host{}, refusal("the ClientHello names no host")
	}
	name, err := parseName(h.name)
	if err != nil {
		return host{}, err
	}
	if meant.name != "" && meant.name != name {
		return host{}, refusal("the connection was made for " + meant.name + ", but the ClientHello names " + name)
	}
	return host{name: name}, nil
}
