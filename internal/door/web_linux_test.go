package door

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// hosts is a plain website that says which host it was asked for.
func (w *world) hosts(place string) {
	w.website(place, false, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(rw, "%s asked %s %s %q\n", place, r.Host, r.RequestURI, body)
	})
}

// TestPlain: every request is for the host that it names, also the second on a connection.
func TestPlain(t *testing.T) {
	const get = "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n"
	const last = "GET /y HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
	for _, c := range []struct {
		name, to, send string
		has            []string
		hasNot         string
	}{
		{"one", "allowed.com", fmt.Sprintf(last, "allowed.com"), []string{"200 OK", "asked allowed.com /y"}, ""},
		{"case", "allowed.com", fmt.Sprintf(last, "ALLOWED.com:80"), []string{"asked allowed.com /y"}, ""},
		{"other", "allowed.com", fmt.Sprintf(last, "evil.com"), []string{"403", "but the request names evil.com"}, "asked"},
		{"second", "allowed.com", fmt.Sprintf(get, "allowed.com") + fmt.Sprintf(last, "evil.com"), []string{"asked allowed.com /x", "403 Forbidden"}, "/y"},
		{"second by address", "127.0.0.1", fmt.Sprintf(get, "allowed.com") + fmt.Sprintf(last, "evil.com"), []string{"asked allowed.com /x",
			"403 Forbidden", "substrat: evil.com:80 is not on the list of hosts; ask the person who runs this team\n"}, "/y"},
		{"second allowed", "127.0.0.1", fmt.Sprintf(get, "allowed.com") + fmt.Sprintf(last, "other.com"), []string{publicA + ":80 asked allowed.com /x", publicB + ":80 asked other.com /y"}, ""},
		{"dot", "127.0.0.1", fmt.Sprintf(last, "allowed.com."), []string{"403", "ends with a dot"}, "asked"},
		{"address", "127.0.0.1", fmt.Sprintf(last, "127.0.0.1"), []string{"403", "is an address"}, "asked"},
		{"mapped", "127.0.0.1", fmt.Sprintf(last, "[::ffff:127.0.0.1]"), []string{"403", "in disguise"}, "asked"},
		{"hex", "127.0.0.1", fmt.Sprintf(last, "0x7f000001"), []string{"403", "in disguise"}, "asked"},
		{"port", "127.0.0.1", fmt.Sprintf(last, "allowed.com:8080"), []string{"403", "another port"}, "asked"},
		{"no host", "allowed.com", "GET / HTTP/1.0\r\n\r\n", []string{"403", "no host is named"}, "asked"},
		{"two hosts", "allowed.com", "GET / HTTP/1.1\r\nHost: allowed.com\r\nHost: evil.com\r\n\r\n", []string{"400"}, "asked"},
		{"NUL", "allowed.com", "GET / HTTP/1.1\r\nHost: evil\x00.allowed.com\r\n\r\n", []string{"400"}, "asked"},
		{"absolute", "127.0.0.1", "GET http://evil.com/ HTTP/1.1\r\nHost: allowed.com\r\nConnection: close\r\n\r\n", []string{"403", "evil.com"}, "asked"},
		{"absolute allowed", "127.0.0.1", "GET http://other.com/ HTTP/1.1\r\nHost: allowed.com\r\nConnection: close\r\n\r\n", []string{publicB + ":80 asked other.com /"}, "allowed.com"},
		{"CONNECT", "allowed.com", "CONNECT evil.com:443 HTTP/1.1\r\nHost: evil.com:443\r\nConnection: close\r\n\r\n", []string{"400"}, "asked"},
		{"both lengths", "allowed.com", "POST / HTTP/1.1\r\nHost: allowed.com\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil.com\r\n\r\n", nil, "/evil"},
		{"length lies", "allowed.com", "POST / HTTP/1.1\r\nHost: allowed.com\r\nContent-Length: 49\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil.com\r\nX: yyyyyyyyyy" + fmt.Sprintf(last, "evil.com"), []string{"403"}, "asked evil"},
		{"h2c", "allowed.com", "GET / HTTP/1.1\r\nHost: allowed.com\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", []string{"200 OK", "asked"}, "101"},
		{"h2 preface", "allowed.com", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", nil, "asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t, Policy{Allow: []string{"allowed.com", "other.com"}}, nil)
			w.name("other.com", publicB)
			w.name("evil.com", publicB)
			w.hosts(publicA + ":80")
			w.hosts(publicB + ":80")
			conn := w.mustDial(c.to, 80)
			_, _ = io.WriteString(conn, c.send)
			if len(c.has) == 0 {
				_ = conn.(*net.TCPConn).CloseWrite()
			}
			raw, _ := io.ReadAll(conn)
			out := string(raw)
			for _, has := range c.has {
				if !strings.Contains(out, has) {
					t.Errorf("no %q in\n%s", has, out)
				}
			}
			if c.hasNot != "" && strings.Contains(out, c.hasNot) {
				t.Errorf("%q in\n%s", c.hasNot, out)
			}
			if strings.Contains(out, "403") {
				w.denied(ViaHTTP, "")
			}
			if c.name == "NUL" || c.name == "two hosts" {
				w.denied(ViaHTTP, "cannot be understood")
			}
		})
	}
}

