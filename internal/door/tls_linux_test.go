package door

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestHTTP2 goes through the door with a client that knows nothing of it, its TLS untouched.
func TestHTTP2(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com", "*.allowed.com"}}, nil)
	w.name("deep.api.allowed.com", publicB)
	site := func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "%s %s %d", r.Host, r.Proto, len(body))
	}
	w.website(publicA+":443", true, site)
	client := w.client()
	resp, err := client.Post("https://allowed.com/x", "text/plain", bytes.NewReader(make([]byte, 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(body) != "allowed.com HTTP/2.0 1048576" {
		t.Errorf("got %q", body)
	}
	a := w.await("allowed", func(a Attempt) bool { return a.Verdict == Allowed && a.Via == ViaTLS })
	if a.Host != "allowed.com" || a.Port != 443 || a.Address != publicA+":443" {
		t.Errorf("%+v", a)
	}
	client.CloseIdleConnections()
	a = w.await("closed", func(a Attempt) bool { return a.Verdict == Closed && a.Via == ViaTLS })
	if a.Up < 1<<20 || a.Down == 0 {
		t.Errorf("%+v", a)
	}
	if _, err := client.Get("https://deep.api.allowed.com/"); err == nil || strings.Contains(err.Error(), "no such host") {
		t.Errorf("a name at any depth below an entry has to be let through; %v", err)
	}
	w.await("refused outside", func(a Attempt) bool { return a.Verdict == Failed && a.Host == "deep.api.allowed.com" })
	if _, err := client.Get("https://evil.com/"); err == nil || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("evil.com: %v", err)
	}
	w.denied(ViaDNS, "not on the list")
}

// TestServerNames: what a ClientHello may and may not say.
func TestServerNames(t *testing.T) {
	for _, c := range []struct{ to, sni, why string }{
		{"allowed.com", "evil\x00.allowed.com", "a character that no name has"},
		{"allowed.com", "evil.com", "was made for allowed.com, but the ClientHello names evil.com"},
		{"allowed.com", "other.com", "was made for allowed.com, but the ClientHello names other.com"},
		{"allowed.com", "allowed.com.", "malformed"},
		{"allowed.com", "", "names no host"},
		{"127.0.0.1", "", "names no host"},
		{"127.0.0.1", "evil.com", "is not on the list of hosts"},
		{"127.0.0.1", "0x7f000001", "an address in disguise"},
		{"127.0.0.1", "127.1", "an address in disguise"},
		{"127.0.0.1", "2130706433", "an address in disguise"},
		{"127.0.0.1", "[::ffff:127.0.0.1]", "malformed"},
		{"127.0.0.1", "::ffff:127.0.0.1", "malformed"},
		{"127.0.0.1", "127.0.0.1", "an address in disguise"},
		{"127.0.0.1", "localhost", "is an address, which has to be on the list"},
		{"127.0.0.1", "allowed.com\n.evil.com", "a character that no name has"},
		{"127.0.0.1", "xn--allowed\u0430.com", "a character that no name has"},
		{"127.0.0.1", "allowed..com", "malformed"},
		{"127.0.0.1", "*.allowed.com", "malformed"},
		{"127.0.0.1", "allowed.com:443", "malformed"},
		{"127.0.0.1", strings.Repeat("a.", 130) + "allowed.com", "too long"},
		{"127.0.0.1", "notallowed.com", "is not on the list of hosts"},
		{"127.0.0.1", "denied.sub.com", "is on the list of hosts that are denied"},
		{"127.0.0.1", "sub.com", "is not on the list of hosts"},
	} {
		t.Run(c.sni, func(t *testing.T) {
			w := open(t, Policy{Allow: []string{"allowed.com", "other.com", "*.sub.com"}, Deny: []string{"denied.sub.com"}}, nil)
			conn := w.mustDial(c.to, 443)
			if _, err := conn.Write(clientHello(t, c.sni)); err != nil {
				t.Fatal(err)
			}
			if out, _ := io.ReadAll(conn); !bytes.Equal(out, alertDenied) {
				t.Errorf("got %q", out)
			}
			w.denied(ViaTLS, c.why)
			if d := w.dials(); len(d) != 0 {
				t.Errorf("dialled %v", d)
			}
		})
	}
}

// TestUpperCase: names have no case; what goes out does not change.
func TestUpperCase(t *testing.T) {
	w := open(t, Policy{Allow: []string{"Allowed.COM"}}, nil)
	w.echo(publicA + ":443")
	c := w.mustDial("aLLowed.com", 443)
	first := clientHello(t, "ALLOWED.com")
	if _, err := c.Write(first); err != nil {
		t.Fatal(err)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	out, err := io.ReadAll(c)
	if want := append([]byte("hello of "+publicA+":443\n"), first...); err != nil || !bytes.Equal(out, want) {
		t.Errorf("the bytes were changed: %v\n%x\n%x", err, out, want)
	}
}

// TestNotTLS: on port 443 nothing else passes, also not slowly.
func TestNotTLS(t *testing.T) {
	for name, bytes := range map[string]string{
		"http": "GET / HTTP/1.1\r\nHost: allowed.com\r\n\r\n", "ssh": "SSH-2.0-x\r\n", "junk": "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
		"huge": "\x16\x03\x01\x40\x00\x01\xff\xff\xff" + strings.Repeat("x", 1<<14),
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, Policy{Allow: []string{"allowed.com"}}, nil)
			if out := w.say("allowed.com", 443, bytes); out != string(alertDenied) {
				t.Errorf("got %q", out)
			}
			w.denied(ViaTLS, "")
		})
	}
	t.Run("slow", func(t *testing.T) {
		w := open(t, Policy{Allow: []string{"allowed.com"}}, func(_ *Options, d *Door) {
			if d != nil {
				d.limits.hello = 50 * time.Millisecond
			}
		})
		c := w.mustDial("allowed.com", 443)
		if _, err := c.Write([]byte{22, 3}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil {
			t.Error(err)
		}
		w.denied(ViaTLS, "ended before")
	})
}

