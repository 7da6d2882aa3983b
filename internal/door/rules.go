package door

import (
	"net/netip"
	"slices"
	"sync"
)

// rules are a policy and what people answered since.
type rules struct {
	compiled

	mu      sync.RWMutex
	answers []answer
}

// answer is what a person said. Later ones come after earlier ones and are worth more.
type answer struct {
	pattern
	allow bool
}

// mostAnswers bounds what is remembered; the oldest is forgotten first.
const mostAnswers = 4096

// decision is what the rules say, without asking anybody. why is told where the word is Denied.
type decision struct {
	verdict string
	why     string
}

// decide says what becomes of a connection to h.
func (r *rules) decide(h host, port int) decision {
	for _, p := range r.deny {
		if p.forbids(h, port) {
			return decision{Denied, "is on the list of hosts that are denied"}
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, a := range slices.Backward(r.answers) {
		if a.permits(h, port) {
			if a.allow {
				return decision{verdict: Allowed}
			}
			return decision{Denied, "was refused by a person"}
		}
	}
	for _, p := range r.allow {
		if p.permits(h, port) {
			return decision{verdict: Allowed}
		}
	}
	switch {
	case h.literal():
		return decision{Denied, "is an address, which has to be on the list of hosts itself"}
	case r.fallback == DefaultAsk:
		return decision{verdict: Asked}
	case r.fallback == DefaultAllow && isWeb(port):
		return decision{verdict: Allowed}
	case r.fallback == DefaultAllow:
		return decision{Denied, "is on a port that has to be on the list of hosts itself"}
	}
	return decision{Denied, "is not on the list of hosts"}
}

// mayBe says that a connection to h on some port might be let through, so that its name has an address.
func (r *rules) mayBe(h host) bool {
	try := func(p pattern) bool {
		if !p.matches(h) {
			return false
		}
		if p.port != 0 {
			return r.decide(h, p.port).verdict != Denied
		}
		return r.decide(h, portTLS).verdict != Denied || r.decide(h, portHTTP).verdict != Denied
	}
	if try(pattern{any: true}) || slices.ContainsFunc(r.allow, try) {
		return true
	}
	return slices.ContainsFunc(r.said(), func(a answer) bool { return a.allow && try(a.pattern) })
}

func (r *rules) said() []answer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.answers)
}

// say remembers an answer.
func (r *rules) say(p pattern, allow bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = slices.DeleteFunc(r.answers, func(a answer) bool { return a.pattern == p })
	if len(r.answers) >= mostAnswers {
		r.answers = slices.Delete(r.answers, 0, 1)
	}
	r.answers = append(r.answers, answer{p, allow})
}

// address says whether exactly this address may be dialled, for a host that may be reached: it is public, or somebody named the address
// itself with the port. also are further permissions of that kind.
func (r *rules) address(a netip.Addr, port int, own bool, also ...pattern) error {
	h := host{addr: a}
	for _, p := range r.deny {
		if !p.any && p.forbids(h, port) {
			return refusal("leads to " + a.String() + ", which is on the list of hosts that are denied")
		}
	}
	what := private(a)
	if what == "" && own {
		what = "an address of this machine"
	}
	if what == "" || slices.ContainsFunc(also, func(p pattern) bool { return p.names(a, port) }) {
		return nil
	}
	for _, said := range slices.Backward(r.said()) {
		if said.names(a, port) {
			if said.allow {
				return nil
			}
			return refusal("leads to " + a.String() + ", which was refused by a person")
		}
	}
	if slices.ContainsFunc(r.allow, func(p pattern) bool { return p.names(a, port) }) {
		return nil
	}
	return refusal("leads to " + a.String() + ", " + what)
}

// names says that the pattern is this address itself, or localhost for a loopback's.
func (p pattern) names(a netip.Addr, port int) bool {
	return p.onPort(port) && (p.host.addr == a || p.host.name == localhost && host{addr: a}.loopback())
}
