package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a relay between a client and a daemon that the test plays. It runs in a bubble of synctest: time passes when
// everybody waits, so minutes cost nothing and nothing is ever early.
type world struct {
	t       *testing.T
	in      *io.PipeWriter
	says    chan string
	out     *bufio.Reader
	dials   chan net.Conn // the daemon's ends; closed pipe ends mean nothing is there
	refuse  chan error    // dials fail with what it holds
	cancel  context.CancelFunc
	ended   chan error
	stderr  strings.Builder
	daemons []*daemon
}

// play runs a test in a bubble.
func play(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		w := &world{t: t, in: in, says: make(chan string, 1<<15), out: bufio.NewReader(out), dials: make(chan net.Conn), refuse: make(chan error, 1), cancel: cancel, ended: make(chan error, 1)}
		go func() {
			w.ended <- Run(ctx, Options{Dial: w.dial, Token: "secret", AgentID: "a1", Stdin: stdin, Stdout: stdout, Stderr: &w.stderr})
			_ = stdout.Close()
			close(over)
		}()
		go feed(in, w.says)
		defer func() {
			cancel()
			close(w.says)
			_ = in.Close()
			_ = out.Close()
			for _, d := range w.daemons {
				d.die()
				close(d.says)
			}
			<-over
			synctest.Wait()
		}()
		f(w)
	})
}

// feed writes lines as fast as they are taken, so that who says something need not wait for it to be heard.
func feed(to io.Writer, lines <-chan string) {
	for line := range lines {
		_, _ = io.WriteString(to, line+"\n") // a broken pipe shows in what is not heard
	}
}

// dial gives a connection if the test accepts one now.
func (w *world) dial(context.Context) (io.ReadWriteCloser, error) {
	ours, theirs := net.Pipe()
	select {
	case err := <-w.refuse:
		return nil, errors.Join(err, theirs.Close(), ours.Close())
	case w.dials <- theirs:
		return ours, nil
	case <-time.After(time.Millisecond):
		_ = theirs.Close()
		return nil, errors.Join(errors.New("nobody listens"), ours.Close())
	}
}

// daemon is one connection as the daemon has it.
type daemon struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	says chan string
}

// accept takes the relay's next connection.
func (w *world) accept() *daemon {
	w.t.Helper()
	select {
	case conn := <-w.dials:
		d := &daemon{w.t, conn, bufio.NewReader(conn), make(chan string, 16)}
		go feed(conn, d.says)
		w.daemons = append(w.daemons, d)
		return d
	case <-time.After(time.Minute):
		w.t.Fatal("the relay does not connect")
		return nil
	}
}

