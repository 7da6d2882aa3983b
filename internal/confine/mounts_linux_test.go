//go:build amd64 || arm64

package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat/internal/sandbox"
)

// refused fails unless the step ended without starting the agent, with one line that says why.
func refused(t *testing.T, r result, why string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "==") { // the race detector's, where there is no /proc
			lines = append(lines, line)
		}
	}
	r.stderr = strings.Join(lines, "")
	if r.code != ExitRefused || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, why) {
		t.Errorf("code %d, stdout %q, stderr %q; want code %d and one line with %q", r.code, r.stdout, r.stderr, ExitRefused, why)
	}
}

func TestMountsAreChecked(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		b := newBox(t, u)
		odd := u.place(t, "odd name\twith\nblanks\\040")
		if err := os.Symlink("/usr", filepath.Join(b.ws, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(b.ws, "dir"), 0o777); err != nil {
			t.Fatal(err)
		}
		b.profile.Binds = append(b.profile.Binds, sandbox.Bind{Host: odd, Write: true})
		b.profile.Links = []sandbox.Link{{Target: "/usr", At: "/run/usr"}}
		for _, c := range []struct{ name, at, why string }{
			{"an odd name", odd, ""},
			{"a directory", b.ws + "/dir", "not a mount of its own"},
			{"a link to a mount", "/run/usr", `it leads to "/usr"`},
			{"a link of the workspace", b.ws + "/link", `it leads to "/usr"`},
			{"below a link", "/run/usr/bin", `it leads to "/usr/bin"`},
			{"nothing", "/absent", "no such file"},
		} {
			p := b.plan()
			p.Mounts = []Mount{{At: c.at, ReadOnly: strings.Contains(c.why, "usr")}}
			r := b.run(t, p, "echo", "ran")
			if c.why != "" {
				refused(t, r, c.why)
			} else if r.stdout != "ran\n" {
				t.Errorf("%s: code %d, stderr %q", c.name, r.code, r.stderr)
			}
		}
		for at, readOnly := range map[string]bool{b.ws: true, "/usr": false, "/run/self": false} {
			p := b.plan()
			p.Mounts = []Mount{{At: at, ReadOnly: readOnly}}
			refused(t, b.run(t, p, "echo", "ran"), "should be "+access(readOnly))
		}
	})
}

// The workspace is replaced by a link after it was checked and before bubblewrap mounts it. Bubblewrap follows the
// link, so what lies at the workspace's path is a mount of its own, and of the wrong directory.
func TestSwappedSourceIsRefused(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		b := newBox(t, u)
		victim := u.place(t, "victim")
		if err := os.WriteFile(filepath.Join(victim, "secret"), []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(b.ws, &st); err != nil {
			t.Fatal(err)
		}
		p := b.plan()
		p.Mounts = []Mount{{At: b.ws, Dev: st.Dev, Ino: st.Ino}}
		inner, err := Argv("/run/self", p, []string{"cat", b.ws + "/secret"})
		if err != nil {
			t.Fatal(err)
		}
		argv, err := sandbox.Wrap(b.profile, inner)
		if err != nil {
			t.Fatal(err)
		}
		if r := u.run(t, nil, argv...); r.code == ExitRefused {
			t.Fatalf("the right workspace was refused: %s", r.stderr)
		}
		if err := os.Remove(b.ws); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, b.ws); err != nil {
			t.Fatal(err)
		}
		refused(t, u.run(t, nil, argv...), "its source was replaced")
	})
}

// A mount that another one lies over is not what the agent would see.
func TestCoveredMountIsRefused(t *testing.T) {
	b := newBox(t, user{})
	p := b.plan()
	p.Mounts = []Mount{{At: b.ws + "/sub"}}
	inner, err := Argv("/run/self", p, []string{"echo", "ran"})
	if err != nil {
		t.Fatal(err)
	}
	bwrap := func(cover ...string) result {
		argv := []string{"/usr/bin/env", "bwrap", "--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr",
			"--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
			"--proc", "/proc", "--dev", "/dev", "--ro-bind", self, "/run/self",
			"--bind", b.ws, b.ws, "--bind", b.home, b.ws + "/sub"}
		return user{}.run(t, nil, append(append(append(argv, cover...), "--"), inner...)...)
	}
	if r := bwrap(); r.stdout != "ran\n" {
		t.Fatalf("not covered: code %d, stderr %q", r.code, r.stderr)
	}
	refused(t, bwrap("--tmpfs", b.ws), "no such file")
	refused(t, bwrap("--tmpfs", b.ws, "--dir", b.ws+"/sub"), "not a mount of its own")
	refused(t, bwrap("--ro-bind", b.home, b.ws+"/sub"), "is mounted read-only")
}

func TestMountsNeedProc(t *testing.T) {
	b := newBox(t, user{})
	inner, err := Argv("/run/self", b.plan(), []string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	r := user{}.run(t, nil, append([]string{"/usr/bin/env", "bwrap", "--unshare-all", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr",
		"--symlink", "usr/lib64", "/lib64", "--symlink", "usr/lib", "/lib", "--ro-bind", self, "/run/self", "--"}, inner...)...)
	refused(t, r, "/proc is not mounted")
}

func FuzzMountPoints(f *testing.F) {
	f.Add([]byte("22 28 0:20 / /a\\040b\\134 rw,nosuid shared:7 - sysfs sysfs rw\n"))
	f.Add([]byte("1 2 3 4 \\0 6\n\\\n\\999 \\400"))
	f.Fuzz(func(t *testing.T, info []byte) {
		for _, at := range mountPoints(info) {
			if len(at) > len(info) {
				t.Errorf("%q is longer than all", at)
			}
		}
	})
}

func TestMountPoints(t *testing.T) {
	got := mountPoints([]byte("22 28 0:20 / /a\\040b\\134\\011 rw,nosuid shared:7 - sysfs sysfs rw\n" +
		"23 28 0:20 / /short\nx 28 0:20 / /y rw - a b c\n24 28 0:20 / /c\\9\\40 rw - a b c"))
	if len(got) != 2 || got[22] != "/a b\\\t" || got[24] != "/c\\9\\40" {
		t.Errorf("%v", got)
	}
}

// The quick way to a mount's number and the one that old kernels have say the same.
func TestMountIDs(t *testing.T) {
	seen := map[uint64]bool{}
	for _, at := range []string{"/", "/proc", "/dev"} {
		fd, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		quick, err1 := mountID(fd)
		slow, err2 := mountIDInProc(fd)
		if err1 != nil || err2 != nil || quick != slow || seen[quick] {
			t.Errorf("%s: %d (%v) and %d (%v)", at, quick, err1, slow, err2)
		}
		seen[quick] = true
	}
}