// TestRedirects are brought back as they are, never followed outside.
func TestRedirects(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com"}}, nil)
	w.website(publicA+":80", false, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://169.254.169.254/latest", http.StatusFound)
	})
	resp, err := w.client().Get("http://allowed.com/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != "http://169.254.169.254/latest" {
		t.Errorf("%v", resp)
	}
	if d := w.dials(); len(d) != 1 {
		t.Errorf("dialled %v", d)
	}
}

// TestUnreachable is told in plain words, without what the resolver said.
func TestUnreachable(t *testing.T) {
	w := open(t, Policy{Allow: []string{"*"}}, nil)
	for host, want := range map[string]string{"allowed.com": "connection refused", "nowhere.com": "there is no such name"} {
		resp, err := w.client().Get("http://" + host + "/")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadGateway || !strings.Contains(string(body), want) || strings.Contains(string(body), "10.9.8.7") {
			t.Errorf("%s %s", resp.Status, body)
		}
		w.await("failed", func(a Attempt) bool { return a.Verdict == Failed && a.Host == host })
	}
	w.name("dead.com")
	w.mu.Lock()
	w.broken = errors.New("read 10.9.8.7:53: server misbehaving")
	w.mu.Unlock()
	w.door.resolved.mu.Lock()
	clear(w.door.resolved.kept)
	w.door.resolved.mu.Unlock()
	if out := w.say("127.0.0.1", 80, "GET / HTTP/1.1\r\nHost: dead.com\r\nConnection: close\r\n\r\n"); !strings.Contains(out, "could not be looked up") || strings.Contains(out, "10.9.8.7") {
		t.Error(out)
	}
	w.mu.Lock()
	w.broken = nil
	w.mu.Unlock()
	w.name("inner.com", "10.1.2.3")
	resp, err := w.client().Get("http://inner.com/")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "leads to 10.1.2.3, an address of a private network") {
		t.Errorf("%s %s", resp.Status, body)
	}
}

const upgrade = "GET /ws HTTP/1.1\r\nHost: allowed.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

// socket is a website that becomes a websocket, as far as a door can tell.
func socket(rw http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		http.Error(rw, "no upgrade", http.StatusUpgradeRequired)
		return
	}
	c, buf, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Echo: "+r.Header.Get("X-Api-Key")+"\r\n\r\n")
	for {
		line, err := buf.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Fprint(c, "you said "+line)
	}
}

// TestWebsocket speaks both ways after an upgrade, directly and through the proxy.
func TestWebsocket(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com"}}, nil)
	w.website(publicA+":80", false, socket)
	for _, port := range []int{80, 3128} {
		c := w.mustDial("127.0.0.1", port)
		buf := bufio.NewReader(c)
		if port == 3128 {
			fmt.Fprint(c, "CONNECT allowed.com:80 HTTP/1.1\r\nHost: allowed.com:80\r\n\r\n")
			if resp, err := http.ReadResponse(buf, &http.Request{Method: http.MethodConnect}); err != nil || resp.StatusCode != 200 {
				t.Fatal(resp, err)
			}
		}
		fmt.Fprint(c, upgrade)
		resp, err := http.ReadResponse(buf, nil)
		if err != nil || resp.StatusCode != 101 {
			t.Fatal(resp, err)
		}
		for _, word := range []string{"one", "two"} {
			fmt.Fprintln(c, word)
			if line, err := buf.ReadString('\n'); err != nil || line != "you said "+word+"\n" {
				t.Fatal(line, err)
			}
		}
		c.Close()
		a := w.await("closed", func(a Attempt) bool { return a.Verdict == Closed && a.Via == ViaHTTP && a.Up == 8 && a.Down == 26 })
		if a.Host != "allowed.com" {
			t.Errorf("%+v", a)
		}
		w.mu.Lock()
		w.seen = nil
		w.mu.Unlock()
	}
}

