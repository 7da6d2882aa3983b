package door

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"substrat.dev/substrat"
)

// TestDecide: which connections which entries mean.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		allow, deny, fallback, to, want string
	}{
		{"x.com", "", "", "x.com:443", Allowed},
		{"x.com", "", "", "x.com:80", Allowed},
		{"x.com", "", "", "x.com:22", Denied},
		{"x.com", "", "", "a.x.com:443", Denied},
		{"x.com:22", "", "", "x.com:22", Allowed},
		{"x.com:22", "", "", "x.com:443", Denied},
		{"*.x.com", "", "", "a.b.x.com:443", Allowed},
		{"*.x.com", "", "", "x.com:443", Denied},
		{"*.x.com", "", "", "ax.com:443", Denied},
		{"*.x.com", "", "", "x.com.evil.com:443", Denied},
		{"*.x.com:8443", "", "", "a.x.com:8443", Allowed},
		{"*.x.com:8443", "", "", "a.x.com:443", Denied},
		{"*", "", "", "x.com:443", Allowed},
		{"*", "", "", "x.com:22", Denied},
		{"*:22", "", "", "x.com:22", Allowed},
		{"*", "", "", "127.0.0.1:443", Denied},
		{"*", "", "", "localhost:80", Denied},
		{"*", "", "", "1.1.1.1:443", Denied},
		{"1.1.1.1", "", "", "1.1.1.1:443", Allowed},
		{"127.0.0.1:11434", "", "", "127.0.0.1:11434", Allowed},
		{"127.0.0.1:11434", "", "", "localhost:11434", Allowed},
		{"localhost:11434", "", "", "127.0.0.1:11434", Allowed},
		{"127.0.0.1:11434", "", "", "127.0.0.2:11434", Denied},
		{"[::1]:8080", "", "", "[::1]:8080", Allowed},
		{"*", "x.com", "", "x.com:443", Denied},
		{"x.com:22", "x.com", "", "x.com:22", Denied},
		{"x.com:22", "x.com:443", "", "x.com:22", Allowed},
		{"x.com", "*", "", "x.com:443", Denied},
		{"127.0.0.1:80", "*", "", "127.0.0.1:80", Denied},
		{"a.x.com", "*.x.com", "", "a.x.com:443", Denied},
		{"", "", DefaultAsk, "x.com:443", Asked},
		{"", "", DefaultAsk, "x.com:22", Asked},
		{"", "", DefaultAsk, "10.0.0.1:443", Denied},
		{"", "x.com", DefaultAsk, "x.com:443", Denied},
		{"", "", DefaultAllow, "x.com:443", Allowed},
		{"", "", DefaultAllow, "x.com:22", Denied},
		{"", "", DefaultAllow, "localhost:443", Denied},
		{"", "x.com", DefaultAllow, "x.com:443", Denied},
	} {
		d := plainDoor(t, Policy{Allow: strings.Fields(c.allow), Deny: strings.Fields(c.deny), Default: c.fallback})
		h, port, err := parseAuthority(c.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.rules.decide(h, port); got.verdict != c.want || c.want == Denied && got.why == "" {
			t.Errorf("%+v: %+v", c, got)
		}
		if c.want != Denied && !h.literal() && !d.rules.mayBe(h) {
			t.Errorf("%+v: it has no address", c)
		}
	}
}

