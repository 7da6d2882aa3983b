package remote

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"substrat.dev/substrat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const right = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// site is a guard as it stands before an API that says "in", and what it logged.
func site(t testing.TB) (http.Handler, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	in := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "in") })
	return &guard{
		next: in, hosts: []string{"box.example"}, token: func() (string, error) { return right, nil },
		rates: newRates(time.Now), log: slog.New(slog.NewTextHandler(log, nil)),
	}, log
}

// request is one that comes in, before it is changed.
func request(method, body string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:7777/v1/agents", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+right)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 7777}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
}

// TestGuard: who comes in, and who does not.
func TestGuard(t *testing.T) {
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, x := range map[string]struct {
		method, body string
		change       func(*http.Request)
		want         int
	}{
		"the token":                     {"GET", "", func(*http.Request) {}, 200},
		"a lower-case scheme":           {"GET", "", set("Authorization", "bearer "+right), 200},
		"no token":                      {"GET", "", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"an empty token":                {"GET", "", set("Authorization", "Bearer "), 401},
		"a wrong token":                 {"GET", "", set("Authorization", "Bearer "+strings.Repeat("0", 64)), 401},
		"the token's start":             {"GET", "", set("Authorization", "Bearer "+right[:63]), 401},
		"the token and more":            {"GET", "", set("Authorization", "Bearer "+right+"0"), 401},
		"basic":                         {"GET", "", set("Authorization", "Basic "+right), 401},
		"two tokens":                    {"GET", "", func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }, 401},
		"the token in the query":        {"GET", "", func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "token=" + right }, 401},
		"localhost":                     {"GET", "", host("localhost:7777"), 200},
		"localhost without port":        {"GET", "", host("LOCALHOST"), 200},
		"IPv6":                          {"GET", "", host("[::1]:7777"), 200},
		"IPv6 without port":             {"GET", "", host("[::1]"), 200},
		"the address it came in on":     {"GET", "", host("10.1.2.3:7777"), 200},
		"another address":               {"GET", "", host("10.9.9.9:7777"), 421},
		"a configured name":             {"GET", "", host("Box.example:7777"), 200},
		"another name (rebinding)":      {"GET", "", host("evil.example:7777"), 421},
		"a name that begins like ours":  {"GET", "", host("localhost.evil.example:7777"), 421},
		"a name that ends like ours":    {"GET", "", host("evil-box.example"), 421},
		"a name with a dot at its end":  {"GET", "", host("localhost.:7777"), 421},
		"no name":                       {"GET", "", host(""), 421},
		"another loopback address":      {"GET", "", host("127.0.0.2:7777"), 421},
		"an address written oddly":      {"GET", "", host("0x7f000001:7777"), 421},
		"an address in one number":      {"GET", "", host("2130706433"), 421},
		"an address with a zone":        {"GET", "", host("[::1%25lo]:7777"), 421},
		"an address mapped":             {"GET", "", host("[::ffff:127.0.0.1]:7777"), 421},
		"a user before the name":        {"GET", "", host("localhost@evil.example"), 421},
		"brackets that do not end":      {"GET", "", host("[::1"), 421},
		"its own page":                  {"GET", "", set("Origin", "http://127.0.0.1:7777"), 200},
		"another page":                  {"GET", "", set("Origin", "http://evil.example"), 403},
		"a page of another port":        {"GET", "", set("Origin", "http://127.0.0.1:8888"), 403},
		"a page of another scheme":      {"GET", "", set("Origin", "https://127.0.0.1:7777"), 403},
		"a page of no origin":           {"GET", "", set("Origin", "null"), 403},
		"a page that says nothing":      {"GET", "", set("Origin", ""), 403},
		"two origins":                   {"GET", "", func(r *http.Request) { r.Header["Origin"] = []string{"http://127.0.0.1:7777", "http://evil"} }, 403},
		"cross-site by the other":       {"GET", "", set("Sec-Fetch-Site", "cross-site"), 403},
		"same-site by the other":        {"GET", "", set("Sec-Fetch-Site", "same-site"), 403},
		"same-origin by the other":      {"GET", "", set("Sec-Fetch-Site", "same-origin"), 200},
		"asking before (preflight)":     {"OPTIONS", "", set("Origin", "http://evil.example"), 403},
		"JSON":                          {"POST", "{}", func(*http.Request) {}, 200},
		"JSON with a character set":     {"POST", "{}", set("Content-Type", "application/json; charset=utf-8"), 200},
		"a form":                        {"POST", "a=b", set("Content-Type", "application/x-www-form-urlencoded"), 415},
		"plain text":                    {"POST", "{}", set("Content-Type", "text/plain"), 415},
		"no type":                       {"POST", "{}", func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		"a type that only begins right": {"POST", "{}", set("Content-Type", "application/jsonp"), 415},
		"no body":                       {"POST", "", func(*http.Request) {}, 200},
		"a body of unknown length": {"POST", "", func(r *http.Request) {
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(strings.NewReader("{}")), -1, []string{"chunked"}
		}, 415},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := site(t)
			r := request(x.method, x.body)
			x.change(r)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != x.want || (w.Body.String() == "in") != (x.want == 200) {
				t.Errorf("%d %s, want %d", w.Code, w.Body, x.want)
			}
			for name := range w.Header() {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("a header for other sites' pages: %s", name)
				}
			}
			if strings.Contains(w.Body.String(), right) {
				t.Error("the answer has the token")
			}
		})
	}
}