// TestOtherUpgrades are not passed on: after one, requests for anybody could follow unseen.
func TestOtherUpgrades(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com"}}, nil)
	w.website(publicA+":80", false, socket)
	out := w.say("allowed.com", 80, "GET / HTTP/1.1\r\nHost: allowed.com\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
	if !strings.HasPrefix(out, "HTTP/1.1 426") {
		t.Error(out)
	}
}

// proxied is a client that goes by the proxy variable.
func (w *world) proxied() *http.Client {
	proxy, err := url.Parse("http://" + w.at("127.0.0.1", PortProxy))
	if err != nil {
		w.t.Fatal(err)
	}
	tr := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool()}, ForceAttemptHTTP2: true}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// TestProxy is an ordinary client behind the proxy.
func TestProxy(t *testing.T) {
	w := open(t, Policy{Allow: []string{"allowed.com", "other.com:8443"}}, nil)
	w.name("other.com", publicB)
	site := func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, r.Host, " ", r.Proto) }
	w.website(publicA+":443", true, site)
	w.website(publicA+":80", false, site)
	w.website(publicB+":8443", true, site)
	for address, want := range map[string]string{
		"https://allowed.com/": "allowed.com HTTP/2.0", "http://allowed.com/": "allowed.com HTTP/1.1", "https://other.com:8443/": "other.com:8443 HTTP/2.0",
	} {
		resp, err := w.proxied().Get(address)
		if err != nil {
			t.Fatal(address, err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %s", address, body)
		}
	}
	for _, address := range []string{"https://evil.com/", "https://allowed.com:8443/", "https://other.com/", "https://127.0.0.1/", "https://allowed.com:22/"} {
		if _, err := w.proxied().Get(address); err == nil || !strings.Contains(err.Error(), "Forbidden") {
			t.Errorf("%s: %v", address, err)
		}
	}
	w.denied(ViaConnect, "not on the list")
}

// TestConnect: what CONNECT names and what is then spoken have to agree.
func TestConnect(t *testing.T) {
	for _, c := range []struct{ name, target, then, answer, why string }{
		{"other name in TLS", "allowed.com:443", string(clientHello(t, "other.com")), "HTTP/1.1 200", "but the ClientHello names other.com"},
		{"no name in TLS", "allowed.com:443", string(clientHello(t, "")), "HTTP/1.1 200", "names no host"},
		{"not TLS", "allowed.com:443", "SSH-2.0-x\r\n", "HTTP/1.1 200", "does not begin with TLS"},
		{"other name on a named port", "allowed.com:8443", string(clientHello(t, "other.com")), "HTTP/1.1 200", "but the ClientHello names other.com"},
		{"requests for another", "allowed.com:80", "GET / HTTP/1.1\r\nHost: other.com\r\nConnection: close\r\n\r\n", "HTTP/1.1 200", "but the request names other.com"},
		{"address", "127.0.0.1:443", "", "HTTP/1.1 403", "is an address"},
		{"metadata", "169.254.169.254:80", "", "HTTP/1.1 403", "is an address"},
		{"hex", "0x7f000001:443", "", "HTTP/1.1 403", "in disguise"},
		{"short", "127.1:443", "", "HTTP/1.1 403", "in disguise"},
		{"mapped", "[::ffff:127.0.0.1]:443", "", "HTTP/1.1 403", "in disguise"},
		{"dot", "allowed.com.:443", "", "HTTP/1.1 403", "ends with a dot"},
		{"no port", "allowed.com", "", "HTTP/1.1 403", "port is missing"},
		{"port 0", "allowed.com:0", "", "HTTP/1.1 403", "not a number from 1"},
		{"evil", "evil.com:443", "", "HTTP/1.1 403", "not on the list"},
		{"other port", "allowed.com:22", "", "HTTP/1.1 403", "not on the list"},
		{"private", "inner.com:443", "", "HTTP/1.1 403", "leads to 10.1.2.3"},
		{"NUL", "evil\x00.allowed.com:443", "", "HTTP/1.1 400", "cannot be understood"},
		{"user", "allowed.com@evil.com:443", "", "HTTP/1.1 4", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t, Policy{Allow: []string{"allowed.com", "other.com", "inner.com", "allowed.com:8443"}}, nil)
			w.name("inner.com", "10.1.2.3")
			w.echo(publicA + ":443")
			w.echo(publicA + ":8443")
			out := w.say("127.0.0.1", PortProxy, "CONNECT "+c.target+" HTTP/1.1\r\nHost: allowed.com:443\r\nConnection: close\r\n\r\n"+c.then)
			if !strings.HasPrefix(out, c.answer) {
				t.Errorf("got %q", out)
			}
			if strings.Contains(out, "hello of") && c.name != "other name on a named port" {
				t.Errorf("it went through: %q", out)
			}
			w.await(c.why, func(a Attempt) bool { return a.Verdict == Denied && strings.Contains(a.Why, c.why) })
		})
	}
}

