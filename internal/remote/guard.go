package remote

import (
	"encoding/json"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// guard stands before the API and lets through what its owner asks.
type guard struct {
	next  http.Handler
	hosts []string // further names, in lower case
	token func() (string, error)
	rates *rates
	log   *slog.Logger
}

// refusal is why a request does not come in.
type refusal struct {
	status       int
	code         substrat.Code
	detail, hint string
	// guess says that a token was tried, or none: such requests are few for an address.
	guess bool
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	no := g.look(r)
	if no == nil && !g.rates.allowed(r.RemoteAddr) {
		no = &refusal{status: http.StatusTooManyRequests, code: substrat.CodeRateLimited, detail: "too many requests from this address"}
	}
	if no == nil {
		g.next.ServeHTTP(w, r)
		return
	}
	// Everything refused counts, so that neither guessing nor filling the log is cheap. The right token is still taken:
	// otherwise whoever shares an address with its owner could lock them out.
	if g.rates.refused(r.RemoteAddr) {
		g.log.Warn("refused a request over TCP", "from", r.RemoteAddr, "method", r.Method, "host", clip(r.Host), "why", no.detail)
	} else if no.guess {
		no = &refusal{status: http.StatusTooManyRequests, code: substrat.CodeRateLimited, detail: "too many attempts from this address", hint: "wait a minute"}
	}
	refuse(w, no)
}

// look tells what is wrong with a request, nil if nothing is.
func (g *guard) look(r *http.Request) *refusal {
	switch {
	case !g.knows(r):
		return &refusal{status: http.StatusMisdirectedRequest, code: substrat.CodeForbidden, detail: "the daemon does not answer to this host name",
			hint: "add the name to hosts below [api] in substrat.toml"}
	case !sameOrigin(r):
		return &refusal{status: http.StatusForbidden, code: substrat.CodeForbidden, detail: "requests of other sites' pages are not answered"}
	}
	want, err := g.token()
	if err != nil {
		g.log.Error("cannot read the token", "error", err)
		return &refusal{status: http.StatusServiceUnavailable, code: substrat.CodeUnavailable, detail: "the daemon cannot read its token",
			hint: "substrat daemon token, where the daemon runs"}
	}
	given, ok := bearer(r)
	switch {
	case !ok:
		return &refusal{status: http.StatusUnauthorized, code: substrat.CodeForbidden, detail: "the request has no token", guess: true,
			hint: "Authorization: Bearer TOKEN, of substrat daemon token"}
	case !same(given, want):
		return &refusal{status: http.StatusUnauthorized, code: substrat.CodeForbidden, detail: "this is not the token", guess: true,
			hint: "substrat daemon token shows it, where the daemon runs"}
	case hasBody(r) && !isJSON(r):
		return &refusal{status: http.StatusUnsupportedMediaType, code: substrat.CodeInvalid, detail: "a body is JSON here", hint: "Content-Type: application/json"}
	}
	return nil
}

// knows reports whether a request is to us by a name we have. A page whose name was bound anew to our address still
// sends its own name; an address in digits cannot be bound anew.
func (g *guard) knows(r *http.Request) bool {
	name := hostname(r.Host)
	if name == "localhost" || slices.Contains(g.hosts, name) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	if err != nil || ip.Zone() != "" {
		return false
	}
	if ip.Unmap().IsLoopback() {
		return ip == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || ip == netip.IPv6Loopback() || ip == localAddr(r)
	}
	return ip.Unmap() == localAddr(r)
}

// localAddr is the address that the connection came in on.
func localAddr(r *http.Request) netip.Addr {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if addr == nil {
		return netip.Addr{}
	}
	at, _ := netip.ParseAddrPort(addr.String())
	return at.Addr().Unmap()
}

// hostname is the name in a Host, in lower case, without port and brackets; empty where it is malformed.
func hostname(host string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if in, ok := strings.CutPrefix(host, "["); ok {
		name, ok = strings.CutSuffix(in, "]")
		if !ok {
			return ""
		}
	} else if strings.Contains(host, ":") {
		return ""
	}
	return strings.ToLower(name)
}

// sameOrigin reports whether a request is of no page, or of a page of ours. Browsers say so themselves in one header or
// the other, and no page can change them.
func sameOrigin(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return false
		}
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	for _, origin := range r.Header.Values("Origin") {
		if !strings.EqualFold(origin, scheme+r.Host) {
			return false
		}
	}
	return true
}

// bearer is the one token of a request.
func bearer(r *http.Request) (string, bool) {
	all := r.Header.Values("Authorization")
	if len(all) != 1 {
		return "", false
	}
	kind, token, ok := strings.Cut(all[0], " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(kind, "bearer")
}

func hasBody(r *http.Request) bool { return r.ContentLength != 0 || len(r.TransferEncoding) > 0 }

func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json" && len(r.Header.Values("Content-Type")) == 1
}

// refuse answers with a problem as RFC 9457 has it and ends the connection, which the refused need not hold.
func refuse(w http.ResponseWriter, no *refusal) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	switch no.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		h.Set("Retry-After", "60")
	}
	w.WriteHeader(no.status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"type": "about:blank", "title": http.StatusText(no.status), "status": no.status, "detail": no.detail, "code": no.code, "hint": no.hint,
	})
}

// clip bounds what a stranger puts into the log.
func clip(s string) string { return s[:min(len(s), 200)] }
