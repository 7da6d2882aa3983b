package remote

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What one address may ask: requests with the token, and refused ones.
const (
	askRate   = 100 // a second
	askBurst  = 200
	refuseMin = 10 // a minute
	// addrsMost bounds how many addresses are remembered.
	addrsMost = 4096
)

// rates count by address. An address that asked nothing for as long as its counts take to fill up again is as good as
// new and forgotten first.
type rates struct {
	mu    sync.Mutex
	now   func() time.Time
	addrs map[string]*counts
}

type counts struct {
	asked, wrong *rate.Limiter
	last         time.Time
}

func newRates(now func() time.Time) *rates { return &rates{now: now, addrs: map[string]*counts{}} }

// allowed counts a request that has the token, and reports whether it is within the rate.
func (r *rates) allowed(remote string) bool {
	c, now := r.of(remote)
	return c.asked.AllowN(now, 1)
}

// refused counts a refusal, and reports whether it is within the rate.
func (r *rates) refused(remote string) bool {
	c, now := r.of(remote)
	return c.wrong.AllowN(now, 1)
}

func (r *rates) of(remote string) (*counts, time.Time) {
	key := addrKey(remote)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	c := r.addrs[key]
	if c == nil {
		r.makeRoom(now)
		c = &counts{asked: rate.NewLimiter(askRate, askBurst), wrong: rate.NewLimiter(rate.Every(time.Minute/refuseMin), refuseMin)}
		r.addrs[key] = c
	}
	c.last = now
	return c, now
}

// makeRoom forgets who is quiet; where nobody is, the one that was heard of longest ago. Caller holds mu.
func (r *rates) makeRoom(now time.Time) {
	if len(r.addrs) < addrsMost {
		return
	}
	oldest := ""
	for key, c := range r.addrs {
		if now.Sub(c.last) > time.Minute {
			delete(r.addrs, key)
		} else if oldest == "" || c.last.Before(r.addrs[oldest].last) {
			oldest = key
		}
	}
	if len(r.addrs) >= addrsMost {
		delete(r.addrs, oldest)
	}
}

// addrKey is whose requests are counted together: a host with an IPv6 network has as many addresses as it likes.
func addrKey(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	ip = ip.Unmap()
	if ip.Is6() {
		p, _ := ip.WithZone("").Prefix(64)
		return p.String()
	}
	return ip.String()
}
