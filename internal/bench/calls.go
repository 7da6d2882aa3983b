package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"substrat.dev/substrat"
)

// relayOf starts the relay on the socket of an agent's open turn, as its CLI would.
func (b *bench) relayOf(d *daemon, turn string) (*mcp.ClientSession, *exec.Cmd, error) {
	dir := filepath.Join(d.home, "turns", turn)
	token, err := os.ReadFile(filepath.Join(dir, "sock", "token"))
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(b.shim(), "mcp")
	cmd.Env = []string{"SUBSTRAT_SOCKET=" + filepath.Join(dir, "sock", "agent.sock"), "SUBSTRAT_TOKEN=" + string(token)}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(d.ctx, &mcp.CommandTransport{Command: cmd}, nil)
	return s, cmd, err
}

// openTurn starts a long turn and names it once its process runs.
func (d *daemon) openTurn(name string) (string, error) {
	if _, err := d.Send(d.ctx, name, "sleep=120000"); err != nil {
		return "", err
	}
	for {
		a, err := d.Agent(d.ctx, name)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(filepath.Join(d.home, "turns", a.Turn, "run", "stdout")); a.Turn != "" && err == nil {
			return a.Turn, nil
		}
		time.Sleep(time.Millisecond)
	}
}

// toolCalls measures calls over relay and socket, beside a socket's echo and an echo with an fsync.
func (b *bench) toolCalls() error {
	echo, durable, err := b.echoFloor()
	if err != nil {
		return err
	}
	d, _, err := b.start(b.home("c"))
	if err != nil {
		return err
	}
	defer d.stop()
	if err := d.agent("lead", substrat.NoSandbox); err != nil {
		return err
	}
	if _, err := d.CreateAgent(d.ctx, substrat.NewAgent{Name: "sink", Parent: "lead"}); err != nil {
		return err
	}
	turn, err := d.openTurn("lead")
	if err != nil {
		return err
	}
	s, cmd, err := b.relayOf(d, turn)
	if err != nil {
		return err
	}
	defer s.Close()
	read, err := calls(d.ctx, s, b.n(1000), 1, "list_children", map[string]any{})
	if err != nil {
		return err
	}
	send := map[string]any{"recipient": "sink", "text": "hello", "sync": false}
	one, err := calls(d.ctx, s, b.n(1000), 1, "send_message", send)
	if err != nil {
		return err
	}
	many, err := calls(d.ctx, s, b.n(1600), 16, "send_message", send)
	if err != nil {
		return err
	}
	b.row("c2 read call through the relay, p50", ms(pct(echo, 0.5)), ms(pct(read, 0.5)), 0, "", true)
	b.row("c3 durable call through the relay, p50", ms(pct(durable, 0.5)), ms(pct(one, 0.5)), pct(one, 0.5)/pct(durable, 0.5), "≤ 0.8 ms", pct(one, 0.5) <= 0.8)
	b.row("c3                                p99", ms(pct(durable, 0.99)), ms(pct(one, 0.99)), 0, "≤ 5 ms", pct(one, 0.99) <= 5)
	b.row("c3 with 16 callers at once,       p50", "", ms(pct(many, 0.5)), 0, "", true)
	rss, pss, _ := memory(cmd.Process.Pid)
	b.row("e1 relay, proportional memory", "", fmt.Sprintf("%.1f MB", pss), 0, fmt.Sprintf("≤ 1.5 MB (resident %.1f)", rss), pss <= 1.5)
	b.shimRows(d)
	return d.Terminate(d.ctx, "lead", "")
}

// calls makes n calls from some callers and gives each one's milliseconds.
func calls(ctx context.Context, s *mcp.ClientSession, n, callers int, name string, args map[string]any) ([]float64, error) {
	var mu sync.Mutex
	var out []float64
	var failed error
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range n / callers {
				began := time.Now()
				res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
				took := float64(time.Since(began).Nanoseconds()) / 1e6
				mu.Lock()
				if err == nil && res.IsError {
					err = fmt.Errorf("%s was refused: %v", name, res.StructuredContent)
				}
				if err != nil {
					failed = err
				}
				out = append(out, took)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out, failed
}

// echoFloor measures a unix socket's round trip, and one with an append and fsync in between.
func (b *bench) echoFloor() (plain, durable []float64, err error) {
	l, err := net.Listen("unix", filepath.Join(b.dir, "echo"))
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	f, err := os.Create(filepath.Join(b.dir, "echo.log"))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	go echo(l, f)
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	buf := make([]byte, 400)
	for i := range 2 * b.n(1000) {
		buf[0] = byte(i % 2)
		began := time.Now()
		if _, err := conn.Write(buf); err != nil {
			return nil, nil, err
		}
		if _, err := io.ReadFull(conn, make([]byte, len(buf))); err != nil {
			return nil, nil, err
		}
		took := float64(time.Since(began).Nanoseconds()) / 1e6
		if i%2 == 0 {
			plain = append(plain, took)
		} else {
			durable = append(durable, took)
		}
	}
	return plain, durable, nil
}

func echo(l net.Listener, f *os.File) {
	conn, err := l.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	buf := make([]byte, 400)
	for {
		if _, err := io.ReadFull(conn, buf); err != nil {
			return
		}
		if buf[0] == 1 {
			_, _ = f.Write(buf)
			_ = f.Sync()
		}
		if _, err := conn.Write(buf); err != nil {
			return
		}
	}
}

// relayStart measures from exec to the answered handshake, bare and in a sandbox.
func (b *bench) relayStart() error {
	d, _, err := b.start(b.home("c4"))
	if err != nil {
		return err
	}
	defer d.stop()
	if err := d.agent("lead", substrat.NoSandbox); err != nil {
		return err
	}
	turn, err := d.openTurn("lead")
	if err != nil {
		return err
	}
	dir := filepath.Join(d.home, "turns", turn)
	token, err := os.ReadFile(filepath.Join(dir, "sock", "token"))
	if err != nil {
		return err
	}
	env := []string{"SUBSTRAT_SOCKET=" + filepath.Join(dir, "sock", "agent.sock"), "SUBSTRAT_TOKEN=" + string(token)}
	boxed := []string{"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev",
		"--ro-bind", b.shim(), b.shim(), "--ro-bind", filepath.Join(dir, "sock"), filepath.Join(dir, "sock"), "--"}
	for name, wrap := range map[string][]string{"c4 relay start → initialize, bare": nil, "c4 relay start → initialize, bubblewrap": boxed} {
		var took []float64
		for range b.n(60) {
			argv := append(append([]string(nil), wrap...), b.shim(), "mcp")
			v, err := initialize(argv, env)
			if err != nil {
				return err
			}
			took = append(took, v)
		}
		b.row(name+", p50", "", ms(pct(took, 0.5)), 0, "≤ 15 ms", pct(took, 0.5) <= 15)
	}
	return d.Terminate(d.ctx, "lead", "")
}

// initialize starts a relay by hand and waits for the first answer.
func initialize(argv, env []string) (float64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`+"\n"); err != nil {
		return 0, err
	}
	_, err = out.Read(make([]byte, 64<<10))
	return float64(time.Since(began).Nanoseconds()) / 1e6, err
}