func (d *daemon) read() string {
	d.t.Helper()
	_ = d.conn.SetReadDeadline(time.Now().Add(time.Minute))
	line, err := d.in.ReadString('\n')
	if err != nil {
		d.t.Fatalf("the daemon reads %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// wants reads the preamble, whose nonce it gives, and the lines after it.
func (d *daemon) wants(lines ...string) (nonce string) {
	d.t.Helper()
	var p struct {
		Substrat struct {
			V                   int
			Relay, Token, Agent string
		}
	}
	if first := d.read(); json.Unmarshal([]byte(first), &p) != nil || p.Substrat.V != 1 || p.Substrat.Token != "secret" || p.Substrat.Agent != "a1" {
		d.t.Fatalf("the preamble is %s", first)
	}
	d.gets(lines...)
	return p.Substrat.Relay
}

func (d *daemon) gets(lines ...string) {
	d.t.Helper()
	for _, want := range lines {
		if got := d.read(); got != want {
			d.t.Fatalf("the daemon got %s, want %s", got, want)
		}
	}
}

func (d *daemon) say(lines ...string) {
	d.t.Helper()
	for _, line := range lines {
		d.says <- line
	}
}

func (d *daemon) die() { _ = d.conn.Close() }

func (w *world) say(lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		w.says <- line
	}
}

func (w *world) gets(lines ...string) {
	w.t.Helper()
	for _, want := range lines {
		got, err := w.out.ReadString('\n')
		if diff := cmp.Diff(want+"\n", got); err != nil || diff != "" {
			w.t.Fatalf("the client got %v: %s", err, diff)
		}
	}
}

const (
	hello   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`
	welcome = `{"jsonrpc":"2.0","id":0,"result":{}}`
	ready   = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func ask(id any) string {
	text, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"x"}}`, text)
}

func tell(id any) string {
	text, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"n":1}}`, text)
}

// TestRestart: a new connection gets the same nonce, the handshake and what was not answered, in order; the client
// sees one answer to each.
func TestRestart(t *testing.T) {
	play(t, func(w *world) {
		d := w.accept()
		w.say(hello)
		nonce := d.wants(hello)
		d.say(welcome)
		w.gets(welcome)
		w.say(ready, ask(1), ask("1"), ask(2))
		d.gets(ready, ask(1), ask("1"), ask(2))
		d.say(tell("1"))
		w.gets(tell("1"))
		d.die()

		d = w.accept()
		if again := d.wants(hello, ready, ask(1), ask(2)); again != nonce || len(nonce) < 20 {
			t.Errorf("nonce %q, then %q", nonce, again)
		}
		d.die() // before it answered anything
		d = w.accept()
		d.wants(hello, ready, ask(1), ask(2))
		d.say(welcome, tell(2), tell(2), tell(1))
		w.gets(tell(2), tell(1))
		w.say(ask(3))
		d.gets(ask(3))
		d.say(tell(3))
		w.gets(tell(3))
	})
}

// TestUnansweredHandshake: the handshake is repeated as the request it is, and its answer passed on.
func TestUnansweredHandshake(t *testing.T) {
	play(t, func(w *world) {
		w.say(hello, ready, ask(1))
		d := w.accept()
		d.wants(hello, ready, ask(1))
		d.die()
		d = w.accept()
		d.wants(hello, ready, ask(1))
		d.say(welcome)
		w.gets(welcome)
	})
}

// TestModern: clients of the era without a handshake need none repeated.
func TestModern(t *testing.T) {
	discover := `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{}}`
	play(t, func(w *world) {
		w.say(discover)
		d := w.accept()
		d.wants(discover)
		d.say(tell("d"))
		w.gets(tell("d"))
		w.say(ask(1))
		d.gets(ask(1))
		d.die()
		w.accept().wants(ask(1))
	})
}

// TestCancelled: nobody waits for what was cancelled, and its answer is not passed on.
func TestCancelled(t *testing.T) {
	stop := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	play(t, func(w *world) {
		d := w.accept()
		d.wants()
		synctest.Wait() // what is cancelled before it was sent is never sent
		w.say(ask(1), ask(2), stop)
		d.gets(ask(1), ask(2), stop)
		d.say(tell(1), tell(2))
		w.gets(tell(2))
		w.say(ask(3), ask(4), strings.Replace(stop, `:1}`, `:3}`, 1))
		d.gets(ask(3), ask(4), strings.Replace(stop, `:1}`, `:3}`, 1))
		d.die()
		w.accept().wants(ask(4))
	})
}

// TestForeignInput: what is no message is answered at once, also without a daemon, and the rest goes on.
func TestForeignInput(t *testing.T) {
	play(t, func(w *world) {
		w.say(`nonsense`, `7`, ``, ` `, `[]`, `[`+ask(5)+`,3,`+ready+`]`, `{"id":{}}`, ask(5), strings.Repeat("x", lineMost+1), ask(6))
		w.gets(
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC message"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an empty batch"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC message"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC message"}}`,
			`{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"the id is in use by a request that is not answered"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is too long"}}`,
		)
		synctest.Wait()
		w.accept().wants(ask(5), ask(6))
	})
}

// TestForeignOutput: broken lines and unasked answers stop at the relay; notifications and requests pass.
func TestForeignOutput(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
	ping := `{"jsonrpc":"2.0","id":77,"method":"ping"}`
	play(t, func(w *world) {
		d := w.accept()
		w.say(ask("a"))
		d.wants(ask("a"))
		d.say(`{"torn`, tell(9), note, ping, `{"jsonrpc":"2.0","id":"\u0061","result":{}}`)
		w.gets(note, ping, `{"jsonrpc":"2.0","id":"\u0061","result":{}}`)
		w.say(`{"jsonrpc":"2.0","id":77,"result":{}}`)
		d.gets(`{"jsonrpc":"2.0","id":77,"result":{}}`)
	})
}

// TestAway: after five minutes without a daemon those who wait are told, and a daemon that comes back is welcome.
func TestAway(t *testing.T) {
	lost := `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the substrat daemon cannot be reached"}}`
	play(t, func(w *world) {
		began := time.Now()
		w.say(ask(1))
		w.gets(lost)
		if took := time.Since(began); took < away || took > away+time.Second {
			t.Errorf("told after %v", took)
		}
		if !strings.Contains(w.stderr.String(), "cannot be reached") {
			t.Errorf("on standard error: %q", w.stderr.String())
		}
		w.say(ask(2))
		w.gets(strings.Replace(lost, `:1,`, `:2,`, 1))
		d := w.accept()
		w.say(ask(3))
		d.wants(ask(3))
		d.say(tell(3))
		w.gets(tell(3))
	})
}

// TestPoison: a request that breaks every connection is given up in the end, and connects ever more slowly until then.
func TestPoison(t *testing.T) {
	play(t, func(w *world) {
		w.say(ask(1))
		tries := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case conn := <-w.dials:
					tries++
					_ = conn.Close()
				case <-time.After(time.Minute):
					return
				}
			}
		}()
		w.gets(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the substrat daemon cannot be reached"}}`)
		if tries < 1000 || tries > 3100 {
			t.Errorf("%d connections in five minutes", tries)
		}
		w.cancel()
		<-done
	})
}

