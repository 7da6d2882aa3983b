//go:build amd64 || arm64

package confine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat/internal/sandbox"
)

// Every call of the list is refused as the filter refuses it. Without the filter most come to something else, which is
// what shows that the list proves the filter and not the kernel's other walls.
func TestForbiddenCalls(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		b := newBox(t, u)
		got := tries(t, b.run(t, b.plan(), "/run/self", tryCommand, "calls"))
		without := tries(t, b.bare(t, "/run/self", tryCommand, "calls"))
		differ := 0
		for _, a := range attempts() {
			if got[a.name] != a.want {
				t.Errorf("%s: %s, want %s", a.name, got[a.name], a.want)
			}
			if without[a.name] != a.want {
				differ++
			}
		}
		t.Logf("%d calls, of which %d are refused by the filter alone", len(got), differ)
		if differ < len(got)/2 {
			t.Errorf("of %d calls the filter alone refuses %d: the list proves little\n%v", len(got), differ, without)
		}
	})
}

// What the options leave is left, and nothing else with it.
func TestOptionsLeaveCalls(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		b := newBox(t, u)
		nested, debug := b.plan(), b.plan()
		nested.Nested, debug.Debug = true, true
		n := tries(t, b.run(t, nested, "/run/self", tryCommand, "calls"))
		d := tries(t, b.run(t, debug, "/run/self", tryCommand, "calls"))
		for name, want := range map[string]string{"clone user": "done", "clone3": "EINVAL", "setns": "EBADF", "ptrace attach": "EPERM", "ioctl TIOCSTI": "EPERM"} {
			if n[name] != want {
				t.Errorf("nested: %s: %s, want %s", name, n[name], want)
			}
		}
		for name, want := range map[string]string{"clone user": "EPERM", "ptrace attach": "ESRCH", "process_vm_readv": "done", "kcmp": "done"} {
			if d[name] != want {
				t.Errorf("debug: %s: %s, want %s", name, d[name], want)
			}
		}
	})
}

func TestRightsAreGone(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		b := newBox(t, u)
		p := b.plan()
		p.Limits = Limits{OpenFiles: 200, Processes: 300, FileSize: 1 << 20, CPUSeconds: 50, Data: 1 << 33}
		got := tries(t, b.run(t, p, "/run/self", tryCommand, "state", "limits", "descriptors"))
		for _, want := range []string{"CapInh= ", "CapPrm= ", "CapEff= ", "CapAmb= ", "NoNewPrivs=1", "Seccomp=2"} {
			if !strings.Contains(got["state"]+" ", want) {
				t.Errorf("state %q lacks %q", got["state"], want)
			}
		}
		if want := "0 200 300 1048576 55 8589934592"; got["limits"] != want {
			t.Errorf("hard limits %q, want %q", got["limits"], want)
		}
		if got["descriptors"] != "done" {
			t.Errorf("descriptors: %s", got["descriptors"])
		}
	})
}

// Outside of any sandbox root has all capabilities, and they go all the same.
func TestRootLosesItsCapabilities(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has capabilities to lose")
	}
	root := user{name: "root"}
	got := tries(t, root.confined(t, Plan{Landlock: LandlockOff}, self, tryCommand, "state", "securebits"))
	if want := "CapInh= CapPrm= CapEff= CapBnd= CapAmb= NoNewPrivs=1 Seccomp=2"; got["state"] != want {
		t.Errorf("state %q, want %q", got["state"], want)
	}
	if got["securebits"] != "0xef" {
		t.Errorf("securebits %s", got["securebits"])
	}
}

