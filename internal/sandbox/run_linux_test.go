package sandbox

import (
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What started the tests may have left descriptors open that exec would pass on.
func TestMain(m *testing.M) {
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Each test runs as the user of the tests and, where that is root, as nobody too: the kernel takes other roads.
func eachUser(t *testing.T, test func(t *testing.T, u user)) {
	t.Run("self", func(t *testing.T) { test(t, user{}) })
	t.Run("nobody", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can become another user")
		}
		test(t, user{prefix: []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}})
	})
}

type user struct{ prefix []string }

func (u user) own(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if len(u.prefix) > 0 {
			if err := os.Chown(p, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sh runs a script in the sandbox and gives what it printed.
func (u user) sh(t *testing.T, p Profile, script string) string {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	argv, err := Wrap(p, []string{"sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	argv = append(u.prefix[:len(u.prefix):len(u.prefix)], argv...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/home/agent", "CANARY=passed"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestPrivileges(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		ws := dir(t, "ws")
		out := u.sh(t, Profile{Workspace: ws}, `grep -E "^(Cap...|NoNewPrivs):" /proc/self/status; hostname; echo "$CANARY"; pwd`)
		for line := range strings.Lines(out) {
			if v, ok := strings.CutPrefix(line, "Cap"); ok && strings.Trim(v[4:], "\t 0\n") != "" {
				t.Errorf("a capability is left: %s", line)
			}
		}
		if !strings.Contains(out, "NoNewPrivs:\t1") || !strings.HasSuffix(out, "substrat\npassed\n"+ws) {
			t.Errorf("got %s", out)
		}
	})
}

func TestProcesses(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		out := u.sh(t, Profile{Workspace: dir(t, "ws")}, `ls -d /proc/[0-9]* | wc -l; ls /proc/self/fd | wc -l; tr '\0' '\n' </proc/1/environ | grep -c "^CANARY=passed$"; tr '\0' '\n' </proc/1/environ | wc -l`)
		lines := strings.Fields(out)
		if n, err := strconv.Atoi(lines[0]); err != nil || n > 5 {
			t.Errorf("%d processes are visible, want pid 1, the shell and its pipeline", n)
		}
		// ls itself holds one more for the directory it lists.
		if lines[1] != "4" {
			t.Errorf("ls saw %s descriptors, want 0, 1, 2 and its own", lines[1])
		}
		if lines[2] != "1" || len(lines) != 4 {
			t.Errorf("/proc/1/environ is not that of the sandbox: %q", lines)
		}
		if n, err := strconv.Atoi(lines[3]); err != nil || n > 4 {
			t.Errorf("/proc/1/environ has %d variables, want those that were given", n)
		}
	})
}

func TestHostFilesAreHidden(t *testing.T) {
	secret := filepath.Join(dir(t, "elsewhere"), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	eachUser(t, func(t *testing.T, u user) {
		ws := dir(t, "ws")
		userHome, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		if within(ws, userHome) {
			userHome = "" // seen as the empty way to the workspace
		}
		out := u.sh(t, Profile{Workspace: ws}, `for p in `+secret+` `+userHome+` /root /home /var/lib /var/log /etc/shadow /etc/ssh /etc/resolv.conf /sys /boot; do
			[ -e "$p" ] && echo "sees $p"; done; ls -A /run; ls /tmp | wc -l; touch /x /usr/x /etc/x 2>&1 | grep -c "Read-only"; touch /run/a 2>&1 | grep -c "Read-only"; touch /tmp/a /var/tmp/a && echo tmp`)
		if want := "1\n3\n1\ntmp"; out != want {
			t.Errorf("got %q, want %q", out, want)
		}
	})
}

func TestWorkspaceAccess(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		ws, cfg, home := dir(t, "ws"), dir(t, "cfg"), dir(t, "home")
		if err := os.WriteFile(filepath.Join(cfg, "mcp.json"), []byte("ours"), 0o644); err != nil {
			t.Fatal(err)
		}
		u.own(t, ws, cfg, home)
		p := Profile{Workspace: ws, Home: Bind{Host: home, At: "/home/agent"}, WorkspaceConfig: []Bind{{Host: cfg, At: ws + "/.cursor"}}}
		script := `cat .cursor/mcp.json; echo; echo x 2>/dev/null >.cursor/mcp.json || echo config-ro; rm -rf .cursor 2>/dev/null || echo config-stays; mv .cursor .c 2>/dev/null || echo config-here
			{ echo x >new; } 2>/dev/null && echo ws-rw || echo ws-ro; echo x >~/h && echo home-rw`
		if got, want := u.sh(t, p, script), "ours\nconfig-ro\nconfig-stays\nconfig-here\nws-rw\nhome-rw"; got != want {
			t.Errorf("writable workspace: got %q, want %q", got, want)
		}
		if _, err := os.Stat(filepath.Join(ws, "new")); err != nil {
			t.Error(err)
		}
		p.WorkspaceReadOnly = true
		want := "ours\nconfig-ro\nconfig-stays\nconfig-here\nws-ro\nhome-rw"
		if got := u.sh(t, p, script); got != want {
			t.Errorf("read-only workspace: got %q, want %q", got, want)
		}
		p.Workspace = dir(t, "fresh")
		u.own(t, p.Workspace)
		p.WorkspaceConfig[0].At = p.Workspace + "/.cursor"
		if got := u.sh(t, p, script); got != want {
			t.Errorf("read-only workspace without a mount point: got %q, want %q", got, want)
		}
	})
}

// TestSymlinkedWorkspace: whoever names a workspace names it without links; one that shows up later was planted.
func TestSymlinkedWorkspace(t *testing.T) {
	ws := dir(t, "ws")
	link := filepath.Join(dir(t, "d"), "link")
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{link, filepath.Join(link, "inner")} {
		if err := os.MkdirAll(filepath.Join(ws, "inner"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Wrap(Profile{Workspace: at}, []string{"true"}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestNetwork(t *testing.T) {
	l, err := net.Listen("unix", "@substrat-sandbox-test-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	eachUser(t, func(t *testing.T, u user) {
		ws := dir(t, "ws")
		script := `tail -n +3 /proc/net/dev | grep -vc lo:; grep -c @substrat-sandbox-test /proc/net/unix; true`
		if got := u.sh(t, Profile{Workspace: ws}, script); got != "0\n0" {
			t.Errorf("without network: %q interfaces beside lo and abstract sockets", got)
		}
		if got := u.sh(t, Profile{Workspace: ws, HostNetwork: true}, script); !strings.HasSuffix(got, "\n1") {
			t.Errorf("with the host's network: %q", got)
		}
	})
}
