package sock

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"substrat.dev/substrat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// speak sends a word from one end to the other.
func speak(t *testing.T, l net.Listener, path string) {
	t.Helper()
	c, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, end := range []net.Conn{c, s} {
		if uid, err := PeerUID(end); err != nil || uid != os.Geteuid() {
			t.Errorf("the other end is user %d, %v; want %d", uid, err, os.Geteuid())
		}
	}
	if _, err := c.Write([]byte("word")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := s.Read(got); err != nil || string(got) != "word" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestPaths(t *testing.T) {
	for name, dir := range map[string]string{
		"short": "s", "over a socket address": strings.Repeat("d", 120), "far over": strings.Repeat(strings.Repeat("e", 200)+"/", 10),
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := viaDescriptor(os.Stdin, "x"); !ok && name != "short" {
				t.Skip("this system takes short paths only")
			}
			path := filepath.Join(t.TempDir(), dir, "x.sock")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			l, err := Listen(path)
			if err != nil {
				t.Fatal(err)
			}
			speak(t, l, path)
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket is still there: %v", err)
			}
		})
	}
}

// TestTaken: a socket in use is left alone, a stale one is replaced.
func TestTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); substrat.CodeOf(err) != substrat.CodeConflict {
		t.Errorf("a second listener: %v", err)
	}
	// A daemon that was killed leaves its socket.
	_ = first.(*listener).Listener.Close()
	second, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	// The first one's late Close must not take the second one's socket away.
	_ = first.Close()
	_ = second.(*listener).Listener.(*net.UnixListener).SetDeadline(time.Now().Add(10 * time.Second))
	asked, err := second.Accept() // whether somebody is there
	if err != nil {
		t.Fatal(err)
	}
	_ = asked.Close()
	speak(t, second, path)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// TestBusy: a listener that does not come round to accept is no stale socket.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := l.(*listener).Listener.(*net.UnixListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	shrink(t, raw)
	var held []net.Conn
	defer func() {
		for _, c := range held {
			_ = c.Close()
		}
	}()
	for len(held) < 8 {
		c, err := Dial(t.Context(), path)
		if err != nil {
			break
		}
		held = append(held, c)
	}
	if len(held) == 8 {
		t.Skip("this system does not say that a listener is busy")
	}
	if _, err := Listen(path); substrat.CodeOf(err) != substrat.CodeConflict {
		t.Errorf("over a busy listener: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	if _, err := Listen(dir); substrat.CodeOf(err) != substrat.CodeConflict {
		t.Errorf("on a directory: %v", err)
	}
	if _, err := Listen(filepath.Join(dir, "none", "x.sock")); err == nil {
		t.Error("in a directory that is not there: no error")
	}
	if _, err := Dial(t.Context(), filepath.Join(dir, strings.Repeat("n", 150), "x.sock")); err == nil {
		t.Error("dialled into a directory that is not there")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ended, filepath.Join(dir, "x.sock")); err == nil {
		t.Error("dialled although the context had ended")
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, err := PeerUID(a); substrat.CodeOf(err) != substrat.CodeForbidden {
		t.Errorf("the user behind a pipe: %v", err)
	}
}
