package door

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// pause is the rest after an error that goes away by itself, such as too many open files.
const pause = 20 * time.Millisecond

// inside is a connection that was accepted from the sandbox.
type inside struct {
	net.Conn
	port  int  // the port that it came in on, or was tunnelled to
	meant host // whom its address, or the CONNECT before it, names
	bound bool // meant has to be kept to

	// Requests that began and that were understood, where HTTP is spoken.
	begun, understood atomic.Int32

	release func()
	once    sync.Once
}

// Close gives the connection's place to the next.
func (c *inside) Close() error {
	c.once.Do(c.release)
	return c.Conn.Close()
}

// gate accepts as many connections as there are places.
type gate struct {
	net.Listener
	door *Door
	port int
}

func (g *gate) Accept() (net.Conn, error) { return g.accept() }

func (g *gate) accept() (*inside, error) {
	for {
		c, err := g.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			var n net.Error
			if !errors.As(err, &n) {
				return nil, err
			}
			time.Sleep(pause)
			continue
		}
		select {
		case g.door.places <- struct{}{}:
		default:
			g.door.teller.add(Attempt{Port: g.port, Via: ViaTCP, Verdict: Failed, Why: "too many connections are open"})
			c.Close()
			continue
		}
		in := &inside{Conn: c, port: g.port, release: func() { <-g.door.places }}
		in.meant, in.bound = g.door.meant(c.LocalAddr())
		return in, nil
	}
}

// meant gives the host that an address inside stands for: a name, or the address itself. known says that a name was given the address.
func (d *Door) meant(local net.Addr) (h host, known bool) {
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return host{}, false
	}
	addr := at.Addr().Unmap().WithZone("")
	if name, ok := d.names.name(addr); ok {
		return host{name: name}, true
	}
	return host{addr: addr}, false
}

// prefixed is a connection of which something was read already.
type prefixed struct {
	net.Conn
	first []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// crew counts goroutines of ours and those that net/http starts for us. Unlike a WaitGroup it may be joined while somebody waits.
type crew struct {
	mu sync.Mutex
	on sync.Cond
	n  int
}

func (c *crew) join(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n += by; c.n == 0 {
		c.on.Broadcast()
	}
}

func (c *crew) start(f func()) {
	c.join(1)
	go func() {
		defer c.join(-1)
		f()
	}()
}

func (c *crew) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.n > 0 {
		c.on.Wait()
	}
}
