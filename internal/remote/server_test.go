package remote

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// serving is a server that runs for a test.
func serving(t *testing.T, o Options, h http.Handler) (*Server, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	o.TokenFile, o.Log = filepath.Join(t.TempDir(), "token"), slog.New(slog.NewTextHandler(log, nil))
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), h) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, log
}

func ask(t *testing.T, c *http.Client, url, token string) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return c.Do(r)
}

// TestRotation: with a new token the old one is worth nothing, also for an answer that has begun.
func TestRotation(t *testing.T) {
	ended := make(chan struct{})
	s, _ := serving(t, Options{Listen: "127.0.0.1:0"}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/stream" {
			<-r.Context().Done()
			close(ended)
		}
	}))
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	old, err := Token(s.o.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	res, err := ask(t, c, s.URL()+"/stream", old)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	if _, err := Rotate(s.o.TokenFile); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("an answer that was begun with the old token goes on")
	}
	again, err := ask(t, c, s.URL()+"/", old)
	if err != nil || again.StatusCode != 401 {
		t.Error("the old token: ", again, err)
	}
	_ = again.Body.Close()
}

// TestLostToken: without a token nobody comes in.
func TestLostToken(t *testing.T) {
	s, _ := serving(t, Options{Listen: "127.0.0.1:0"}, http.NotFoundHandler())
	token, _ := Token(s.o.TokenFile)
	if err := os.Remove(s.o.TokenFile); err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for _, token := range []string{token, ""} {
		res, err := ask(t, c, s.URL()+"/", token)
		if err != nil || res.StatusCode != 503 {
			t.Fatal(res, err)
		}
		_ = res.Body.Close()
	}
}

// TestHugeHead: a head that does not end is not read to its end.
func TestHugeHead(t *testing.T) {
	s, _ := serving(t, Options{Listen: "127.0.0.1:0"}, http.NotFoundHandler())
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 64<<10))
	answer, _ := io.ReadAll(c)
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 431")) {
		t.Errorf("%.200s", answer)
	}
}

// TestTLS: with a certificate it speaks TLS, and without one it warns beyond this machine.
func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	s, log := serving(t, Options{Listen: "0.0.0.0:0", TLSCert: cert, TLSKey: key}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	token, _ := Token(s.o.TokenFile)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL(), "https://"))
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	defer c.CloseIdleConnections()
	res, err := ask(t, c, "https://localhost:"+port+"/", token)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	if strings.Contains(log.String(), "in the clear") {
		t.Error("it warns although it speaks TLS")
	}
	_, log = serving(t, Options{Listen: "0.0.0.0:0"}, http.NotFoundHandler())
	if !strings.Contains(log.String(), "in the clear") {
		t.Error("no warning without TLS")
	}
	_, log = serving(t, Options{Listen: "127.0.0.1:0"}, http.NotFoundHandler())
	if strings.Contains(log.String(), "in the clear") {
		t.Error("a warning on this machine")
	}
}

func TestListenRefuses(t *testing.T) {
	for _, o := range []Options{
		{Listen: ""}, {Listen: ":7777"}, {Listen: "localhost"}, {Listen: "127.0.0.1:seven"}, {Listen: "127.0.0.1:70000"},
		{Listen: "127.0.0.1:0", TLSCert: "/nowhere", TLSKey: "/nowhere"}, {Listen: "127.0.0.1:0", TLSCert: "/nowhere"},
	} {
		o.TokenFile, o.Log = filepath.Join(t.TempDir(), "token"), slog.New(slog.DiscardHandler)
		if _, err := Listen(t.Context(), o); substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("%+v: %v", o.Listen, err)
		}
	}
}

// certificate makes one for localhost that signs itself.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, data := range map[string][]byte{certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}
