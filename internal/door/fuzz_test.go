package door

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// FuzzHello: no bytes hurt, none are lost, and what is understood is read the same again.
func FuzzHello(f *testing.F) {
	for _, name := range []string{"a.com", "", "evil\x00.a.com"} {
		f.Add(helloBytes(name))
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{22, 3, 1, 0, 4, 1, 0, 0, 0})
	d, err := New(Policy{}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		h, taken, err := peek(context.Background(), r)
		rest, _ := io.ReadAll(r)
		if !bytes.Equal(append(taken, rest...), in) {
			t.Fatal("bytes were lost")
		}
		if err != nil {
			if !isRefusal(err) {
				t.Fatalf("%T", err)
			}
			return
		}
		if again, _, err := peek(context.Background(), bytes.NewReader(in)); err != nil || again != h {
			t.Fatal(again, err)
		}
		if to, err := d.named(h, host{}); err == nil && (to.name != strings.ToLower(h.name) || to.addr.IsValid() || h.ech) {
			t.Fatalf("%+v became %v", h, to)
		}
	})
}

// FuzzDNS: no packet hurts, and each answer is one.
func FuzzDNS(f *testing.F) {
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x03com\x00\x00\x01\x00\x01"))
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	d, err := New(Policy{Allow: []string{"*.com"}}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := d.answer(in)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(out); err != nil || !m.Response || !bytes.Equal(out[:2], in[:2]) {
			t.Fatalf("%x: %v %+v", out, err, m)
		}
		for _, a := range m.Answers {
			name, _ := strings.CutSuffix(strings.ToLower(a.Header.Name.String()), ".")
			if name != localhost && !strings.HasSuffix(name, ".com") {
				t.Fatalf("%q has an address", name)
			}
		}
	})
}

// FuzzPattern: what a list takes is only what it seems to be, and a host is read one way only.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"*.x.com", "x.com:22", "*", "[::1]:80", "127.0.0.1", "localhost:1", "*:80"} {
		f.Add(p, "a.x.com:443")
	}
	f.Add("*.x.com", "evil\x00.x.com")
	f.Fuzz(func(t *testing.T, text, to string) {
		p, err := parsePattern(text)
		h, port, bad := parseAuthority(to)
		if bad == nil {
			again, port2, err := parseAuthority(h.authority(max(port, 1)))
			if err != nil || again != h || port2 != max(port, 1) {
				t.Fatalf("%q is %v, which is %v, %v", to, h, again, err)
			}
			if h.name != "" && (h.name != strings.ToLower(h.name) || strings.ContainsAny(h.name, "\x00\r\n /@:%*")) {
				t.Fatalf("%q is a name: %q", to, h.name)
			}
		}
		if err != nil || bad != nil || !p.matches(h) {
			return
		}
		seems := strings.HasPrefix(text, "*") || h.loopback() || strings.Contains(strings.ToLower(text), h.name) && h.name != "" || h.addr.IsValid() && p.host.addr == h.addr
		if !seems || p.suffix != "" && !strings.HasSuffix(h.name, p.suffix) {
			t.Fatalf("%q matches %v", text, h)
		}
	})
}
