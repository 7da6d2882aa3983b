package toolrouter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli/toolrouter"
)

func TestPublic(t *testing.T) {
	for _, a := range []string{"93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:8.8.8.8"} {
		if !toolrouter.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
	for _, a := range []string{
		"0.0.0.0", "10.1.2.3", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255",
		"198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.88.99.1", "168.63.129.16",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
		"2002:7f00:1::", "2001::1", "2001:db8::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "100::1", "5f00::1", "3fff::1", "fd00:ec2::254",
	} {
		if toolrouter.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	if toolrouter.Public(netip.Addr{}) || toolrouter.Public(netip.MustParseAddr("2606::1%eth0")) {
		t.Error("no address, or one of a link, is public")
	}
}

// names resolves by a table; a name with several answers gives them one after the other.
type names struct {
	mu    sync.Mutex
	table map[string][]string
	asked []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	answers := n.table[host]
	if len(answers) == 0 {
		return nil, fmt.Errorf("no such host")
	}
	now := answers[0]
	if len(answers) > 1 {
		n.table[host] = answers[1:]
	}
	var out []netip.Addr
	for a := range strings.SplitSeq(now, ",") {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

const public = "93.184.216.34"

// web is a fetcher whose internet is one server. Dialed are the addresses that it connected to.
type web struct {
	*toolrouter.Router
	*names
	dialed []string
}

func internet(t *testing.T, h http.Handler, o toolrouter.FetchOptions) *web {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	w := &web{names: &names{table: map[string][]string{"a.example": {public}, "b.example": {public}}}}
	o.Resolver = w.names
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.dialed = append(w.dialed, address)
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	w.Router = router(t, toolrouter.Options{}, toolrouter.Fetch(o)...)
	return w
}

func (w *web) get(t *testing.T, url string) (toolrouter.Page, *substrat.Error) {
	t.Helper()
	args, _ := json.Marshal(map[string]string{"url": url})
	c := call(t, w.Router, "web_fetch", string(args))
	var p toolrouter.Page
	if c.Error == nil {
		if err := json.Unmarshal(c.Result, &p); err != nil {
			t.Fatal(err)
		}
	}
	return p, c.Error
}

func TestFetchRefuses(t *testing.T) {
	w := internet(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") }), toolrouter.FetchOptions{})
	w.table["private.example"] = []string{"10.0.0.1"}
	w.table["mixed.example"] = []string{public + ",127.0.0.1"}
	w.table["mapped.example"] = []string{"::ffff:127.0.0.1"}
	w.table["nat64.example"] = []string{"64:ff9b::7f00:1"}
	// Resolvers of C take these for addresses; that this one has names for them must not matter.
	for _, n := range []string{"0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "127.1", "127.0.1", "127.0.0.01", "0"} {
		w.table[n] = []string{public}
	}
	for _, url := range []string{
		"http://127.0.0.1/", "http://localhost/x", "http://a.localhost/", "http://LOCALHOST./", "http://metadata.google.internal/", "http://printer.local/", "http://router/",
		"http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
		"http://[fe80::1%25eth0]/", "http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://0x7f000001/", "http://2130706433/", "http://017700000001/", "http://127.1/", "http://127.0.1/",
		"http://127.0.0.01/", "http://0/", "http://10.0.0.1:8080/", "http://100.64.1.1/", "http://127.0.0.1./", "http://①②⑦.0.0.1/",
		"http://private.example/", "http://mixed.example/", "http://mapped.example/", "http://nat64.example/", "http://user:pw@a.example/", "file:///etc/passwd", "ftp://a.example/", "gopher://a.example/1", "http:///x",
	} {
		if p, err := w.get(t, url); err == nil {
			t.Errorf("%s gave %+v", url, p)
		}
	}
	if len(w.dialed) > 0 {
		t.Errorf("dialed %v", w.dialed)
	}
}

// TestRebinding: what was checked is what is dialed, and each redirect is looked up and checked again.
func TestRebinding(t *testing.T) {
	w := internet(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/self":
			http.Redirect(rw, r, "/next", http.StatusFound)
		case "/inside":
			http.Redirect(rw, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/other":
			http.Redirect(rw, r, "http://b.example/ok", http.StatusFound)
		case "/loop":
			http.Redirect(rw, r, "/loop", http.StatusFound)
		case "/file":
			http.Redirect(rw, r, "file:///etc/passwd", http.StatusFound)
		default:
			rw.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(rw, r.Host)
		}
	}), toolrouter.FetchOptions{})
	w.table["flip.example"] = []string{public, "127.0.0.1"}
	if p, err := w.get(t, "http://flip.example/ok"); err != nil || p.Text != "flip.example" || len(w.asked) != 1 {
		t.Errorf("%+v, %v, looked up %v", p, err, w.asked)
	}
	w.table["flip.example"] = []string{public, "127.0.0.1"}
	if _, err := w.get(t, "http://flip.example/self"); err == nil || err.Code != substrat.CodeForbidden {
		t.Errorf("the second look was not checked: %v", err)
	}
	if p, err := w.get(t, "http://a.example:8080/other"); err != nil || p.URL != "http://b.example/ok" || p.Text != "b.example" {
		t.Errorf("%+v, %v", p, err)
	}
	for path, code := range map[string]substrat.Code{"/inside": substrat.CodeForbidden, "/loop": substrat.CodeLimit, "/file": substrat.CodeForbidden} {
		if _, err := w.get(t, "http://a.example"+path); err == nil || err.Code != code {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, d := range w.dialed {
		if !strings.HasPrefix(d, public+":") {
			t.Errorf("dialed %s", d)
		}
	}
}

func TestFetchReads(t *testing.T) {
	endless := make(chan struct{})
	w := internet(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		kind := map[string]string{"/latin": "text/html; charset=iso-8859-1", "/meta": "text/html", "/json": "application/json", "/pdf": "application/pdf", "/zip": "application/octet-stream", "/big": "text/plain", "/feed": "application/rss+xml", "/encoded": "text/plain"}[r.URL.Path]
		rw.Header().Set("Content-Type", kind)
		switch r.URL.Path {
		case "/latin":
			rw.Write([]byte("<title>Caf\xe9</title><p>na\xefve</p>"))
		case "/meta":
			rw.Write([]byte("<html><head><meta charset=windows-1251><title>\xcf</title></head><body>\xd0</body>"))
		case "/big":
			for range 200 {
				if _, err := rw.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
					close(endless)
					return
				}
			}
		case "/encoded":
			rw.Header().Set("Content-Encoding", "br")
			rw.Write([]byte("xx"))
		default:
			rw.Write([]byte(`{"a":"<b>"}`))
		}
	}), toolrouter.FetchOptions{BodyMost: 100 << 10, TextMost: 1000})
	for path, want := range map[string][2]string{"/latin": {"Café", "naïve"}, "/meta": {"П", "Р"}, "/json": {"", `{"a":"<b>"}`}, "/feed": {"", `{"a":"<b>"}`}} {
		if p, err := w.get(t, "http://a.example"+path); err != nil || p.Title != want[0] || p.Text != want[1] || p.Notice == "" || p.Truncated {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	for _, path := range []string{"/pdf", "/zip", "/encoded"} {
		if _, err := w.get(t, "http://a.example"+path); err == nil || err.Code != substrat.CodeUnsupported {
			t.Errorf("%s: %v", path, err)
		}
	}
	if p, err := w.get(t, "http://a.example/big"); err != nil || !p.Truncated || len(p.Text) > 1100 {
		t.Errorf("big: %d bytes, %v, %v", len(p.Text), p.Truncated, err)
	}
	<-endless // reading stopped: the server could not write all of it
}

func TestFetchTakesNoLonger(t *testing.T) {
	stop := make(chan struct{})
	w := internet(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}), toolrouter.FetchOptions{Timeout: 100 * time.Millisecond})
	defer close(stop)
	if _, err := w.get(t, "http://a.example/"); err == nil || err.Code != substrat.CodeTimeout {
		t.Errorf("%v", err)
	}
}

func TestHTMLIsReadable(t *testing.T) {
	w := internet(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(rw, "<!doctype html><head><title> A\n title </title><style>p{}</style><script>var x='<p>no</p>'</script>"+
			"<body><nav>Menu</nav><h1>Head &amp; shoulders</h1><p>One  <b>two</b>, three.</p><ul><li>a<li>b</ul><pre>x\n  y</pre><table><tr><td>1<td>2</table><noscript>no</noscript>end")
	}), toolrouter.FetchOptions{})
	p, err := w.get(t, "http://a.example/")
	if want := "Menu\nHead & shoulders\nOne two, three.\n- a\n- b\nx\n  y\n1 2\nend"; err != nil || p.Text != want || p.Title != "A title" {
		t.Errorf("%v, title %q\ngot  %q\nwant %q", err, p.Title, p.Text, want)
	}
}

