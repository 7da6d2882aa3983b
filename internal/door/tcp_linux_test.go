package door

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// TestByAddress: ssh names no host; the address that its name was given does.
func TestByAddress(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com:22", "other.com"}}, nil)
	w.name("other.com", publicB)
	w.echo(publicA + ":22")
	w.echo(publicB + ":22")
	c := w.mustDial("allowed.com", 22)
	buf := bufio.NewReader(c)
	if line, err := buf.ReadString('\n'); err != nil || line != "hello of "+publicA+":22\n" {
		t.Fatal(line, err) // it speaks first
	}
	fmt.Fprint(c, "SSH-2.0-test\r\n")
	_ = c.(*net.TCPConn).CloseWrite()
	if rest, err := io.ReadAll(buf); err != nil || string(rest) != "SSH-2.0-test\r\n" {
		t.Error(rest, err)
	}
	a := w.await("closed", func(a Attempt) bool { return a.Verdict == Closed })
	if a.Host != "allowed.com" || a.Port != 22 || a.Via != ViaTCP || a.Up != 14 || a.Address != publicA+":22" {
		t.Errorf("%+v", a)
	}
	for to, why := range map[string]string{"other.com": "not on the list", "127.64.200.200": "no name was given", "127.0.0.1": "is an address"} {
		if out := w.say(to, 22, ""); out != "" {
			t.Errorf("%s: %q", to, out)
		}
		w.denied(ViaTCP, why)
	}
	// TLS on such a port has to name the host, if it names one.
	c = w.mustDial("allowed.com", 22)
	if _, err := c.Write(clientHello(t, "evil.com")); err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(c)
	if len(out) > 100 {
		t.Error("it was sent")
	}
	w.denied(ViaTCP, "the ClientHello names evil.com")
	for _, name := range []string{"allowed.com", ""} {
		c = w.mustDial("allowed.com", 22)
		if _, err := c.Write(clientHello(t, name)); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		if out, _ := io.ReadAll(c); !bytes.HasSuffix(out, clientHello(t, name)[200:]) && len(out) < 200 {
			t.Errorf("%q: %d bytes", name, len(out))
		}
	}
}

// TestThisMachine: a person may name a service of the machine itself.
func TestThisMachine(t *testing.T) {
	for _, c := range []struct{ entry, real string }{
		{"127.0.0.1:11434", "127.0.0.1:11434"}, {"localhost:11434", "127.0.0.1:11434"}, {"localhost:11434", "[::1]:11434"}, {"[::1]:11434", "[::1]:11434"},
	} {
		w := open(t, Policy{Allow: []string{c.entry, "allowed.com"}}, nil)
		w.name("allowed.com", "127.0.0.1")
		w.echo(c.real)
		for _, to := range []string{"127.0.0.1", "localhost"} {
			if line := readLine(t, w.mustDial(to, 11434)); line != "hello of "+c.real {
				t.Error(c, line)
			}
		}
		for _, dialled := range w.dials() {
			if c.entry != "localhost:11434" && dialled != c.entry {
				t.Errorf("%s: dialled %s", c.entry, dialled)
			}
		}
		// That does not open other ports of the machine.
		if out := w.say("127.0.0.1", PortProxy, "CONNECT 127.0.0.1:11435 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(out, "HTTP/1.1 403") {
			t.Error(out)
		}
		conn := w.mustDial("allowed.com", 443)
		_, _ = conn.Write(clientHello(t, "allowed.com"))
		_, _ = io.ReadAll(conn)
		w.denied(ViaTLS, "leads to 127.0.0.1")
	}
	w := open(t, Policy{Allow: []string{"localhost:11434"}, Deny: []string{"127.0.0.1"}}, nil)
	if out := w.say("127.0.0.1", 11434, ""); out != "" {
		t.Error(out)
	}
	w.denied(ViaTCP, "is on the list of hosts that are denied")
}

// TestOneWay: an upload alone is not idle, although the other direction carries nothing.
func TestOneWay(t *testing.T) {
	const idle = 200 * time.Millisecond
	w := open(t, Policy{Allow: []string{"allowed.com:22"}}, func(_ *Options, d *Door) {
		if d != nil {
			d.limits.idle = idle
		}
	})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w.listen(publicA+":22", l)
	c := w.mustDial("allowed.com", 22)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	sent := 0
	for began := time.Now(); time.Since(began) < 5*idle; time.Sleep(idle / 20) {
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal("an upload was ended: ", err)
		}
		sent++
	}
	_ = c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(server); err != nil || len(got) != sent {
		t.Errorf("%d of %d bytes, %v", len(got), sent, err)
	}
}

// TestIdle: a tunnel on which nothing moves is ended, one on which something does is not.
func TestIdle(t *testing.T) {
	const idle = 100 * time.Millisecond
	w := open(t, Policy{Allow: []string{"allowed.com:22"}}, func(_ *Options, d *Door) {
		if d != nil {
			d.limits.idle = idle
		}
	})
	w.echo(publicA + ":22")
	c := w.mustDial("allowed.com", 22)
	buf := bufio.NewReader(c)
	if _, err := buf.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 5*idle; {
		time.Sleep(idle / 5)
		if _, err := c.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := buf.ReadString('\n'); err != nil {
			t.Fatal("a connection in use was ended: ", err)
		}
	}
	if _, err := buf.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an idle connection was left: %v", err)
	}
}

// TestBulk: much goes through both ways at once and arrives as it was, also across idle limits.
func TestBulk(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com:22"}}, func(_ *Options, d *Door) {
		if d != nil {
			d.limits.idle = time.Second
		}
	})
	w.echo(publicA + ":22")
	c := w.mustDial("allowed.com", 22)
	data := bytes.Repeat([]byte("0123456789abcdef"), 4<<20/16)
	sent := sha256.New()
	go func() {
		for range 16 {
			_, _ = io.MultiWriter(sent, c).Write(data)
			time.Sleep(80 * time.Millisecond)
		}
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	buf := bufio.NewReader(c)
	if _, err := buf.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	got := sha256.New()
	n, err := io.Copy(got, buf)
	if err != nil || n != 64<<20 || !bytes.Equal(got.Sum(nil), sent.Sum(nil)) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestMostConnections: further ones are refused, and places come back.
func TestMostConnections(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com:22"}}, func(_ *Options, d *Door) {
		if d != nil {
			d.places = make(chan struct{}, 2)
		}
	})
	w.echo(publicA + ":22")
	a, b := w.mustDial("allowed.com", 22), w.mustDial("allowed.com", 22)
	readLine(t, a)
	readLine(t, b)
	if out := w.say("allowed.com", 22, ""); out != "" {
		t.Error(out)
	}
	w.await("too many", func(a Attempt) bool { return strings.Contains(a.Why, "too many connections") })
	a.Close()
	w.await("closed", func(a Attempt) bool { return a.Verdict == Closed })
	for range 100 { // the place comes back just after
		c := w.mustDial("allowed.com", 22)
		if line, err := bufio.NewReader(c).ReadString('\n'); err == nil && line != "" {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the place did not come back")
}
