package tool

import (
	"bufio"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat/internal/sock"
)

// TestElsewhere: T3. Who has the token and connects from elsewhere than the agent's sandbox is refused, and that is on record;
// a sandbox that is not known yet is waited for.
func TestElsewhere(t *testing.T) {
	var here unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &here); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for name, x := range map[string]struct {
		sandboxes func() []uint64
		in        bool
	}{
		"its sandbox":      {func() []uint64 { return []uint64{1, here.Ino} }, true},
		"another sandbox":  {func() []uint64 { return []uint64{1} }, false},
		"known after all":  {func() []uint64 { asked++; return []uint64{here.Ino}[:min(asked/3, 1)] }, true},
		"it has no bounds": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			host, dir, caller := newMemory(), t.TempDir(), lead
			caller.Sandboxes = x.sandboxes
			l, err := Listen(dir, caller, host, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			conn, err := sock.Dial(t.Context(), filepath.Join(dir, "agent.sock"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			greeting := `{"substrat":{"v":1,"relay":"r","token":"secret"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
			_, _ = conn.Write([]byte(greeting))
			line, err := bufio.NewReader(conn).ReadString('\n')
			if in := err == nil && strings.Contains(line, `"id":1`); in != x.in {
				t.Errorf("%q, %v", line, err)
			}
			if !x.in {
				if why := <-host.refused; !strings.Contains(why, "not in this agent's sandbox") {
					t.Errorf("on record: %s", why)
				}
			}
		})
	}
}

// TestRefusalsAreBounded: whoever knocks for ever does not fill the journal.
func TestRefusalsAreBounded(t *testing.T) {
	r := newRig(t)
	for range 3 * refusalsMost {
		conn, err := net.Dial("unix", filepath.Join(r.dir, "agent.sock"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte("guess\n"))
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_ = conn.Close()
	}
	if n := len(r.host.refused); n > refusalsMost || n == 0 {
		t.Errorf("%d refusals on record", n)
	}
}
