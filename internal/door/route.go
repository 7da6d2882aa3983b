package door

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// route is a port whose requests get headers that nobody inside knows.
type route struct {
	target  *url.URL
	host    host
	port    int
	header  map[string]string
	secrets []string // what must not come back

	transport http.RoundTripper
}

// dialer reaches the target. That it was configured permits its address, where the target is one.
func (r *route) dialer(d *Door) func(context.Context, host, int) (*outside, error) {
	return func(ctx context.Context, h host, port int) (*outside, error) {
		return d.dial(ctx, h, port, pattern{host: r.host, port: r.port})
	}
}

// serve sends a request to the target.
func (r *route) serve(d *Door) func(http.ResponseWriter, *http.Request, *inside) {
	return func(w http.ResponseWriter, q *http.Request, _ *inside) {
		a := Attempt{Host: r.host.String(), Port: r.port, Via: ViaRoute}
		switch {
		case q.Method == http.MethodConnect || q.Method == http.MethodTrace || q.Method == "TRACK":
			// TRACE would send the headers back in the body, the key among them.
			d.answerRefusal(w, a, http.StatusMethodNotAllowed, refusal("this method is not passed on"))
		case climbs(q.URL.Path):
			d.answerRefusal(w, a, http.StatusBadRequest, refusal("the path leads upwards"))
		default:
			kept := &cleaned{w, r}
			d.send(kept, q, &trip{host: r.host, port: r.port, via: ViaRoute, route: r, through: r.transport})
			r.clean(w.Header()) // trailers
		}
	}
}

func climbs(path string) bool {
	for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		if part == ".." {
			return true
		}
	}
	return false
}

// rewrite addresses a request to the target. Headers are set last: nothing the agent sent, not even that a header be dropped on the way, comes after.
func (r *route) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(r.target)
	p.Out.Host = r.target.Host
	for name, value := range r.header {
		p.Out.Header.Del(name)
		if value != "" {
			p.Out.Header.Set(name, value)
		}
	}
}

const (
	redacted    = "[redacted]"
	leastSecret = 8 // a shorter value is a version or a word
)

// secretsOf gives the value of a header, and what it holds after a scheme such as Bearer.
func secretsOf(value string) []string {
	var out []string
	if len(value) >= leastSecret {
		out = append(out, value)
	}
	if _, token, ok := strings.Cut(value, " "); ok && len(token) >= leastSecret {
		out = append(out, token)
	}
	return out
}

// clean takes the secrets out of headers that go in.
func (r *route) clean(h http.Header) {
	for name, values := range h {
		if shownName := r.without(name); shownName != name {
			delete(h, name)
			continue
		}
		for i, v := range values {
			values[i] = r.without(v)
		}
	}
}

func (r *route) without(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	return s
}

// cleaned is a response writer for headers that come before the last ones (103 Early Hints).
type cleaned struct {
	http.ResponseWriter
	route *route
}

func (c *cleaned) WriteHeader(status int) {
	c.route.clean(c.Header())
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach flushing and hijacking.
func (c *cleaned) Unwrap() http.ResponseWriter { return c.ResponseWriter }