func TestSearch(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("q") + " " + r.Header.Get("X-Key")
		switch r.URL.Path {
		case "/json":
			fmt.Fprint(rw, `{"answers":[],"results":[{"title":"<b>One</b>","url":"https://one.example/","content":"first"},{"title":"bad","url":"javascript:x"},{"title":"Two","url":"https://two.example/"}]}`)
		case "/nested":
			fmt.Fprint(rw, `{"web":{"results":[{"title":"One","url":"https://one.example/","description":"first"}]}}`)
		case "/html":
			fmt.Fprint(rw, `<a href="/about">About</a><a href="https://one.example/">One <b>more</b></a><a href="/l/?uddg=https%3A%2F%2Ftwo.example%2F">Two</a><a href="https://one.example/">again</a>`)
		case "/broken":
			fmt.Fprint(rw, `{"results":`)
		default:
			http.Error(rw, "no", http.StatusTeapot)
		}
	}))
	defer server.Close()
	search := func(endpoint string) (string, *substrat.Error) {
		c := call(t, router(t, toolrouter.Options{}, toolrouter.Search(toolrouter.SearchOptions{Endpoint: endpoint, Headers: map[string]string{"X-Key": "k"}})...), "mcp_web_search", `{"query":"a & b"}`)
		var v struct{ Results []toolrouter.Found }
		_ = json.Unmarshal(c.Result, &v)
		return fmt.Sprint(v.Results), c.Error
	}
	for path, want := range map[string]string{
		"/json": "[{One https://one.example/ first} {Two https://two.example/ }]", "/nested": "[{One https://one.example/ first}]",
		"/html": "[{One more https://one.example/ } {Two https://two.example/ }]",
	} {
		if got, err := search(server.URL + path + "?q={query}"); err != nil || got != want || asked != "a & b k" {
			t.Errorf("%s: got %s, %v, asked %q", path, got, err, asked)
		}
	}
	for endpoint, code := range map[string]substrat.Code{"": substrat.CodeUnsupported, server.URL: substrat.CodeInvalid, server.URL + "/broken?q={query}": substrat.CodeUnsupported, server.URL + "/x?q={query}": substrat.CodeUnavailable} {
		if _, err := search(endpoint); err == nil || err.Code != code {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
