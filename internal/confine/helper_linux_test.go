//go:build amd64 || arm64

package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"substrat.dev/substrat/internal/sandbox"
)

// The test binary stands for the binary that is linked with this package, and for an agent that tries things.
const tryCommand = "try"

// stage is a directory that every user may enter, and self the test binary in it.
var stage, self string

func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case Command:
			os.Exit(Main(os.Args[2:]))
		case tryCommand:
			tryMain(os.Args[2:])
		}
	}
	runtime.UnlockOSThread()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if stage, err = os.MkdirTemp("", "confine-test-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(stage)
	if stage, err = filepath.EvalSymlinks(stage); err != nil {
		panic(err)
	}
	self = filepath.Join(stage, "self")
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	to, err := os.OpenFile(self, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		panic(err)
	}
	if _, err := io.Copy(to, exe); err != nil {
		panic(err)
	}
	if err := errors.Join(to.Close(), exe.Close(), os.Chmod(stage, 0o755)); err != nil {
		panic(err)
	}
	return m.Run()
}

// user is one that tests run programs as.
type user struct {
	name string
	cred *syscall.Credential
}

// eachUser runs test as the user of this process and, where that is root, as an ordinary one.
func eachUser(t *testing.T, test func(t *testing.T, u user)) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Run("user", func(t *testing.T) { test(t, user{name: "user"}) })
		return
	}
	t.Run("root", func(t *testing.T) { test(t, user{name: "root"}) })
	t.Run("nobody", func(t *testing.T) {
		test(t, user{name: "nobody", cred: &syscall.Credential{Uid: 65534, Gid: 65534}})
	})
}

// place makes a directory of u's, which others may enter.
func (u user) place(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp(stage, name+"-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if u.cred != nil {
		if err := os.Chown(dir, int(u.cred.Uid), int(u.cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

type result struct {
	code           int
	signal         syscall.Signal
	stdout, stderr string
}

// run starts argv as u and waits for it.
func (u user) run(t testing.TB, env []string, argv ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "LC_ALL=C",
		"GORACE=atexit_sleep_ms=0"}, env...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.cred}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The command must not end with a thread of the test.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := result{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.signal = ws.Signal()
	}
	return r
}

// box is a sandbox as turns have it, with a workspace and a home.
type box struct {
	u        user
	ws, home string
	profile  sandbox.Profile
	env      []string
	options  []string // of bubblewrap, before its others
}

func newBox(t testing.TB, u user) *box {
	t.Helper()
	b := &box{u: u, ws: u.place(t, "ws"), home: u.place(t, "home")}
	b.profile = sandbox.Profile{
		Workspace: b.ws, Home: sandbox.Bind{Host: b.home, At: "/home/agent"},
		Binds: []sandbox.Bind{{Host: self, At: "/run/self"}},
	}
	b.env = []string{"HOME=/home/agent"}
	return b
}

// plan is the usual one of this box.
func (b *box) plan() Plan {
	return Plan{
		Write:    []string{b.ws, "/home/agent", "/tmp", "/var/tmp", "/dev", "/run/absent"},
		Mounts:   []Mount{{At: b.ws}, {At: "/home/agent"}, {At: "/usr", ReadOnly: true}, {At: "/run/self", ReadOnly: true}},
		Landlock: LandlockBest,
	}
}

// run runs argv in the box under p.
func (b *box) run(t testing.TB, p Plan, argv ...string) result {
	t.Helper()
	inner, err := Argv("/run/self", p, argv)
	if err != nil {
		t.Fatal(err)
	}
	return b.bare(t, inner...)
}

// bare runs argv in the box without this package.
func (b *box) bare(t testing.TB, argv ...string) result {
	t.Helper()
	full, err := sandbox.Wrap(b.profile, argv)
	if err != nil {
		t.Fatal(err)
	}
	set, err := sandbox.Options(b.profile)
	if err != nil {
		t.Fatal(err)
	}
	return b.u.run(t, b.env, slices.Insert(full, 1, append(set, b.options...)...)...)
}

// confined runs argv under p without a sandbox around it.
func (u user) confined(t testing.TB, p Plan, argv ...string) result {
	t.Helper()
	full, err := Argv(self, p, argv)
	if err != nil {
		t.Fatal(err)
	}
	return u.run(t, nil, full...)
}

// tries gives what each attempt came to.
func tries(t *testing.T, r result) map[string]string {
	t.Helper()
	var out map[string]string
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.code != 0 {
		t.Fatalf("the attempts did not run: code %d signal %v\n%s%s", r.code, r.signal, r.stdout, r.stderr)
	}
	return out
}

// tryMain makes the attempts that are named, all of those without arguments where the only name is "calls".
func tryMain(names []string) {
	out := map[string]string{}
	note := func(name string, err error) {
		var errno syscall.Errno
		switch {
		case err == nil || errors.As(err, &errno) && errno == 0:
			out[name] = "done"
		case errors.As(err, &errno):
			out[name] = errnoName(errno)
		default:
			out[name] = err.Error()
		}
	}
	for _, name := range names {
		if name == "calls" {
			for _, a := range attempts() {
				note(a.name, a.do())
			}
			continue
		}
		verb, what, _ := strings.Cut(name, "=")
		do, ok := verbs[verb]
		if !ok {
			fmt.Fprintf(os.Stderr, "no attempt %q of %v\n", verb, slices.Sorted(mapsKeys(verbs)))
			os.Exit(2)
		}
		note(name, do(what))
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(3)
	}
	os.Exit(0)
}

func bindAt(host, at string) sandbox.Bind { return sandbox.Bind{Host: host, At: at, Write: true} }
