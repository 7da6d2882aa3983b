package sock

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// TestPeerProgram is no test: it is the program that connects from another place.
func TestPeerProgram(t *testing.T) {
	path := os.Getenv("SOCK_TEST_DIAL")
	if path == "" {
		t.Skip("started by TestPIDNamespaces")
	}
	c, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("SOCK_TEST_LEAVE") == "" {
		_, _ = c.Read(make([]byte, 1))
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

// TestPIDNamespaces: a peer here, in a sandbox, in a sandbox of a sandbox, and one that has gone.
func TestPIDNamespaces(t *testing.T) {
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--", "true").CombinedOutput(); err != nil {
		t.Skipf("bubblewrap cannot run here: %v %s", err, out)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here := inode(t, "/proc/self/ns/pid")
	once := []string{"bwrap", "--dev-bind", "/", "/", "--unshare-user", "--unshare-pid", "--proc", "/proc", "--"}
	for name, x := range map[string]struct {
		wrap  []string
		depth int
		leave bool
	}{
		"here": {nil, 1, false}, "a sandbox": {once, 2, false}, "a sandbox in it": {append(slices.Clone(once), "unshare", "--user", "--pid", "--fork"), 3, false}, "gone": {nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			argv := append(slices.Clone(x.wrap), os.Args[0], "-test.run", "TestPeerProgram$")
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = append(os.Environ(), "SOCK_TEST_DIAL="+path)
			if x.leave {
				cmd.Env = append(cmd.Env, "SOCK_TEST_LEAVE=1")
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = l.(*listener).Listener.(*net.UnixListener).SetDeadline(time.Now().Add(30 * time.Second))
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if x.leave {
				_ = cmd.Wait()
			} else {
				defer func() { _ = cmd.Wait() }()
			}
			defer c.Close()
			got, err := PIDNamespaces(c)
			if x.leave {
				if substrat.CodeOf(err) != substrat.CodeForbidden {
					t.Errorf("%v, %v", got, err)
				}
				return
			}
			// Above ours there may be more that we see; what matters is what lies below it.
			if err != nil || len(got) < x.depth || got[x.depth-1] != here {
				t.Errorf("%v, %v; ours is %d and should be at %d", got, err, here, x.depth-1)
			}
		})
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, err := PIDNamespaces(a); substrat.CodeOf(err) != substrat.CodeForbidden {
		t.Errorf("behind a pipe: %v", err)
	}
}
