package door

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The addresses of the names in these tests.
const (
	publicA = "93.184.216.34"
	publicB = "93.184.216.35"
)

// world is a door with real sockets on both sides: inside on any address of the loopback, outside by a table in place of the internet.
type world struct {
	t    testing.TB
	door *Door
	tcp  map[int]net.Listener
	dns  net.PacketConn

	mu       sync.Mutex
	internet map[string]string       // "93.184.216.34:443" to where it listens really
	zone     map[string][]netip.Addr // names
	broken   error                   // what the resolver says, if not addresses
	dialled  []string
	seen     []Attempt
	more     chan struct{}

	stop func()
}

// open starts a door. ports are listened on beside 80, 443, 3128 and 53.
func open(t testing.TB, p Policy, change func(*Options, *Door)) *world {
	t.Helper()
	w := &world{t: t, tcp: map[int]net.Listener{}, internet: map[string]string{}, zone: map[string][]netip.Addr{}, more: make(chan struct{}, 1)}
	w.name("allowed.com", publicA)
	o := Options{Resolve: w.resolve, Dial: w.dialOut, Log: w.log}
	if change != nil {
		change(&o, nil)
	}
	var err error
	if w.door, err = New(p, o); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&Options{}, w.door)
	}
	for _, port := range p.Listen() {
		l, err := net.Listen("tcp4", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		w.tcp[port] = l
	}
	if w.dns, err = net.ListenPacket("udp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.door.Serve(ctx, Listeners{TCP: w.tcp, DNS: w.dns}) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
			if n := w.door.crew.count(); n != 0 {
				t.Errorf("Serve ended before %d of its goroutines", n)
			}
		case <-time.After(10 * time.Second):
			t.Error("Serve does not end")
		}
	})
	t.Cleanup(w.stop)
	return w
}

func (w *world) name(name string, addrs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.zone[name] = nil
	for _, a := range addrs {
		w.zone[name] = append(w.zone[name], netip.MustParseAddr(a))
	}
}

// listen puts a listener at a place of the internet.
func (w *world) listen(place string, l net.Listener) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.internet[place] = l.Addr().String()
}

func (w *world) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return nil, w.broken
	}
	if addrs, ok := w.zone[name]; ok {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true, Server: "10.9.8.7:53"}
}

func (w *world) dialOut(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	real := w.internet[address]
	w.mu.Unlock()
	if real == "" {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return (&net.Dialer{}).DialContext(ctx, network, real)
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialled)
}

func (w *world) log(a Attempt) {
	w.mu.Lock()
	w.seen = append(w.seen, a)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// await waits for an attempt like that.
func (w *world) await(what string, like func(Attempt) bool) Attempt {
	w.t.Helper()
	limit := time.After(10 * time.Second)
	for {
		w.mu.Lock()
		i := slices.IndexFunc(w.seen, like)
		seen := slices.Clone(w.seen)
		w.mu.Unlock()
		if i >= 0 {
			return seen[i]
		}
		select {
		case <-w.more:
		case <-limit:
			w.t.Fatalf("no attempt: %s; there were %+v", what, seen)
		}
	}
}

func (w *world) denied(via, why string) Attempt {
	w.t.Helper()
	return w.await("denied via "+via+": "+why, func(a Attempt) bool {
		return a.Via == via && a.Verdict == Denied && strings.Contains(a.Why, why)
	})
}

// lookup asks the door's DNS.
func (w *world) lookup(name string) (string, error) {
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if strings.HasPrefix(network, "tcp") {
			return (&net.Dialer{}).DialContext(ctx, "tcp", w.at("127.0.0.1", 53))
		}
		return (&net.Dialer{}).DialContext(ctx, "udp", w.dns.LocalAddr().String())
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	addrs, err := r.LookupHost(ctx, name+".")
	if err != nil {
		return "", err
	}
	return addrs[0], nil
}

// at is where a port of the inside is really.
func (w *world) at(addr string, port int) string {
	_, real, _ := net.SplitHostPort(w.tcp[port].Addr().String())
	return net.JoinHostPort(addr, real)
}

// dial connects as a program inside does: by name, over DNS, or to an address.
func (w *world) dial(name string, port int) (net.Conn, error) {
	addr := name
	if _, err := netip.ParseAddr(name); err != nil {
		if addr, err = w.lookup(name); err != nil {
			return nil, err
		}
	}
	c, err := net.Dial("tcp4", w.at(addr, port))
	if err == nil {
		w.t.Cleanup(func() { c.Close() })
		err = c.SetDeadline(time.Now().Add(10 * time.Second))
	}
	return c, err
}

func (w *world) mustDial(name string, port int) net.Conn {
	w.t.Helper()
	c, err := w.dial(name, port)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// client is an HTTP client inside that knows of no proxy.
func (w *world) client() *http.Client {
	tr := &http.Transport{
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			h, port, err := parseAuthority(address)
			if err != nil {
				return nil, err
			}
			return w.dial(h.String(), port)
		},
		TLSClientConfig:   &tls.Config{RootCAs: pool()},
		ForceAttemptHTTP2: true,
	}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 20 * time.Second}
}

// say sends text and gives all that comes back until the end.
func (w *world) say(name string, port int, text string) string {
	w.t.Helper()
	c := w.mustDial(name, port)
	if _, err := io.WriteString(c, text); err != nil {
		w.t.Fatal(err)
	}
	out, _ := io.ReadAll(c)
	return string(out)
}

// certificate is valid for the names that these tests use.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"allowed.com", "*.allowed.com", "other.com", "evil.com", "localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
})

func pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(certificate().Leaf)
	return p
}

// website is a server of the internet.
func (w *world) website(place string, secure bool, h http.HandlerFunc) {
	s := httptest.NewUnstartedServer(h)
	if secure {
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate()}}
		s.StartTLS()
	} else {
		s.Start()
	}
	w.t.Cleanup(s.Close)
	w.listen(place, s.Listener)
}

// echo is a server of the internet that greets and then says everything back, as ssh greets before it is spoken to.
func (w *world) echo(place string) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.listen(place, l)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				fmt.Fprintln(c, "hello of "+place)
				_, _ = io.Copy(c, c)
				_ = c.(*net.TCPConn).CloseWrite()
			})
		}
	})
	w.t.Cleanup(func() { l.Close(); w.stop(); wg.Wait() })
}

func readLine(t testing.TB, r io.Reader) string {
	t.Helper()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSpace(line)
}

func (c *crew) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
