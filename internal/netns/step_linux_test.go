package netns

import (
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is the program that has the step, and the shim that starts it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Command:
			os.Exit(Main(os.Args[2:]))
		case "shim":
			os.Exit(shim(os.Args[2:]))
		}
	}
	// What started the tests may have left descriptors open that exec would pass on.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// shim starts argv in a network of its own and answers on ports 443 and 53 (UDP) with a word each.
func shim(argv []string) int {
	if err := tryShim(argv); err != nil {
		fmt.Println("shim:", err)
		return 1
	}
	return 0
}

func tryShim(argv []string) error {
	step, err := New([]int{443, 8080}, []int{53}, 3)
	if err != nil {
		return err
	}
	defer step.Close()
	if argv, err = step.Argv(argv); err != nil {
		return err
	}
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	step.Attributes(attr)
	pid, err := syscall.ForkExec(Exe, argv, &syscall.ProcAttr{Dir: "/", Env: os.Environ(), Files: []uintptr{0, 1, 2, uintptr(step.Theirs())}, Sys: attr})
	if err != nil {
		return err
	}
	sockets, err := step.Receive()
	if err != nil {
		return err
	}
	defer sockets.Close()
	for port, l := range sockets.TCP {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = fmt.Fprintf(c, "tcp %d as %s\n", port, c.LocalAddr())
				c.Close()
			}
		}()
	}
	go func() {
		buf := make([]byte, 100)
		for {
			n, from, err := sockets.UDP[53].ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = sockets.UDP[53].WriteTo([]byte("udp "+string(buf[:n])), from)
		}
	}()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil {
		return err
	}
	if ws.ExitStatus() != 0 {
		return fmt.Errorf("exit %d", ws.ExitStatus())
	}
	return nil
}

const inside = `
import socket, os
print(len(os.listdir("/proc/self/fd")))
def tcp(host, port):
    s = socket.create_connection((host, port), 2)
    return s.recv(100).decode().strip()
print(tcp("127.0.0.1", 443))
print(tcp("127.64.3.4", 443))
print(tcp("127.0.0.1", 8080))
print(tcp("192.0.2.7", 443))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(2)
u.sendto(b"name", ("127.0.0.1", 53)); print(u.recv(100).decode())
for host, port in (("127.0.0.1", %[1]d), ("%[2]s", %[1]d), ("192.0.2.1", 80)):
    try:
        print("REACHED", host, tcp(host, port))
    except OSError as e:
        print("refused")
try:
    s = socket.socket(); s.bind(("0.0.0.0", 81)); print("BOUND")
except OSError: print("no low port")
print([l.split()[1] for l in open("/proc/self/status") if l.startswith("CapEff")][0], sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else "")
`

// TestStep: what runs in the sandbox reaches our listeners, whatever address of the loopback it takes, and nothing else: not the
// host's loopback, not its address, and it has no rights on its network.
func TestStep(t *testing.T) {
	host, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	go func() {
		for {
			c, err := host.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "the host\n")
			c.Close()
		}
	}()
	port := host.Addr().(*net.TCPAddr).Port
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range [][]string{nil, {"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}} {
		t.Run(strings.Join(user, " "), func(t *testing.T) {
			if user != nil && os.Geteuid() != 0 {
				t.Skip("only root can become another user")
			}
			dir := t.TempDir()
			program := filepath.Join(dir, "inside.test")
			copyTo(t, exe, program)
			for up := dir; up != os.TempDir(); up = filepath.Dir(up) {
				if err := os.Chmod(up, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			argv := append(user[:len(user):len(user)], program, "shim", "bwrap", "--unshare-all", "--unshare-user", "--share-net", "--die-with-parent", "--cap-drop", "ALL",
				"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
				"--proc", "/proc", "--dev", "/dev", "--", "/usr/bin/python3", "-c", fmt.Sprintf(inside, port, ownAddress(t)))
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput()
			want := "4\ntcp 443 as 127.0.0.1:443\ntcp 443 as 127.64.3.4:443\ntcp 8080 as 127.0.0.1:8080\ntcp 443 as 192.0.2.7:443\nudp name\nrefused\nrefused\nrefused\nno low port\n0000000000000000 \n"
			if err != nil || string(out) != want {
				t.Errorf("%v\n%s\nwant\n%s", err, out, want)
			}
		})
	}
}

// TestStepFails: a port that cannot be had is told, and nothing is started.
func TestStepFails(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), exe, Command, `{"fd":9,"tcp":[443]}`, "echo", "started").CombinedOutput()
	if err == nil || strings.Contains(string(out), "started") || !strings.Contains(string(out), "cannot make the sandbox's network") {
		t.Errorf("%v %s", err, out)
	}
	out, err = exec.CommandContext(t.Context(), exe, Command, `nonsense`, "echo", "started").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "cannot read the order") {
		t.Errorf("%v %s", err, out)
	}
}

func ownAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	return "192.0.2.2"
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}
