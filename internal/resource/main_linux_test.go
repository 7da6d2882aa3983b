package resource

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The test binary is each bomb too. Every one has a bound of its own, and ends by itself after bombTime at the latest.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		n, _ := strconv.Atoi(os.Args[2])
		switch os.Args[1] {
		case "hog":
			hog(n)
		case "memfd":
			memfd(n)
		case "bomb":
			bomb(n)
		case "wait":
			time.Sleep(bombTime)
			os.Exit(0)
		case "spin":
			for end := time.Now().Add(time.Duration(n) * time.Millisecond); time.Now().Before(end); {
			}
			os.Exit(0)
		case "nproc":
			for _, r := range (Limits{Processes: n}).Rlimits(ModeRlimits, true) {
				if err := unix.Setrlimit(r.Resource, &unix.Rlimit{Cur: r.Value, Max: r.Value}); err != nil {
					fmt.Println(err)
				}
			}
			bomb(100)
		}
	}
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const bombTime = 15 * time.Second

// done says that the bomb has got all it wanted, and waits to be ended.
func done() {
	fmt.Println("done")
	time.Sleep(bombTime)
	os.Exit(0)
}

// hog takes that many MiB of memory.
func hog(mib int) {
	var all [][]byte
	for range mib {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
	fmt.Println("done")
	time.Sleep(bombTime)
	runtime.KeepAlive(all)
	os.Exit(0)
}

// memfd takes that many MiB of memory that is in no process.
func memfd(mib int) {
	block := make([]byte, 1<<20)
	for range 4 {
		fd, err := unix.MemfdCreate("hog", 0)
		if err != nil {
			os.Exit(3)
		}
		for range mib / 4 {
			unix.Write(fd, block)
		}
	}
	done()
}

// bomb starts that many processes that wait, and tells how many it could start.
func bomb(n int) {
	started := 0
	for range n {
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", strconv.Itoa(int(bombTime / time.Second))}, &syscall.ProcAttr{Env: os.Environ()})
		if err == nil && pid > 0 {
			started++
		}
	}
	fmt.Println("started", started)
	done()
}

// victim is a process under test.
type victim struct {
	t    *testing.T
	pid  int
	out  *os.File
	wait chan syscall.WaitStatus
	text bytes.Buffer
}

// start runs argv in the group, or beside every group where it is nil, and sees that nothing of it outlives the test.
func start(t *testing.T, g *Group, attr *syscall.SysProcAttr, argv ...string) *victim {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Setpgid = true
	pid, err := g.Fork(attr, func() (int, error) {
		return syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: "/", Env: os.Environ(), Files: []uintptr{0, w.Fd(), w.Fd()}, Sys: attr})
	})
	w.Close()
	if err != nil {
		r.Close()
		t.Fatal(err)
	}
	v := &victim{t: t, pid: pid, out: r, wait: make(chan syscall.WaitStatus, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var ws syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
				break
			}
		}
		v.wait <- ws
	}()
	t.Cleanup(func() {
		v.killAll()
		<-ended
		r.Close()
		reap()
	})
	return v
}

// killAll kills the process, its process group and every descendant.
func (v *victim) killAll() {
	_ = syscall.Kill(-v.pid, syscall.SIGKILL)
	_ = syscall.Kill(v.pid, syscall.SIGKILL)
	for range 100 {
		pids := NewTree(v.pid).Pids()
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// reap takes what has been left to the test binary. A test waits for its own children by pid, before.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
			return
		}
	}
}

// says waits until the process has printed the text.
func (v *victim) says(text string) {
	v.t.Helper()
	v.out.SetReadDeadline(time.Now().Add(20 * time.Second))
	buf := make([]byte, 4096)
	for !strings.Contains(v.text.String(), text) {
		n, err := v.out.Read(buf)
		v.text.Write(buf[:n])
		if err != nil {
			v.t.Fatalf("it did not say %q but %q: %v", text, v.text.String(), err)
		}
	}
}

func (v *victim) ended(within time.Duration) syscall.WaitStatus {
	v.t.Helper()
	select {
	case ws := <-v.wait:
		v.wait <- ws
		return ws
	case <-time.After(within):
		rest, _ := io.ReadAll(io.LimitReader(v.out, 0))
		v.t.Fatalf("the process still runs: %s%s", v.text.String(), rest)
		return 0
	}
}

// binary is a copy of the test binary that everybody may execute.
func binary(t *testing.T) string {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(openDir(t), "bomb")
	if err := os.WriteFile(path, self, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// openDir is a directory of the test that everybody may enter and write in.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "resource")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// prepared is the machine's best support with a place of its own, of which nothing may be left.
func prepared(t *testing.T, mode string) Support {
	t.Helper()
	s := Detect("")
	if s.Mode != mode {
		t.Skipf("this machine has no %s for this process: %s", mode, s.Detail)
	}
	s = s.Prepare(fmt.Sprintf("test %d %d", os.Getpid(), time.Now().UnixNano()))
	if s.Mode != mode {
		t.Fatalf("cannot prepare what was detected: %s", s.Detail)
	}
	t.Cleanup(func() {
		if left := s.Sweep(); len(left) > 0 {
			t.Errorf("processes are left in %v", left)
		}
		if err := s.Discard(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func open(t *testing.T, s Support, path ...Node) *Group {
	t.Helper()
	g, err := s.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := g.Kill(ctx); err != nil {
			t.Error(err)
		}
		reap()
		g.Remove()
	})
	return g
}

func itoa(n int) string { return strconv.Itoa(n) }

// cpuOfChildren is what all children that were waited for have used; the tests run one after another.
func cpuOfChildren() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_CHILDREN, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
