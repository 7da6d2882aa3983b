//go:build amd64 || arm64

package confine

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// alone is a plan whose only wall is Landlock.
func alone(ws string, ports ...uint16) Plan {
	return Plan{
		Landlock: LandlockMust, NoUDP: true, ConnectTCP: ports, Write: append([]string{ws}, PlainDevices...),
		Read: []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", self, "/absent"},
	}
}

// listener accepts and closes until the test ends.
func listener(t *testing.T) (addr string, port uint16) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), uint16(n)
}

func TestLandlockAlone(t *testing.T) {
	if LandlockABI() < MustABI {
		t.Skipf("this kernel has Landlock %d, and %d is needed", LandlockABI(), MustABI)
	}
	eachUser(t, func(t *testing.T, u user) {
		ws, other := u.place(t, "ws"), u.place(t, "other")
		if err := os.WriteFile(filepath.Join(other, "file"), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(other, "file"), 0o666); err != nil {
			t.Fatal(err)
		}
		open, port := listener(t)
		shut, _ := listener(t)
		want := map[string]string{
			"create=" + ws + "/x":                 "done",
			"rename=" + ws + "/a:" + ws + "/b":    "done",
			"write=/dev/null":                     "done",
			"exec=/bin/true":                      "done",
			"killchild":                           "done",
			"read=/etc/passwd":                    "done",
			"tcp=" + open:                         "done",
			"tcp=" + shut:                         "EACCES",
			"fastopen=" + shut:                    "EPERM",
			"udp=127.0.0.1:53":                    "EPERM",
			"mptcp":                               "EPROTONOSUPPORT",
			"listen=127.0.0.1:0":                  "EACCES",
			"read=" + other + "/file":             "EACCES",
			"write=" + other + "/file":            "EACCES",
			"create=" + other + "/new":            "EACCES",
			"rename=" + ws + "/c:" + other + "/c": "EACCES",
			"read=/var/log/dpkg.log":              "EACCES",
			"read=/proc/1/environ":                "EACCES",
			fmt.Sprintf("kill=%d", os.Getpid()):   "EPERM",
			"call=ptrace attach":                  "EPERM",
			"call=mount":                          "EPERM",
			"sharing":                             "refused",
			fmt.Sprintf("limit=%d", os.Getpid()):  "EPERM",
			"limit=0":                             "done",
			fmt.Sprintf("read=/proc/%d/environ", os.Getpid()): "EACCES",
		}
		argv := []string{self, tryCommand}
		for name := range want {
			argv = append(argv, name)
		}
		got := tries(t, u.confined(t, alone(ws, port), argv...))
		for name, w := range want {
			if got[name] != w {
				t.Errorf("%s: %s, want %s", name, got[name], w)
			}
		}
		anyNet := with(alone(ws), func(p *Plan) { p.AnyNet, p.NoUDP = true, false })
		for what, w := range tries(t, u.confined(t, anyNet, self, tryCommand, "tcp="+open, "tcp="+shut, "listen=127.0.0.1:0", "udp=127.0.0.1:53", "read="+other+"/file")) {
			if want := map[bool]string{true: "EACCES", false: "done"}[strings.HasPrefix(what, "read=")]; w != want {
				t.Errorf("with the host's network %s: %s, want %s", what, w, want)
			}
		}
		got = tries(t, u.confined(t, alone(ws), self, tryCommand, "tcp="+open, "unix=/absent"))
		want = map[string]string{"tcp=" + open: "EACCES", "unix=/absent": "EACCES"}
		if LandlockABI() >= UnixABI {
			want["unix=/absent"] = "ENOENT"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without a port (-want +got):\n%s", diff)
		}
		got = tries(t, u.confined(t, with(alone(ws), func(p *Plan) { p.AnyUnix = true }), self, tryCommand, "unix=/absent"))
		if got["unix=/absent"] != "ENOENT" {
			t.Errorf("with any unix socket: %v", got)
		}
	})
}

// Sending is a way to connect that Landlock's rules do not see; the day that they do, the filter need not.
func TestFastOpenPassesLandlockAlone(t *testing.T) {
	shut, _ := listener(t)
	if got := tries(t, user{}.run(t, nil, self, tryCommand, "fastopen="+shut)); got["fastopen="+shut] != "done" {
		t.Skipf("this kernel does not connect by sending: %s", got["fastopen="+shut])
	}
	p := Plan{Landlock: LandlockOff, NoUDP: true}
	if got := tries(t, user{}.confined(t, p, self, tryCommand, "fastopen="+shut)); got["fastopen="+shut] != "EPERM" {
		t.Errorf("connected by sending: %s", got["fastopen="+shut])
	}
}

// A place to write that was replaced by a link would hand out what the link leads to.
func TestWriteThroughALinkIsRefused(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		ws := u.place(t, "ws")
		link := filepath.Join(ws, "link")
		if err := os.Symlink("/etc", link); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{link, link + "/ssl"} {
			refused(t, u.confined(t, Plan{Landlock: LandlockBest, Write: []string{at}}, "echo", "ran"), "symbolic link")
			if LandlockABI() >= MustABI {
				p := alone(ws)
				p.Write = []string{at}
				refused(t, u.confined(t, p, "echo", "ran"), "symbolic link")
			}
		}
	})
}

func TestRefusesWithoutAPlan(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"{}", "--", "echo", "ran"}, {`{"landlock":"off"}`, "--"}, {`{"landlock":"off","x":1}`, "--", "echo", "ran"}} {
		refused(t, user{}.run(t, nil, append([]string{self, Command}, args...)...), "cannot confine a command")
	}
}