// echConfig is a client's key for ECH, of the one form there is.
func echConfig(t *testing.T) []byte {
	t.Helper()
	public := make([]byte, 32) // X25519
	public[0] = 9
	body := []byte{7, 0x00, 0x20, 0, 32}
	body = append(body, public...)
	body = append(body, 0, 4, 0, 1, 0, 1, 32, byte(len("allowed.com")))
	body = append(append(body, "allowed.com"...), 0, 0)
	config := append([]byte{0xfe, 0x0d, 0, byte(len(body))}, body...)
	return append([]byte{0, byte(len(config))}, config...)
}

// TestECH: a ClientHello that may hide another name is refused, unless the policy lets it be; then its outer name counts.
func TestECH(t *testing.T) {
	for _, allow := range []bool{false, true} {
		w := open(t, Policy{Allow: []string{"allowed.com"}, AllowECH: allow}, nil)
		w.echo(publicA + ":443")
		c := w.mustDial("allowed.com", 443)
		err := tls.Client(c, &tls.Config{ServerName: "evil.com", EncryptedClientHelloConfigList: echConfig(t), MinVersion: tls.VersionTLS13}).Handshake()
		if err == nil {
			t.Fatal("a handshake with an echo")
		}
		if allow {
			w.await("allowed", func(a Attempt) bool { return a.Verdict == Allowed && a.Host == "allowed.com" })
		} else if a := w.denied(ViaTLS, "ECH"); !strings.Contains(err.Error(), "access denied") {
			t.Errorf("%v %+v", err, a)
		}
	}
}

// TestAddressesAreChecked: what a name resolves to decides too, and it is asked once.
func TestAddressesAreChecked(t *testing.T) {
	for _, addr := range []string{
		"127.0.0.1", "10.0.0.1", "192.168.1.1", "172.20.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
		"::1", "::", "fe80::1", "fd00:ec2::254", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "ff02::1",
	} {
		t.Run(addr, func(t *testing.T) {
			w := open(t, Policy{Allow: []string{"allowed.com"}}, nil)
			w.name("allowed.com", addr)
			c := w.mustDial("allowed.com", 443)
			if _, err := c.Write(clientHello(t, "allowed.com")); err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(c)
			w.denied(ViaTLS, "leads to ")
			if d := w.dials(); len(d) != 0 {
				t.Errorf("dialled %v", d)
			}
		})
	}
}

// TestRebinding: a resolver that says something else each time is asked once for a connection, and what it said then is what is dialled.
func TestRebinding(t *testing.T) {
	var asked atomic.Int32
	w := open(t, Policy{Allow: []string{"allowed.com"}}, func(o *Options, _ *Door) {
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			if asked.Add(1) == 1 {
				return []netip.Addr{netip.MustParseAddr(publicA)}, nil
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
	})
	try := func() string {
		c := w.mustDial("allowed.com", 443)
		if _, err := c.Write(clientHello(t, "allowed.com")); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(c)
		return strings.Join(w.dials(), " ")
	}
	if got := try(); got != publicA+":443" {
		t.Errorf("dialled %s", got)
	}
	w.door.resolved.mu.Lock()
	clear(w.door.resolved.kept)
	w.door.resolved.mu.Unlock()
	if got := try(); got != publicA+":443" {
		t.Errorf("dialled %s", got)
	}
	w.denied(ViaTLS, "leads to 127.0.0.1")
}

// TestOwnAddress: a public address of this machine leads to what listens here.
func TestOwnAddress(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com"}}, func(_ *Options, d *Door) {
		if d != nil {
			d.machine.look = func() ([]net.Addr, error) {
				return []net.Addr{&net.IPNet{IP: net.ParseIP(publicA), Mask: net.CIDRMask(24, 32)}}, nil
			}
		}
	})
	c := w.mustDial("allowed.com", 443)
	if _, err := c.Write(clientHello(t, "allowed.com")); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(c)
	w.denied(ViaTLS, "an address of this machine")
}

// TestDeniedAddress: what is denied as an address is denied behind every name.
func TestDeniedAddress(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com"}, Deny: []string{publicA}}, nil)
	c := w.mustDial("allowed.com", 443)
	if _, err := c.Write(clientHello(t, "allowed.com")); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(c)
	w.denied(ViaTLS, "leads to "+publicA+", which is on the list")
}