// TestRates: guesses are few, requests not many, and addresses do not share.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := site(t)
		ask := func(from, token string) int {
			r := request("GET", "")
			r.RemoteAddr = from
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		for n := range 30 {
			want := 401
			if n >= refuseMin {
				want = 429
			}
			if got := ask("192.0.2.1:1", "guess"); got != want {
				t.Fatalf("guess %d: %d, want %d", n, got, want)
			}
		}
		if n := strings.Count(log.String(), "refused a request"); n != refuseMin {
			t.Errorf("%d refusals in the log, want %d", n, refuseMin)
		}
		if got := ask("192.0.2.1:2", right); got != 200 {
			t.Errorf("who has the token is kept out by one that guesses: %d", got)
		}
		if got := ask("192.0.2.9:1", "guess"); got != 401 {
			t.Errorf("another address's guess: %d", got)
		}
		time.Sleep(6 * time.Second)
		if a, b := ask("192.0.2.1:3", "guess"), ask("192.0.2.1:4", "guess"); a != 401 || b != 429 {
			t.Errorf("six seconds later: %d, %d", a, b)
		}
		served := 0
		for range 3 * askBurst {
			if ask("[2001:db8::1]:1", right) == 200 {
				served++
			}
		}
		if served != askBurst {
			t.Errorf("%d at once, want %d", served, askBurst)
		}
		if got := ask("[2001:db8::2]:1", right); got != 429 {
			t.Errorf("the next address of the same network: %d", got)
		}
		time.Sleep(time.Second)
		if got := ask("[2001:db8::1]:1", right); got != 200 {
			t.Errorf("a second later: %d", got)
		}
	})
}

// TestAddressesAreBounded: however many addresses ask, so many are remembered.
func TestAddressesAreBounded(t *testing.T) {
	now := time.Unix(0, 0)
	r := newRates(func() time.Time { return now })
	for n := range 2 * addrsMost {
		now = now.Add(time.Millisecond)
		r.refused(net.JoinHostPort(net.IPv4(10, byte(n>>16), byte(n>>8), byte(n)).String(), "1"))
	}
	if len(r.addrs) > addrsMost {
		t.Errorf("%d addresses", len(r.addrs))
	}
}

// TestToken: it is made once, for its owner alone, and one that others could know is not used.
func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	first, err := Token(path)
	if err != nil || len(first) != 2*tokenBytes {
		t.Fatalf("%q, %v", first, err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if again, err := Token(path); again != first || err != nil {
		t.Errorf("another the second time: %v", err)
	}
	if next, err := Rotate(path); next == first || err != nil {
		t.Errorf("the same after a rotation: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(path); substrat.CodeOf(err) != substrat.CodeForbidden {
		t.Errorf("a token that others may read: %v", err)
	}
	for _, text := range []string{"", "short", strings.Repeat("z", 64), strings.Repeat("0", 66)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(path, 0o600)
		if _, err := Token(path); substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	link := filepath.Join(t.TempDir(), "token")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(link); substrat.CodeOf(err) != substrat.CodeForbidden {
		t.Errorf("a link: %v", err)
	}
}

// FuzzGuard: no request without the token comes in, and none makes the guard panic.
func FuzzGuard(f *testing.F) {
	f.Add("localhost:7777", "http://localhost:7777", "Bearer x", "text/plain", "1.2.3.4:5")
	f.Add("[::1", "null", "Bearer", "", "[fe80::1%25eth0]:1")
	h, _ := site(f)
	f.Fuzz(func(t *testing.T, host, origin, auth, kind, from string) {
		if strings.Contains(auth, right) {
			return
		}
		r := request("POST", "{}")
		r.Host, r.RemoteAddr = host, from
		r.Header["Origin"], r.Header["Authorization"], r.Header["Content-Type"] = []string{origin}, []string{auth}, []string{kind}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code < 400 || w.Body.String() == "in" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
