package door

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	nameTTL     = 30    // seconds
	mostQuery   = 4096  // bytes of a query over TCP; one question needs far less
	mostQueries = 1_000 // queries on one TCP connection
)

var errNoAnswer = errors.New("not a query")

// answer gives the answer to one DNS message. Whatever cannot be parsed gets none.
func (d *Door) answer(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil || head.Response {
		return nil, errNoAnswer
	}
	reply := dnsmessage.Header{ID: head.ID, Response: true, OpCode: head.OpCode, RecursionDesired: head.RecursionDesired, RecursionAvailable: true}
	if head.OpCode != 0 {
		reply.RCode = dnsmessage.RCodeNotImplemented
		return bare(reply)
	}
	q, err := p.Question()
	if err != nil {
		reply.RCode = dnsmessage.RCodeFormatError
		return bare(reply)
	}
	if err := p.SkipAllQuestions(); err != nil || binary.BigEndian.Uint16(query[4:]) != 1 {
		reply.RCode = dnsmessage.RCodeFormatError
		return bare(reply)
	}
	var addr netip4
	reply.RCode, addr = d.look(q)
	b := dnsmessage.NewBuilder(nil, reply)
	if err := b.StartQuestions(); err != nil {
		return nil, err
	}
	if err := b.Question(q); err != nil {
		return nil, err
	}
	if addr.ok {
		if err := b.StartAnswers(); err != nil {
			return nil, err
		}
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: nameTTL}
		if err := b.AResource(h, dnsmessage.AResource{A: addr.a}); err != nil {
			return nil, err
		}
	}
	return b.Finish()
}

func bare(h dnsmessage.Header) ([]byte, error) {
	b := dnsmessage.NewBuilder(nil, h)
	return b.Finish()
}

// netip4 is an address of an answer, if there is one.
type netip4 struct {
	a  [4]byte
	ok bool
}

// look decides about one question.
func (d *Door) look(q dnsmessage.Question) (dnsmessage.RCode, netip4) {
	text := strings.TrimSuffix(q.Name.String(), ".")
	lower := strings.ToLower(text)
	if q.Class != dnsmessage.ClassINET || strings.HasSuffix(lower, ".in-addr.arpa") || strings.HasSuffix(lower, ".ip6.arpa") {
		return dnsmessage.RCodeRefused, netip4{}
	}
	h, err := parseHost(text)
	if err == nil && h.addr.IsValid() {
		err = refusal("is an address, not a name")
	}
	if err == nil && h.name != localhost && !d.rules.mayBe(h) {
		err = refusal(d.rules.decide(h, portTLS).why)
	}
	if err != nil {
		d.teller.add(Attempt{Host: shown(text), Via: ViaDNS, Verdict: Denied, Why: err.Error()})
		return dnsmessage.RCodeNameError, netip4{}
	}
	if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeALL {
		return dnsmessage.RCodeSuccess, netip4{}
	}
	if h.name == localhost {
		return dnsmessage.RCodeSuccess, netip4{loopback4.As4(), true}
	}
	return dnsmessage.RCodeSuccess, netip4{d.names.address(h.name).As4(), true}
}

// serveDNS answers datagrams until the socket is closed.
func (d *Door) serveDNS(conn net.PacketConn) error {
	buf := make([]byte, mostQuery)
	for {
		n, from, err := conn.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			// An answer that nobody took comes back as an error of the next read.
			time.Sleep(pause)
			continue
		}
		if out, err := d.answer(buf[:n]); err == nil {
			_, _ = conn.WriteTo(out, from) // whoever asked asks again
		}
	}
}

// serveDNSConn answers what comes over TCP.
func (d *Door) serveDNSConn(_ context.Context, c *inside) {
	var size [2]byte
	buf := make([]byte, mostQuery)
	for range mostQueries {
		if c.SetDeadline(time.Now().Add(d.limits.hello)) != nil {
			return
		}
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(size[:]))
		if n > len(buf) {
			return
		}
		if _, err := io.ReadFull(c, buf[:n]); err != nil {
			return
		}
		out, err := d.answer(buf[:n])
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}
