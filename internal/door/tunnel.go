package door

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// refuse tells of an attempt that came to nothing.
func (d *Door) refuse(a Attempt, err error) {
	a.Verdict, a.Why = Failed, err.Error()
	if isRefusal(err) {
		a.Verdict = Denied
	}
	d.teller.add(a)
}

func isRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// serveTLS is port 443: the ClientHello names the host, and bytes go through as they are.
func (d *Door) serveTLS(ctx context.Context, c *inside) {
	meant := c.meant
	if !c.bound && d.rules.decide(meant, c.port).verdict != Allowed {
		meant = host{} // an address that nobody permitted says nothing; the ClientHello does
	}
	a := Attempt{Host: meant.String(), Port: c.port, Via: ViaTLS}
	hi, first, err := d.peek(ctx, c.Conn, nil)
	if err == nil {
		var h host
		if h, err = d.named(hi, meant); err == nil {
			meant, a.Host = h, h.String()
			err = d.asker.permit(ctx, d.ctx, h, c.port, ViaTLS)
		} else if hi.name != "" {
			a.Host = shown(hi.name)
		}
	}
	if err != nil {
		d.refuse(a, err)
		if isRefusal(err) && len(first) > 0 {
			_, _ = c.Write(alertDenied) // a courtesy; so little always fits
		}
		return
	}
	server, err := d.dial(ctx, meant, c.port)
	if err != nil {
		d.refuse(a, err)
		return
	}
	defer server.Close()
	d.tunnel(ctx, a, c.Conn, server, first, nil)
}

// peek reads a ClientHello within the time for it. first is what was read before.
func (d *Door) peek(ctx context.Context, c net.Conn, first []byte) (hello, []byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(d.limits.hello)); err != nil {
		return hello{}, first, failure("the connection ended")
	}
	pre := &prefixed{Conn: c, first: first}
	hi, read, err := peek(ctx, pre)
	return hi, append(read, pre.first...), err
}

// serveTCP is a port that an entry names: the address that the connection came in on says which host is meant.
func (d *Door) serveTCP(ctx context.Context, c *inside) {
	a := Attempt{Host: c.meant.String(), Port: c.port, Via: ViaTCP}
	if !c.bound && fakes.Contains(c.meant.addr) {
		d.refuse(a, refusal("is an address that no name was given"))
		return
	}
	if err := d.asker.permit(ctx, d.ctx, c.meant, c.port, ViaTCP); err != nil {
		d.refuse(a, err)
		return
	}
	server, err := d.dial(ctx, c.meant, c.port)
	if err != nil {
		d.refuse(a, err)
		return
	}
	defer server.Close()
	d.tunnel(ctx, a, c.Conn, server, nil, func() ([]byte, error) { return d.sniff(ctx, c.Conn, nil, c.meant) })
}

// sniff reads the first bytes of a connection on a port that an entry names. They may be anything; if they are TLS and name
// a host, it has to be the one.
func (d *Door) sniff(ctx context.Context, c net.Conn, first []byte, meant host) ([]byte, error) {
	if len(first) == 0 {
		buf := make([]byte, 4096)
		if err := c.SetReadDeadline(time.Now().Add(d.limits.idle)); err != nil {
			return nil, err
		}
		n, err := c.Read(buf)
		if n == 0 && !errors.Is(err, io.EOF) {
			return nil, err
		}
		first = buf[:n]
	}
	if len(first) == 0 || first[0] != recordTLS {
		return first, nil
	}
	hi, first, err := d.peek(ctx, c, first)
	if errors.Is(err, errNotTLS) {
		return first, nil
	}
	if err == nil && (hi.name != "" || hi.ech) {
		_, err = d.named(hi, meant)
	}
	return first, err
}

// tunnel carries bytes both ways until both sides have ended, and tells of it. look, if there is one, gives what the client sent first, or a refusal.
func (d *Door) tunnel(ctx context.Context, a Attempt, client net.Conn, server *outside, first []byte, look func() ([]byte, error)) {
	a.Address, a.Verdict = server.address.String(), Allowed
	d.teller.add(a)
	f := &flow{client: client, server: server.Conn, idle: d.limits.idle}
	stop := context.AfterFunc(ctx, f.cut)
	defer stop()
	up := make(chan error, 1)
	go func() {
		err := f.ahead(first, look)
		if err == nil {
			err = f.copy(f.server, f.client, &f.up)
		}
		if err != nil {
			f.cut()
		}
		up <- err
	}()
	if err := f.copy(f.client, f.server, &f.down); err != nil {
		f.cut()
	}
	if err := <-up; isRefusal(err) {
		d.refuse(a, err)
	}
	a.Verdict, a.Up, a.Down = Closed, f.up.Load(), f.down.Load()
	d.teller.add(a)
}

// flow is one connection carried to another.
type flow struct {
	client, server net.Conn
	idle           time.Duration
	up, down       atomic.Int64
}

func (f *flow) cut() {
	f.client.Close()
	f.server.Close()
}

// ahead sends what was read before, or what look finds.
func (f *flow) ahead(first []byte, look func() ([]byte, error)) error {
	if look != nil {
		var err error
		if first, err = look(); err != nil {
			return err
		}
	}
	if err := f.server.SetWriteDeadline(time.Now().Add(f.idle)); err != nil {
		return err
	}
	n, err := f.server.Write(first)
	f.up.Add(int64(n))
	return err
}

// copy carries one direction to its end, which it passes on. It hands both sockets to the kernel (io.Copy splices), so it cannot see bytes
// pass; it looks up twice in each idle limit. A reader that ran into its deadline has lost nothing; a writer that did is stuck, and
// its deadline is the later one. What the other direction carries is known only when that looks up too, so only a second look in
// vain says that nothing moves.
func (f *flow) copy(dst, src net.Conn, moved *atomic.Int64) error {
	look, vain := f.idle/2, 0
	for {
		before, began := f.up.Load()+f.down.Load(), time.Now()
		if err := errors.Join(src.SetReadDeadline(began.Add(look)), dst.SetWriteDeadline(began.Add(2*look))); err != nil {
			return err
		}
		n, err := io.Copy(dst, src)
		moved.Add(n)
		switch {
		case err == nil:
			return closeWrite(dst)
		case !errors.Is(err, os.ErrDeadlineExceeded), time.Since(began) >= 2*look:
			return err
		case f.up.Load()+f.down.Load() != before:
			vain = 0
		case vain > 0:
			return err
		default:
			vain++
		}
	}
}

// closeWrite ends one direction and leaves the other.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