// TestAsk: ten connections to a new host are one question, and everybody gets its answer.
func TestAsk(t *testing.T) {
	for _, yes := range []bool{true, false} {
		var mu sync.Mutex
		asked := map[string]int{}
		answer := make(chan bool)
		w := open(t, Policy{Default: DefaultAsk, Deny: []string{"denied.com"}}, func(o *Options, _ *Door) {
			o.Ask = func(ctx context.Context, host string, port int) (bool, error) {
				mu.Lock()
				asked[fmt.Sprint(host, ":", port)]++
				mu.Unlock()
				select {
				case a := <-answer:
					return a, nil
				case <-ctx.Done():
					return false, ctx.Err()
				}
			}
		})
		w.hosts(publicA + ":80")
		var wg sync.WaitGroup
		got := make(chan int, 11)
		get := func() {
			resp, err := w.client().Get("http://allowed.com/")
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			got <- resp.StatusCode
		}
		for range 10 {
			wg.Go(get)
		}
		w.await("asked", func(a Attempt) bool { return a.Verdict == Asked && a.Host == "allowed.com" && a.Port == 80 })
		// Each of the ten has a connection and a request; the listeners and the question are fewer.
		for began := time.Now(); w.door.crew.count() < 20 && time.Since(began) < 5*time.Second; {
			time.Sleep(time.Millisecond)
		}
		answer <- yes
		wg.Wait()
		get() // remembered
		close(got)
		for status := range got {
			if want := map[bool]int{true: 200, false: 403}[yes]; status != want {
				t.Errorf("yes=%v: %d", yes, status)
			}
		}
		if len(asked) != 1 || asked["allowed.com:80"] != 1 {
			t.Errorf("asked %v", asked)
		}
		if _, err := w.lookup("denied.com"); err == nil {
			t.Error("what is denied is not asked about")
		}
	}
}

// TestAskUnanswered: a connection does not wait for ever; a word said meanwhile, or later, counts.
func TestAskUnanswered(t *testing.T) {
	w := open(t, Policy{Default: DefaultAsk}, func(o *Options, d *Door) {
		if d != nil {
			d.asker.wait = 50 * time.Millisecond
		}
		o.Ask = func(ctx context.Context, _ string, _ int) (bool, error) {
			<-ctx.Done()
			return true, nil
		}
	})
	w.hosts(publicA + ":80")
	get := func() int {
		t.Helper()
		resp, err := w.client().Get("http://allowed.com/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if s := get(); s != 403 {
		t.Error(s)
	}
	w.denied(ViaHTTP, "no person has answered yet")
	if err := w.door.Allow("allowed.com", 80); err != nil {
		t.Fatal(err)
	}
	if s := get(); s != 200 {
		t.Error(s)
	}
	if err := w.door.Deny("allowed.com", 80); err != nil {
		t.Fatal(err)
	}
	if s := get(); s != 403 {
		t.Error(s)
	}
	if w.door.Allow("0x7f.1", 80) == nil || w.door.Allow("allowed.com:81", 80) == nil {
		t.Error("malformed answers were taken")
	}
}

// TestServeEnds with everything open: tunnels, websockets, questions, half a request.
func TestServeEnds(t *testing.T) {
	w := open(t, Policy{Default: DefaultAsk, Allow: []string{"allowed.com", "allowed.com:22"}}, func(o *Options, _ *Door) {
		o.Ask = func(ctx context.Context, _ string, _ int) (bool, error) { <-ctx.Done(); return false, ctx.Err() }
	})
	w.website(publicA+":80", false, socket)
	w.echo(publicA + ":22")
	fmt.Fprint(w.mustDial("allowed.com", 80), upgrade)
	fmt.Fprint(w.mustDial("127.0.0.1", 80), "GET / HT")
	fmt.Fprint(w.mustDial("new.com", 80), "GET / HTTP/1.1\r\nHost: new.com\r\n\r\n")
	fmt.Fprint(w.mustDial("127.0.0.1", 3128), "CONNECT allowed.com:22 HTTP/1.1\r\nHost: x\r\n\r\n")
	fmt.Fprint(w.mustDial("allowed.com", 443), "\x16")
	readLine(t, w.mustDial("allowed.com", 22))
	w.await("asked", func(a Attempt) bool { return a.Verdict == Asked })
	w.await("websocket", func(a Attempt) bool { return a.Verdict == Allowed && a.Via == ViaHTTP })
	w.await("connect", func(a Attempt) bool { return a.Verdict == Allowed && a.Via == ViaConnect })
	w.stop()
}

// TestListenerFails: the owner learns of it.
func TestListenerFails(t *testing.T) {
	d, err := New(Policy{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := httptest.NewUnstartedServer(nil).Listener
	l.Close()
	if err := d.Serve(t.Context(), Listeners{TCP: map[int]net.Listener{443: l}}); err == nil {
		t.Error("no error")
	}
}
