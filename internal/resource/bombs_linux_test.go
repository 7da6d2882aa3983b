package resource

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const nobody = 65534

// sandboxed is argv in a sandbox as turns have it, with dir writable.
func sandboxed(t *testing.T, dir string, argv ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bwrap is not installed")
	}
	return append([]string{"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
		"--size", strconv.Itoa(16 << 20), "--tmpfs", "/dev/shm", "--bind", dir, dir, "--chdir", dir}, argv...)
}

// TestAsOrdinaryUser runs the tests of the watch in a process of an ordinary user: the supervisor is one too.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	cmd := exec.Command(binary(t), "-test.run", "^TestWatch|^TestProcessesOfUserNamespace|^TestDetect|^TestTree", "-test.v", "-test.timeout", "80s")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Env = append(slices.Clip(os.Environ()), "HOME=/", "GOCOVERDIR=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestWatchEndsBombs") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// The bombs in a real sandbox, with nothing but the watch: each is noticed and gone within two seconds, and what it was is
// told right.
func TestWatchEndsBombs(t *testing.T) {
	dir := openDir(t)
	exe := binary(t)
	disk := func(growth bool) Limits {
		return Limits{Disk: []DiskLimit{{Path: dir, What: "workspace", Bytes: 64 << 20, Growth: growth}}}
	}
	fill := "exec dd if=/dev/zero of=" + dir + "/fill bs=1M count=400 status=none; sleep 15"
	for _, c := range []struct {
		name string
		l    Limits
		what string
		argv []string
	}{
		{"fork bomb", Limits{Processes: 200}, WhatProcesses, []string{exe, "bomb", "1500"}},
		{"memory hog", Limits{Memory: 100 << 20}, WhatMemory, []string{exe, "hog", "300"}},
		{"memory in no process", Limits{Memory: 100 << 20}, WhatMemory, []string{exe, "memfd", "300"}},
		{"disk filler", disk(true), "disk: workspace", []string{"sh", "-c", strings.TrimPrefix(fill, "exec ")}},
		{"disk filler of a home", disk(false), "disk: workspace", []string{"sh", "-c", strings.TrimPrefix(fill, "exec ")}},
		{"disk filler without a name", disk(true), "disk: workspace", []string{"sh", "-c",
			"exec 3>" + dir + "/gone; rm " + dir + "/gone; dd if=/dev/zero bs=1M count=400 status=none >&3; sleep 15"}},
		{"disk filler behind a closed door", disk(true), "disk: workspace", []string{"sh", "-c",
			"mkdir " + dir + "/closed; exec 3>" + dir + "/closed/f; chmod 0 " + dir + "/closed; dd if=/dev/zero bs=1M count=400 status=none >&3; sleep 15"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			var v *victim
			ready := make(chan struct{})
			w := NewWatch(c.l, func() []int { <-ready; return NewTree(v.pid).Pids() }, nil)
			defer w.Stop()
			v = start(t, nil, nil, sandboxed(t, dir, c.argv...)...)
			close(ready)
			r := breach(t, w, 10*time.Second)
			noticed := time.Since(began)
			v.killAll()
			v.ended(5 * time.Second)
			gone := time.Since(began)
			t.Logf("noticed after %v, gone after %v", noticed, gone)
			if r.What != c.what || r.Used <= r.Limit {
				t.Errorf("reason %+v", r)
			}
			if gone > 2*time.Second+raceTime {
				t.Errorf("it took %v", gone)
			}
			os.Chmod(filepath.Join(dir, "closed"), 0o700)
			os.RemoveAll(filepath.Join(dir, "closed"))
			os.Remove(filepath.Join(dir, "fill"))
		})
	}
}

// What honest work looks like is left alone: memory shared after a fork counts once, a rebuilt file does not count as
// growth, and a neighbour on the same file system is nobody's fault.
func TestWatchLeavesHonestWorkAlone(t *testing.T) {
	dir, neighbour := openDir(t), openDir(t)
	write := func(dir, name string, mib int) {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, mib<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(dir, "build", 40)
	d := newDisk(DiskLimit{Path: dir, What: "workspace", Bytes: 24 << 20, Growth: true}, nil)
	defer d.read.close()
	check := func(what string, want bool) {
		d.ended = time.Time{} // a walk is due
		t.Helper()
		if r, hit, _ := d.check(t.Context()); hit != want {
			t.Errorf("%s: %v %+v, lost %d", what, hit, r, d.start.lost(d.last))
		}
	}
	check("at the start", false)
	write(neighbour, "big", 60)
	check("a neighbour writes", false)
	os.Remove(filepath.Join(neighbour, "big"))
	os.Remove(filepath.Join(dir, "build"))
	write(dir, "build", 40)
	check("a rebuild", false)
	write(dir, "more", 40)
	check("growth", true)
}

// Since Linux 5.14 the number of processes is counted per user namespace: an ordinary user's sandbox has its own count,
// whatever else that user runs. For root the number does nothing.
func TestProcessesOfUserNamespace(t *testing.T) {
	if !kernelAtLeast(5, 14) {
		t.Skip("the kernel is older than 5.14")
	}
	exe, dir := binary(t), openDir(t)
	start(t, nil, nil, exe, "bomb", "60").says("started 60")
	v := start(t, nil, nil, sandboxed(t, dir, exe, "nproc", "40")...)
	v.says("done")
	_, text, _ := strings.Cut(v.text.String(), "started ")
	n, _ := strconv.Atoi(strings.Fields(text)[0])
	t.Logf("as uid %d it could start %d of 100", os.Geteuid(), n)
	if root := os.Geteuid() == 0; root && n != 100 || !root && (n == 0 || n > 40) {
		t.Errorf("as uid %d it could start %d of 100 with a limit of 40", os.Geteuid(), n)
	}
}

func TestTreeFindsOrphans(t *testing.T) {
	v := start(t, nil, nil, "sh", "-c", "(sh -c 'sleep 14 & sleep 14 & wait' &) ; echo done; sleep 14")
	v.says("done")
	tree := NewTree(os.Getpid())
	for end := time.Now().Add(5 * time.Second); ; {
		reap() // what earlier tests have left
		// sh, its sleep, and three that have lost a parent.
		if n := len(tree.Pids()); n == 5 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("found %d processes", n)
		}
	}
	if n := len(NewTree(1 << 30).Pids()); n != 0 {
		t.Errorf("a process that is not there has %d descendants", n)
	}
}
