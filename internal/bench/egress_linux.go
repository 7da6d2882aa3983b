package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"substrat.dev/substrat/internal/door"
	"substrat.dev/substrat/internal/netns"
)

// egress measures the egress door from inside a real network namespace, beside the same over the loopback. The client is a process
// of its own both times; the server is this process, and so is the door, as it is in a shim.
func (b *bench) egress() error {
	s, err := b.serve()
	if err != nil {
		return err
	}
	defer s.close()
	for _, c := range []struct {
		name string
		get  fetch
	}{
		{"w2 HTTP/1.1 download", fetch{Scheme: "http"}},
		{"w2 HTTP/1.1 upload", fetch{Scheme: "http", Up: true}},
		{"w2 HTTP/2 over TLS, download", fetch{Scheme: "https"}},
		{"w2 HTTP/2 over TLS, upload", fetch{Scheme: "https", Up: true}},
	} {
		c.get.Bytes = int64(b.n(500)) << 20
		var direct, through []float64
		for range 3 {
			one, other, err := s.both(c.get)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			direct, through = append(direct, one.rate(c.get)), append(through, other.rate(c.get))
		}
		f, g := pct(direct, 0.5), pct(through, 0.5)
		// A gigabit line is to be the narrower one.
		b.row(c.name+", MB/s", fmt.Sprintf("%.0f", f), fmt.Sprintf("%.0f", g), g/f, "≥ 125 MB/s", g >= 125)
	}
	direct, through, err := s.both(fetch{Scheme: "https", Connects: b.n(300)})
	if err != nil {
		return err
	}
	b.beside("w2 name, connection, TLS handshake, p50", direct.Took, through.Took, 0.5)
	b.beside("w2                                  p99", direct.Took, through.Took, 0.99)
	return nil
}

// servers are what is fetched from, with and without TLS.
type servers struct {
	plain, tls *httptest.Server
	ca         string
}

func (b *bench) serve() (*servers, error) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		var n int64
		if _, err := fmt.Sscan(r.URL.Query().Get("n"), &n); err == nil {
			w.Header().Set("Content-Length", fmt.Sprint(n))
			_, _ = io.CopyBuffer(w, io.LimitReader(zeros{}, n), make([]byte, 256<<10))
		}
	})
	s := &servers{plain: httptest.NewServer(h), tls: httptest.NewUnstartedServer(h), ca: filepath.Join(b.dir, "ca.pem")}
	s.tls.EnableHTTP2 = true
	s.tls.StartTLS()
	return s, os.WriteFile(s.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.tls.Certificate().Raw}), 0o600)
}

func (s *servers) close() {
	s.plain.Close()
	s.tls.Close()
}

// both fetches over the loopback, then through the door.
func (s *servers) both(f fetch) (direct, through fetched, err error) {
	f.CA, f.At = s.ca, s.at(f.Scheme == "https")
	self, err := os.Executable()
	if err != nil {
		return direct, through, err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return direct, through, err
	}
	out, err := exec.Command(self, fetchCommand, string(text)).Output()
	if err == nil {
		err = json.Unmarshal(out, &direct)
	}
	if err != nil {
		return direct, through, fmt.Errorf("over the loopback: %w %s", err, out)
	}
	f.At = ""
	through, err = s.inside(self, f)
	return direct, through, err
}

func (s *servers) at(tls bool) string {
	if tls {
		return s.tls.Listener.Addr().String()
	}
	return s.plain.Listener.Addr().String()
}

// inside fetches from a network of its own, through a door whose every name leads to the servers.
func (s *servers) inside(self string, f fetch) (got fetched, err error) {
	text, err := json.Marshal(f)
	if err != nil {
		return got, err
	}
	step, err := netns.New([]int{80, 443, 53, 3128}, []int{53}, 3)
	if err != nil {
		return got, err
	}
	defer step.Close()
	argv, err := step.Argv([]string{self, fetchCommand, string(text)})
	if err != nil {
		return got, err
	}
	d, err := door.New(door.Policy{Allow: []string{host}}, door.Options{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, _ := net.SplitHostPort(address)
			return new(net.Dialer).DialContext(ctx, network, s.at(port == "443"))
		},
	})
	if err != nil {
		return got, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return got, err
	}
	defer out.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	step.Attributes(attr)
	pid, err := syscall.ForkExec(netns.Exe, argv, &syscall.ProcAttr{Dir: "/", Env: os.Environ(), Files: []uintptr{0, w.Fd(), 2, uintptr(step.Theirs())}, Sys: attr})
	w.Close()
	if err != nil {
		return got, err
	}
	sockets, err := step.Receive()
	if err == nil {
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- d.Serve(ctx, door.Listeners{TCP: sockets.TCP, DNS: sockets.UDP[53]}) }()
		err = json.NewDecoder(out).Decode(&got)
		stop()
		err = errors.Join(err, <-served)
	}
	var status syscall.WaitStatus
	if _, bad := syscall.Wait4(pid, &status, 0, nil); bad != nil || status.ExitStatus() != 0 {
		err = errors.Join(err, fmt.Errorf("through the door: the client ended with %d", status.ExitStatus()))
	}
	return got, err
}
