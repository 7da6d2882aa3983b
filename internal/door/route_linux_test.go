package door

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const key = "sk-secret-0123456789"

func keyRoute(t *testing.T, h http.HandlerFunc) *world {
	w := open(t, Policy{Routes: []Route{{Port: 8001, Target: "https://allowed.com/base", Header: map[string]string{
		"X-Api-Key": key, "Authorization": "Bearer " + key, "X-Drop": "",
	}}}}, func(o *Options, _ *Door) {
		o.TLS = &tls.Config{RootCAs: pool()}
	})
	w.website(publicA+":443", true, h)
	t.Cleanup(func() {
		w.stop()
		text, err := json.Marshal(w.seen)
		if err != nil || strings.Contains(string(text), key) {
			t.Errorf("the key is in what is told: %s %v", text, err)
		}
	})
	return w
}

// TestRoute streams both ways at once over both versions of HTTP, with a key that nobody inside knows.
func TestRoute(t *testing.T) {
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		w := keyRoute(t, func(rw http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(rw)
			_ = rc.EnableFullDuplex()
			rw.Header().Set("Content-Type", "application/x-ndjson")
			rw.Header().Set("X-Echo", "got "+r.Header.Get("X-Api-Key"))
			rw.Header().Set("Trailer", "X-Late")
			for name, v := range map[string]string{"X-Api-Key": key, "Authorization": "Bearer " + key, "X-Drop": "", "X-Kept": "yes", "Proxy-Authorization": ""} {
				if got := r.Header.Get(name); got != v || len(r.Header.Values(name)) > 1 {
					t.Errorf("%s: %s arrived as %q", version, name, got)
				}
			}
			if r.Host != "allowed.com" || r.URL.Path != "/base/v1/messages" {
				t.Errorf("%s %s", r.Host, r.URL)
			}
			_ = rc.Flush()
			in := bufio.NewScanner(r.Body)
			for in.Scan() {
				fmt.Fprintf(rw, "data: %s\n", in.Text())
				_ = rc.Flush()
			}
			rw.Header().Set("X-Late", key)
		})
		protocols := &http.Protocols{}
		protocols.SetHTTP1(version == "HTTP/1.1")
		protocols.SetUnencryptedHTTP2(version == "HTTP/2.0")
		tr := &http.Transport{Protocols: protocols}
		t.Cleanup(tr.CloseIdleConnections)
		body, send := io.Pipe()
		req, _ := http.NewRequest("POST", "http://"+w.at("127.0.0.1", 8001)+"/v1/messages", body)
		req.Header.Set("X-Api-Key", "placeholder")
		req.Header.Set("X-Drop", "x")
		req.Header.Set("X-Kept", "yes")
		req.Header.Set("Proxy-Authorization", "x")
		if version == "HTTP/1.1" {
			req.Header.Set("Connection", "X-Api-Key") // asks for the header to be dropped on the way
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(version, err)
		}
		if resp.Proto != version || resp.Header.Get("X-Echo") != "got [redacted]" {
			t.Errorf("%s %v", resp.Proto, resp.Header)
		}
		w.await("at once", func(a Attempt) bool { return a.Verdict == Allowed && a.Via == ViaRoute && a.Host == "allowed.com" })
		back := bufio.NewReader(resp.Body)
		for _, word := range []string{"one", "two", "three"} {
			fmt.Fprintln(send, word)
			if line, err := back.ReadString('\n'); err != nil || line != "data: "+word+"\n" {
				t.Fatal(version, line, err)
			}
		}
		send.Close()
		if rest, err := io.ReadAll(back); err != nil || len(rest) > 0 {
			t.Error(version, string(rest), err)
		}
		resp.Body.Close()
		if resp.Trailer.Get("X-Late") != redacted {
			t.Errorf("%s: trailers %v", version, resp.Trailer)
		}
		a := w.await("closed", func(a Attempt) bool { return a.Verdict == Closed && a.Via == ViaRoute })
		if a.Up != 14 || a.Down != 32 {
			t.Errorf("%+v", a)
		}
	}
}

// TestRouteRefuses what would bring the key back or elsewhere.
func TestRouteRefuses(t *testing.T) {
	w := keyRoute(t, func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/base/away":
			rw.Header().Set("Location", "https://evil.com/?"+r.Header.Get("X-Api-Key"))
			rw.WriteHeader(http.StatusTemporaryRedirect)
		case "/base/hints":
			rw.Header().Set("Link", "</"+r.Header.Get("X-Api-Key")+">")
			rw.WriteHeader(http.StatusEarlyHints)
			fmt.Fprint(rw, "done")
		default:
			fmt.Fprint(rw, "reached "+r.Host+r.URL.Path)
		}
	})
	for send, want := range map[string]string{
		"TRACE / HTTP/1.1\r\nHost: x":                            "405",
		"GET /../admin HTTP/1.1\r\nHost: x":                      "400",
		"GET /%2e%2e/admin HTTP/1.1\r\nHost: x":                  "400",
		"GET /away HTTP/1.1\r\nHost: x":                          "evil.com/?[redacted]",
		"GET /hints HTTP/1.1\r\nHost: x":                         "</[redacted]>",
		"GET http://evil.com/x HTTP/1.1\r\nHost: evil.com":       "reached allowed.com/base/x",
		"CONNECT evil.com:443 HTTP/1.1\r\nHost: evil.com":        "405",
		"GET /x HTTP/1.1\r\nHost: x\r\nX-Api-Key: a\r\nTE: none": "reached",
	} {
		out := w.say("127.0.0.1", 8001, send+"\r\nConnection: close\r\n\r\n")
		if !strings.Contains(out, want) || strings.Contains(out, key) {
			t.Errorf("%q: %s", send, out)
		}
	}
	w.name("allowed.com", "10.0.0.1")
	w.door.resolved.mu.Lock()
	clear(w.door.resolved.kept)
	w.door.resolved.mu.Unlock()
	for _, r := range w.door.rules.routes {
		r.transport.(*http.Transport).CloseIdleConnections()
	}
	if out := w.say("127.0.0.1", 8001, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.Contains(out, "403") || !strings.Contains(out, "leads to 10.0.0.1") {
		t.Error(out)
	}
}

// TestRouteToThisMachine: a target that is an address permits it; one that cannot be reached is told of.
func TestRouteToThisMachine(t *testing.T) {
	w := open(t, Policy{Routes: []Route{{Port: 8001, Target: "http://localhost:9999", Header: map[string]string{"Authorization": key}}}}, nil)
	get := func() string {
		return w.say("127.0.0.1", 8001, "GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	}
	if out := get(); !strings.Contains(out, "502") || !strings.Contains(out, "cannot be reached: connection refused") {
		t.Error(out)
	}
	w.website("127.0.0.1:9999", false, func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, r.Host, " ", r.Header.Get("Authorization") == key)
	})
	if out := get(); !strings.Contains(out, "localhost:9999 true") {
		t.Error(out)
	}
	if out := w.say("127.0.0.1", 80, "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.Contains(out, "403") {
		t.Error(out)
	}
}
