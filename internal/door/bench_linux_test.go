package door

import (
	"io"
	"net"
	"testing"
	"time"
)

// BenchmarkDoor sets the door beside a socket without one: how long until the first byte is back, and how much goes through. Its TLS is
// a ClientHello and then bytes, for that is all the door sees of it.
func BenchmarkDoor(b *testing.B) {
	w := open(b, Policy{Allow: []string{"allowed.com"}}, nil)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	w.listen(publicA+":443", l)
	first := clientHello(b, "allowed.com")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := io.ReadFull(c, make([]byte, len(first))); err == nil {
					_, _ = c.Write([]byte{1})
					_, _ = io.Copy(io.Discard, c)
				}
			}()
		}
	}()
	b.Cleanup(func() { l.Close(); <-ended })
	fake, err := w.lookup("allowed.com")
	if err != nil {
		b.Fatal(err)
	}
	connect := func(b *testing.B, address string) net.Conn {
		c, err := net.Dial("tcp4", address)
		if err == nil {
			_, err = c.Write(first)
		}
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, 1))
		}
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	for _, way := range []struct{ name, address string }{{"direct", l.Addr().String()}, {"door", w.at(fake, 443)}} {
		b.Run("connect/"+way.name, func(b *testing.B) {
			for b.Loop() {
				connect(b, way.address).Close()
			}
		})
		b.Run("throughput/"+way.name, func(b *testing.B) {
			c := connect(b, way.address)
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				b.Fatal(err)
			}
			block := make([]byte, 1<<20)
			b.SetBytes(int64(len(block)))
			for b.Loop() {
				if _, err := c.Write(block); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