func plainDoor(t *testing.T, p Policy) *Door {
	t.Helper()
	d, err := New(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAnswers: later ones count, up to what the policy denies.
func TestAnswers(t *testing.T) {
	d := plainDoor(t, Policy{Allow: []string{"a.com"}, Deny: []string{"no.com"}})
	at := func(name string, port int) string { return d.rules.decide(host{name: name}, port).verdict }
	for _, step := range []struct {
		host  string
		port  int
		allow bool
	}{{"x.com", 443, true}, {"*.y.com", 0, true}, {"b.y.com", 443, false}, {"a.com", 443, false}, {"no.com", 443, true}} {
		var err error
		if step.allow {
			err = d.Allow(step.host, step.port)
		} else {
			err = d.Deny(step.host, step.port)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"x.com": Allowed, "a.y.com": Allowed, "b.y.com": Denied, "a.com": Denied, "no.com": Denied} {
		if got := at(name, 443); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if at("x.com", 80) != Denied || at("a.com", 80) != Allowed {
		t.Error("an answer is for its port")
	}
	if err := d.Allow("x.com", 443); err != nil || len(d.rules.answers) != 5 {
		t.Error("an answer is remembered once", err)
	}
	// An address that a person named may be dialled.
	if d.rules.address(netip.MustParseAddr("10.0.0.1"), 5432, false) == nil {
		t.Error("private")
	}
	if err := d.Allow("10.0.0.1", 5432); err != nil || d.rules.address(netip.MustParseAddr("10.0.0.1"), 5432, false) != nil {
		t.Error("named", err)
	}
}

// TestCheck refuses what cannot be kept, with a text for whoever wrote it, and without keys.
func TestCheck(t *testing.T) {
	for _, bad := range []string{
		"", " ", "x com", "*x.com", "x.*.com", "**", "*.", "*.*.x.com", ".x.com", "x.com.", "x..com", "-x.com", "x.com:", "x.com:0", "x.com:65536", "x.com:+1", "x.com:1x",
		"x.com:01", "http://x.com", "x.com/path", "::1", "[::1", "[::1]8", "[x.com]", "127.1", "0x7f.0.0.1", "0177.0.0.1", "1.2.3.4.5", "[::ffff:1.2.3.4]", "[fe80::1%lo]", "*.127.0.0.1",
		"*.localhost", "127.64.0.1", "x.com\x00", "ü.com", "a@x.com", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 127) + "com",
	} {
		for _, p := range []Policy{{Allow: []string{bad}}, {Deny: []string{bad}}} {
			if err := p.Check(); substrat.CodeOf(err) != substrat.CodeInvalid {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	header := map[string]string{"K": "secret\nvalue"}
	for name, p := range map[string]Policy{
		"default": {Default: "maybe"}, "port": {Routes: []Route{{Port: 443, Target: "https://x.com"}}}, "no port": {Routes: []Route{{Target: "https://x.com"}}},
		"scheme": {Routes: []Route{{Port: 8001, Target: "ftp://x.com"}}}, "plain": {Routes: []Route{{Port: 8001, Target: "http://x.com"}}},
		"user":  {Routes: []Route{{Port: 8001, Target: "https://secret@x.com"}}},
		"value": {Routes: []Route{{Port: 8001, Target: "https://x.com", Header: header}}}, "framing": {Routes: []Route{{Port: 8001, Target: "https://x.com", Header: map[string]string{"content-length": "secret"}}}},
		"name":  {Routes: []Route{{Port: 8001, Target: "https://x.com", Header: map[string]string{"a b": "secret"}}}},
		"twice": {Routes: []Route{{Port: 8001, Target: "https://x.com"}, {Port: 8001, Target: "https://y.com"}}},
		"both":  {Allow: []string{"localhost:8001"}, Routes: []Route{{Port: 8001, Target: "https://x.com"}}},
	} {
		if err := p.Check(); substrat.CodeOf(err) != substrat.CodeInvalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := Route{Port: 8001, Target: "https://x.com", Header: map[string]string{"K": "secret"}}
	if text := fmt.Sprintf("%v %+v %#v %v", r, Policy{Routes: []Route{r}}, Policy{Routes: []Route{r}}, &r); strings.Contains(text, "secret") {
		t.Error(text)
	}
}

// TestPolicyTravels as JSON.
func TestPolicyTravels(t *testing.T) {
	p := Policy{Allow: []string{"a.com:22", "localhost:11434", "*.b.com:8443", "c.com:22", "d.com", "d.com:443", "e.com:8001"}, Deny: []string{"z.com:99"}, Default: "ask",
		Routes: []Route{{Port: 8001, Target: "https://x.com", Header: map[string]string{"A": "b"}}}, AllowECH: true}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Policy
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(p, back) {
		t.Errorf("%v %+v", err, back)
	}
	if got := back.Ports(); !slices.Equal(got, []int{22, 8443, 11434}) {
		t.Error(got)
	}
	if got := back.Listen(); !slices.Equal(got, []int{53, 80, 443, 3128, 8001, 22, 8443, 11434}) {
		t.Error(got)
	}
	if err := back.Check(); err != nil {
		t.Error(err)
	}
}

// TestPrivate: what is public, and what only looks like it.
func TestPrivate(t *testing.T) {
	for addr, public := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "100.63.255.255": true, "100.128.0.1": true, "172.15.0.1": true, "172.32.0.1": true, "223.255.255.255": true,
		"2606:4700::1111": true, "2a00:1450::1": true, "64:ff9b::101:101": true, "::ffff:1.1.1.1": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.255.255.255": false, "100.64.0.0": false, "100.100.100.200": false, "127.0.0.1": false, "127.255.255.255": false,
		"168.63.129.16": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.192": false, "192.168.0.1": false, "198.18.0.1": false, "224.0.0.1": false,
		"239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false, "::127.0.0.1": false, "::ffff:10.0.0.1": false, "fe80::1": false, "fe80::1%eth0": false,
		"fec0::1": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "64:ff9b::a00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::101:101": false, "100::1": false,
		"2002:a00:1::1": false, "2002:101:101::1": false, "2001::1": false, "2001:db8::1": false, "5f00::1": false, "2001:0:7f00:1::": false,
	} {
		if got := private(netip.MustParseAddr(addr)); (got == "") != public {
			t.Errorf("%s: %q", addr, got)
		}
	}
	if private(netip.Addr{}) == "" {
		t.Error("no address is public")
	}
}

// TestTeller: what is alike is told once in a second, with how often, and nothing is lost.
func TestTeller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Attempt
		tl := newTeller(func(a Attempt) { told = append(told, a) })
		done := make(chan struct{})
		go func() { defer close(done); tl.run(t.Context()) }()
		count := func() (n int, up int64) {
			tl.mu.Lock()
			defer tl.mu.Unlock()
			for _, a := range told {
				n, up = n+a.Count, up+a.Up
			}
			return n, up
		}
		for range 1000 {
			tl.add(Attempt{Host: "a", Via: ViaDNS, Verdict: Denied, Up: 2})
		}
		if n, _ := count(); n != 1 {
			t.Errorf("%d at once", n)
		}
		time.Sleep(tellEvery + time.Millisecond)
		if n, up := count(); n != 1000 || up != 2000 || len(told) != 2 {
			t.Errorf("%d in %d, %d bytes", n, len(told), up)
		}
		for i := range 100_000 {
			tl.add(Attempt{Host: fmt.Sprint(i), Via: ViaDNS, Verdict: Denied})
		}
		time.Sleep(3 * tellEvery)
		if n, _ := count(); n != 101_000 || len(told) > 2+tellMost+1 {
			t.Errorf("%d in %d", n, len(told))
		}
		if len(tl.told) != 0 {
			t.Error("it does not come to rest")
		}
		tl.add(Attempt{Host: "a"})
		if n, _ := count(); n != 101_001 {
			t.Error("after a rest the first is told at once")
		}
	})
}
