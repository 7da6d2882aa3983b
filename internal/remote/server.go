package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"substrat.dev/substrat"
)

// Options are what a server is made of.
type Options struct {
	// Listen is an address with its port; port 0 takes a free one.
	Listen string
	// Hosts are names that the daemon answers to, besides localhost and the address itself.
	Hosts []string
	// TLSCert and TLSKey are PEM files; both or neither.
	TLSCert, TLSKey string
	// TokenFile holds the token, and is made if it is not there.
	TokenFile string
	Log       *slog.Logger
}

// connsMost is how many connections there may be at once; more wait to be accepted.
const connsMost = 256

// Server is a listener and what is served on it.
type Server struct {
	o        Options
	listener net.Listener
	http     http.Server
	token    *watched
}

// Listen opens the address. Nothing is answered before Serve.
func Listen(ctx context.Context, o Options) (*Server, error) {
	if err := CheckAddress(o.Listen); err != nil {
		return nil, err
	}
	if _, err := Token(o.TokenFile); err != nil {
		return nil, err
	}
	var secure *tls.Config
	if o.TLSCert != "" || o.TLSKey != "" {
		pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot use the certificate for %s: %v", o.Listen, err).WithHint("--tls-cert and --tls-key are files in PEM, of one pair")
		}
		secure = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot listen on %s: %v", o.Listen, err)
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); secure == nil && (err != nil || !at.Addr().IsLoopback()) {
		o.Log.Warn("the API listens beyond this machine without TLS: the token and all that is said travel in the clear", "address", l.Addr().String(),
			"hint", "--tls-cert and --tls-key, or listen on 127.0.0.1 behind an SSH tunnel")
	}
	s := &Server{o: o, listener: netutil.LimitListener(l, connsMost), token: newWatched(o.TokenFile)}
	if secure != nil {
		s.listener = tls.NewListener(s.listener, secure)
	}
	return s, nil
}

// CheckAddress refuses what is no address with a port.
func CheckAddress(listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || host == "" {
		return substrat.Errorf(substrat.CodeInvalid, "cannot listen on %.80q: not an address with a port", listen).WithHint("127.0.0.1:7777")
	}
	return nil
}

// URL is where the API is.
func (s *Server) URL() string {
	scheme := "http://"
	if s.o.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// Serve answers requests until Shutdown, and then returns nil. Requests have ctx above them.
func (s *Server) Serve(ctx context.Context, h http.Handler) error {
	hosts := make([]string, 0, len(s.o.Hosts))
	for _, name := range s.o.Hosts {
		hosts = append(hosts, strings.ToLower(name))
	}
	g := &guard{next: s.token.endWith(h), hosts: hosts, token: s.token.read, rates: newRates(time.Now), log: s.o.Log}
	s.http.Handler = g
	s.http.ReadHeaderTimeout, s.http.IdleTimeout, s.http.MaxHeaderBytes = 5*time.Second, time.Minute, 32<<10
	s.http.ErrorLog = slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug)
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	var watching context.CancelFunc
	ctx, watching = context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); s.token.watch(ctx) }()
	err := s.http.Serve(s.listener)
	watching()
	<-done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown stops taking requests and waits for those that run, until ctx ends; then they are cut off.
func (s *Server) Shutdown(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	_ = s.listener.Close()
}
