package door

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func query(t testing.TB, name string, kind dnsmessage.Type, class dnsmessage.Class) []byte {
	t.Helper()
	n, err := dnsmessage.NewName(name)
	if err != nil {
		t.Fatal(err)
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{{Name: n, Type: kind, Class: class}}}
	out, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newDoor(t testing.TB, p Policy, log func(Attempt)) *Door {
	t.Helper()
	d, err := New(p, Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDNS: who has an address and who has none.
func TestDNS(t *testing.T) {
	var seen []Attempt
	d := newDoor(t, Policy{Allow: []string{"allowed.com", "*.sub.com", "ssh.com:22"}, Deny: []string{"no.sub.com", "half.sub.com:443"}}, func(a Attempt) { seen = append(seen, a) })
	const in = dnsmessage.ClassINET
	for _, c := range []struct {
		name  string
		kind  dnsmessage.Type
		class dnsmessage.Class
		want  string // code, or an address
	}{
		{"allowed.com.", dnsmessage.TypeA, in, "127.64.0.1"},
		{"ALLOWED.com.", dnsmessage.TypeA, in, "127.64.0.1"},
		{"a.b.sub.com.", dnsmessage.TypeA, in, "127.64.0.2"},
		{"ssh.com.", dnsmessage.TypeA, in, "127.64.0.3"},
		{"half.sub.com.", dnsmessage.TypeA, in, "127.64.0.4"},
		{"allowed.com.", dnsmessage.TypeALL, in, "127.64.0.1"},
		{"localhost.", dnsmessage.TypeA, in, "127.0.0.1"},
		{"localhost.", dnsmessage.TypeAAAA, in, "RCodeSuccess"},
		{"allowed.com.", dnsmessage.TypeAAAA, in, "RCodeSuccess"},
		{"allowed.com.", dnsmessage.TypeHTTPS, in, "RCodeSuccess"},
		{"allowed.com.", dnsmessage.TypeTXT, in, "RCodeSuccess"},
		{"sub.com.", dnsmessage.TypeA, in, "RCodeNameError"},
		{"no.sub.com.", dnsmessage.TypeA, in, "RCodeNameError"},
		{"evil.com.", dnsmessage.TypeA, in, "RCodeNameError"},
		{"evil.com.", dnsmessage.TypeTXT, in, "RCodeNameError"},
		{"secret-data.evil.com.", dnsmessage.TypeAAAA, in, "RCodeNameError"},
		{"127.0.0.1.", dnsmessage.TypeA, in, "RCodeNameError"},
		{"0x7f000001.", dnsmessage.TypeA, in, "RCodeNameError"},
		{"evil\x00.sub.com.", dnsmessage.TypeA, in, "RCodeNameError"},
		{".", dnsmessage.TypeA, in, "RCodeNameError"},
		{"1.0.64.127.in-addr.arpa.", dnsmessage.TypePTR, in, "RCodeRefused"},
		{"allowed.com.", dnsmessage.TypeA, dnsmessage.ClassCHAOS, "RCodeRefused"},
	} {
		raw, err := d.answer(query(t, c.name, c.kind, c.class))
		if err != nil {
			t.Fatal(c.name, err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(raw); err != nil {
			t.Fatal(err)
		}
		got := m.RCode.String()
		if len(m.Answers) == 1 {
			got = net.IP(m.Answers[0].Body.(*dnsmessage.AResource).A[:]).String()
		}
		if got != c.want || m.ID != 7 || !m.Response || m.Questions[0].Name.String() != c.name || len(m.Answers) > 1 {
			t.Errorf("%s %s: got %s, want %s; %+v", c.name, c.kind, got, c.want, m)
		}
	}
	d.teller.flush()
	hosts := map[string]bool{}
	for _, a := range seen {
		hosts[a.Host] = true
		if a.Via != ViaDNS || a.Verdict != Denied || a.Why == "" {
			t.Errorf("%+v", a)
		}
	}
	for _, h := range []string{"sub.com", "no.sub.com", "evil.com", "secret-data.evil.com", `evil\x00.sub.com`} {
		if !hosts[h] {
			t.Errorf("nothing was told of %s: %v", h, hosts)
		}
	}
}

// TestDNSOverTCP, two queries on one connection.
func TestDNSOverTCP(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com"}}, nil)
	c := w.mustDial("127.0.0.1", 53)
	for range 2 {
		q := query(t, "allowed.com.", dnsmessage.TypeA, dnsmessage.ClassINET)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)); err != nil {
			t.Fatal(err)
		}
		size := make([]byte, 2)
		if _, err := io.ReadFull(c, size); err != nil {
			t.Fatal(err)
		}
		raw := make([]byte, binary.BigEndian.Uint16(size))
		if _, err := io.ReadFull(c, raw); err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(raw); err != nil || len(m.Answers) != 1 {
			t.Fatal(err, m)
		}
	}
}

// TestDNSRules: not every message is a query.
func TestDNSRules(t *testing.T) {
	d := newDoor(t, Policy{}, nil)
	q := query(t, "a.com.", dnsmessage.TypeA, dnsmessage.ClassINET)
	change := func(f func([]byte)) []byte {
		c := append([]byte(nil), q...)
		f(c)
		return c
	}
	for name, c := range map[string]struct {
		q    []byte
		want int // -1: no answer
	}{
		"answer": {change(func(b []byte) { b[2] |= 0x80 }), -1}, "short": {q[:11], -1}, "update": {change(func(b []byte) { b[2] |= 5 << 3 }), 4},
		"two whole": {append(change(func(b []byte) { b[5] = 2 }), q[12:]...), 1},
		"none":      {change(func(b []byte) { b[5] = 0 }), 1}, "two": {change(func(b []byte) { b[5] = 2 }), 1}, "cut": {q[:len(q)-3], 1},
	} {
		raw, err := d.answer(c.q)
		switch {
		case c.want < 0 && err == nil, c.want >= 0 && err != nil:
			t.Errorf("%s: %v", name, err)
		case err == nil && int(raw[3]&15) != c.want:
			t.Errorf("%s: code %d", name, raw[3]&15)
		}
	}
}

// TestNames: stable, each its own, bounded.
func TestNames(t *testing.T) {
	n := newNames()
	n.most = 1000
	seen := map[string]string{}
	for i := range 1000 {
		name := fmt.Sprint("n", i)
		a := n.address(name)
		if seen[a.String()] != "" || !fakes.Contains(a) || n.address(name) != a {
			t.Fatal(name, a)
		}
		seen[a.String()] = name
		if back, ok := n.name(a); !ok || back != name {
			t.Fatal(back, ok)
		}
	}
	first := n.address("n0") // used just now; n1 is the oldest
	a := n.address("new")
	if seen[a.String()] != "n1" || n.recent.Len() != 1000 || len(n.byName) != 1000 || len(n.byAddr) != 1000 {
		t.Error(a, seen[a.String()])
	}
	if back, _ := n.name(a); back != "new" || n.address("n0") != first {
		t.Error(back)
	}
	if a := nth(mostNames); a.String() != "127.64.64.0" {
		t.Error(a)
	}
}