// TestDaemonRefuses: a daemon's no is passed on once and believed.
func TestDaemonRefuses(t *testing.T) {
	play(t, func(w *world) {
		w.say(ask(1))
		d := w.accept()
		d.wants(ask(1))
		d.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32099,"message":"wrong token"}}`)
		w.gets(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"wrong token"}}`)
		d.die()
		w.say(ask(2))
		w.gets(`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"wrong token"}}`)
		select {
		case <-w.dials:
			t.Error("it connects again")
		case <-time.After(10 * time.Minute):
		}
		_ = w.in.Close()
		if err := <-w.ended; err == nil || !strings.Contains(err.Error(), "wrong token") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// TestDialRefused: so is a dial's.
func TestDialRefused(t *testing.T) {
	play(t, func(w *world) {
		w.refuse <- fmt.Errorf("%w: no such agent", ErrRefused)
		w.say(ask(1))
		w.gets(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"refused: no such agent"}}`)
	})
}

// TestEnd: standard input that ends lets the last answers come, for two seconds; a signal does not wait.
func TestEnd(t *testing.T) {
	play(t, func(w *world) {
		d := w.accept()
		w.say(ask(1))
		d.wants(ask(1))
		_ = w.in.Close()
		<-time.After(lastAnswers - time.Millisecond)
		d.say(tell(1))
		w.gets(tell(1))
		began := time.Now()
		if err := <-w.ended; err != nil || time.Since(began) > 0 {
			t.Errorf("ended after %v with %v", time.Since(began), err)
		}
	})
	play(t, func(w *world) {
		d := w.accept()
		w.say(ask(1))
		d.wants(ask(1))
		began := time.Now()
		_ = w.in.Close()
		if err := <-w.ended; err != nil || time.Since(began) != lastAnswers {
			t.Errorf("without an answer: ended after %v with %v", time.Since(began), err)
		}
	})
	play(t, func(w *world) {
		d := w.accept()
		w.say(ask(1))
		d.wants(ask(1))
		d.say(tell(1)) // which nobody reads
		synctest.Wait()
		began := time.Now()
		w.cancel()
		if err := <-w.ended; err != nil || time.Since(began) > lastWrite {
			t.Errorf("on a signal: ended after %v with %v", time.Since(began), err)
		}
	})
	play(t, func(w *world) {
		_ = w.in.Close()
		began := time.Now()
		if err := <-w.ended; err != nil || time.Since(began) > lastWrite {
			t.Errorf("with nothing asked: ended after %v with %v", time.Since(began), err)
		}
	})
}

// TestClientGone: when nobody is there to write to, the relay ends.
func TestClientGone(t *testing.T) {
	stdout := writerFunc(func([]byte) (int, error) { return 0, errors.New("broken pipe") })
	stdin, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(t.Context(), Options{Dial: func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.New("none") }, Stdin: stdin, Stdout: stdout})
	}()
	if _, err := io.WriteString(in, "nonsense\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("ended with %v", err)
	}
	_ = in.Close()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestFlood: a daemon that reads on only when its answer was taken, over a pipe that holds nothing, and a client that
// asks ten thousand times before it reads, end with an answer each, though the daemon dies now and then. What the relay
// holds stays bounded.
func TestFlood(t *testing.T) {
	const n = 10_000
	play(t, func(w *world) {
		var asking, serving sync.WaitGroup
		asking.Go(func() {
			for i := range n {
				w.say(ask(i))
			}
		})
		stop := make(chan struct{})
		serving.Go(func() {
			for life := 1; ; life++ {
				select {
				case conn := <-w.dials:
					serveSome(conn, 700*life)
				case <-stop:
					return
				}
			}
		})
		seen := map[string]int{}
		for range n {
			line, err := w.out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			seen[line]++
		}
		asking.Wait()
		if len(seen) != n {
			t.Errorf("%d different answers of %d", len(seen), n)
		}
		w.cancel()
		close(stop)
		serving.Wait()
	})
}

// serveSome answers the first requests of a connection and breaks it.
func serveSome(conn net.Conn, most int) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	if _, err := in.ReadString('\n'); err != nil { // the preamble
		return
	}
	for range most {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := look(line)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.raw); err != nil {
			return
		}
	}
}

// TestBounded: without a daemon the relay takes so much and no more.
func TestBounded(t *testing.T) {
	play(t, func(w *world) {
		said := 0
		go func() {
			for i := range 2 * pendingMost {
				if _, err := io.WriteString(w.in, ask(i)+"\n"); err != nil {
					return
				}
				said++
			}
		}()
		synctest.Wait()
		if said < pendingMost || said > pendingMost+1 {
			t.Errorf("it took %d requests", said)
		}
	})
}