func TestDescriptorsAreClosed(t *testing.T) {
	argv, err := Argv(self, Plan{Landlock: LandlockOff}, []string{self, tryCommand, "descriptors"})
	if err != nil {
		t.Fatal(err)
	}
	// The shell gives the program a descriptor 7, as a careless parent would.
	sh := append([]string{"/bin/sh", "-c", `exec 7</etc/hostname; exec "$@"`, "sh"}, argv...)
	if got := tries(t, user{}.run(t, nil, sh...)); got["descriptors"] != "done" {
		t.Errorf("left open: %s", got["descriptors"])
	}
	sh = []string{"/bin/sh", "-c", `exec 7</etc/hostname; exec "$@"`, "sh", self, tryCommand, "descriptors"}
	if got := tries(t, user{}.run(t, nil, sh...)); got["descriptors"] == "done" {
		t.Error("the attempt does not see a descriptor that is open")
	}
}

// A program for another processor would have its calls checked against the wrong numbers.
func TestForeignCallsEndTheProcess(t *testing.T) {
	b := newBox(t, user{})
	source := filepath.Join(b.ws, "old.c")
	text := `int main(void) { int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); return r > 0 ? 0 : 1; }`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(b.ws, "old")
	if r := (user{}).run(t, nil, "/usr/bin/env", "gcc", "-o", old, source); r.code != 0 {
		t.Skipf("no compiler for a program with 32-bit calls: %s", r.stderr)
	}
	if r := (user{}).run(t, nil, old); r.code != 0 {
		t.Skip("this kernel has no 32-bit calls")
	}
	if r := (user{}).confined(t, Plan{Landlock: LandlockOff}, old); r.signal != syscall.SIGSYS {
		t.Errorf("a 32-bit call: code %d signal %v, want SIGSYS", r.code, r.signal)
	}
}

// The mounts leave more writable than the plan: Landlock is the wall here.
func TestLandlockBest(t *testing.T) {
	if LandlockABI() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	eachUser(t, func(t *testing.T, u user) {
		b := newBox(t, u)
		shut := u.place(t, "shut")
		if err := os.WriteFile(filepath.Join(shut, "file"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(shut, "file"), 0o666); err != nil {
			t.Fatal(err)
		}
		b.profile.Binds = append(b.profile.Binds, sandbox.Bind{Host: shut, At: "/srv/shut", Write: true})
		for _, dir := range []string{"a", "b"} {
			if err := os.Mkdir(filepath.Join(b.ws, dir), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(b.ws, dir), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		args := map[string]string{
			"create=" + b.ws + "/x":                    "done",
			"create=/tmp/x":                            "done",
			"create=/home/agent/x":                     "done",
			"create=/dev/shm/x":                        "done",
			"write=/dev/null":                          "done",
			"rename=" + b.ws + "/a/x:" + b.ws + "/b/x": "done",
			"comm":                 "done",
			"killchild":            "done",
			"abstract=here":        "done",
			"read=/srv/shut/file":  "done",
			"exec=/bin/true":       "done",
			"write=/srv/shut/file": "EACCES",
			"create=/srv/shut/new": "EACCES",
		}
		if LandlockABI() >= 6 {
			args["kill=1"] = "EPERM"
		}
		argv := []string{"/run/self", tryCommand}
		for name := range args {
			argv = append(argv, name)
		}
		got := tries(t, b.run(t, b.plan(), argv...))
		for name, want := range args {
			if got[name] != want {
				t.Errorf("%s: %s, want %s", name, got[name], want)
			}
		}
		off := b.plan()
		off.Landlock = LandlockOff
		for _, name := range []string{"write=/srv/shut/file", "create=/srv/shut/new"} {
			if got := tries(t, b.run(t, off, "/run/self", tryCommand, name)); got[name] != "done" {
				t.Errorf("without Landlock %s: %s: the test shows nothing", name, got[name])
			}
		}
	})
}

func TestHarmlessCallsGoOn(t *testing.T) {
	b := newBox(t, user{})
	names := []string{"personality=0", "personality=0x40000", "personality=0xffffffff", "abstract=x", "mptcp"}
	got := tries(t, b.run(t, b.plan(), append([]string{"/run/self", tryCommand}, names...)...))
	for _, name := range names {
		if got[name] != "done" && !(name == "mptcp" && got[name] == unix.ErrnoName(unix.EPROTONOSUPPORT)) {
			t.Errorf("%s: %s", name, got[name])
		}
	}
}
