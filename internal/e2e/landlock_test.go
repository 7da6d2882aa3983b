package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/confine"
)

// nobody is an ordinary user.
const nobody = 65534

// landlockWorlds plays a case behind Landlock alone, as root and as an ordinary user. The place is a directory of that user.
func landlockWorlds(t *testing.T, f func(t *testing.T, w *world, place func(name string) string)) {
	if abi := confine.LandlockABI(); abi < confine.MustABI {
		t.Skipf("this kernel has Landlock %d, and %d is needed", abi, confine.MustABI)
	}
	for _, uid := range []int{0, nobody} {
		if uid != 0 && os.Geteuid() != 0 {
			continue
		}
		t.Run(fmt.Sprint(uid), func(t *testing.T) {
			w := newWorld(t)
			if uid != 0 {
				w.cred = &syscall.Credential{Uid: nobody, Gid: nobody}
				w.env = append(w.env, "HOME="+w.dir)
				for _, dir := range []string{built.dir, filepath.Dir(w.bin)} {
					if err := os.Chmod(dir, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Chown(w.dir, nobody, nobody); err != nil {
					t.Fatal(err)
				}
			}
			w.start()
			f(t, w, func(name string) string {
				dir := filepath.Join(w.dir, name)
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if uid != 0 {
					if err := os.Chown(dir, nobody, nobody); err != nil {
						t.Fatal(err)
					}
				}
				return dir
			})
		})
	}
}

// run plays a shell script in a turn.
func (w *world) run(ref, shell string) receipt {
	w.t.Helper()
	r := w.wait(w.send(ref, script(step{"shell": shell}, step{"text": "done"})))
	if r.Turn == nil || r.Turn.Outcome != substrat.Completed {
		w.t.Fatalf("%+v %+v", r, r.Turn)
	}
	return r
}

const trying = `
: > result.txt
try() { if sh -c "$1" >/dev/null 2>err.txt; then echo "DONE $1"; fi >> result.txt; }
ok() { if ! sh -c "$1" >/dev/null 2>err.txt; then echo "CANNOT $1: $(cat err.txt)"; fi >> result.txt; }
`

// TestLandlock: what an agent behind Landlock alone can and cannot do. Each try must fail, each ok must work.
func TestLandlock(t *testing.T) {
	t.Parallel()
	landlockWorlds(t, func(t *testing.T, w *world, place func(string) string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		theirs := place("theirs")
		plant(t, theirs, map[string]string{"secret": "s"})
		if err := os.Chmod(filepath.Join(theirs, "secret"), 0o666); err != nil {
			t.Fatal(err)
		}
		first := w.create(substrat.NewAgent{Name: "first", Provider: "sim", Dir: place("a"), Sandbox: substrat.Landlock})
		other := w.create(substrat.NewAgent{Name: "other", Provider: "sim", Dir: place("b"), Sandbox: substrat.Landlock})
		if first.Network != substrat.NetworkNone || !strings.Contains(w.cli("agent", "list"), "LANDLOCK") {
			t.Errorf("network %s\n%s", first.Network, w.cli("agent", "list"))
		}
		w.run("other", `echo s > ~/secret; echo s > secret; echo $HOME`)
		otherHome := filepath.Join(w.home, "agents", other.ID, "home")
		if _, err := os.Stat(filepath.Join(otherHome, "secret")); err != nil {
			t.Fatal(err)
		}
		text := trying + strings.NewReplacer("@theirs", theirs, "@other", otherHome, "@home", w.home, "@daemon", fmt.Sprint(w.daemon.Process.Pid), "@port", fmt.Sprint(port), "@dir", w.dir).Replace(`
try "cat @theirs/secret"
try "ls @theirs"
try "echo x >> @theirs/secret"
try "echo x > @theirs/new"
try "rm @theirs/secret"
try "ln @theirs/secret link"
try "mv @theirs/secret ."
try "ln -s @theirs/secret soft && cat soft"
try "cat @other/secret"
try "cat @dir/b/secret"
try "ls @home"
try "cat @home/journal.db"
try "cat @home/turns/*/sock/token"
try "echo x > @home/bin/substrat"
try "echo x > @home/substrat.toml"
try "ls /root || ls /home"
try "cat /etc/shadow"
try "cat /etc/hostname"
try "ls /tmp || ls /var/tmp || ls /dev/shm || ls /run"
try "echo x > /tmp/x-substrat"
try "echo x > /dev/shm/x-substrat"
try "ls /dev/pts"
try "ls /sys"
try "kill -0 @daemon"
shim=$(sed -n 's/PPid:.//p' /proc/$PPID/status)
ok "grep -q shim /proc/$shim/cmdline"
try "kill -9 $shim"
try "cat /proc/@daemon/environ"
try "cat /proc/@daemon/maps"
try "readlink /proc/@daemon/fd/1"
try "echo x > /proc/@daemon/fd/1"
try "ls /proc/@daemon/root/"
try "echo 0 > /proc/sys/kernel/randomize_va_space"
try "prlimit --pid @daemon --cpu=1"
try "unshare -Ur true"
try "mount -t tmpfs none ."
try "bash -c 'exec 3<>/dev/tcp/127.0.0.1/@port'"
try "bash -c 'exec 3<>/dev/udp/127.0.0.1/@port'"
try "/usr/bin/env SUBSTRAT_HOME=@home substrat agent list"
try "/usr/bin/env SUBSTRAT_HOME=@home substrat agent create out --sandbox none"
try "node -e 'require(\"net\").connect(\"@home/turns/$SUBSTRAT_TURN/run/ctl\").on(\"data\", () => process.exit(0)).on(\"error\", () => process.exit(1)).on(\"close\", () => process.exit(1))'"
ok "substrat tool list_children"
ok "echo x > here && mkdir -p d && mv here d/ && cat d/here"
ok "echo x > ~/mine && cat ~/mine"
ok "echo x > $TMPDIR/x && mktemp"
ok "cat /etc/passwd"
ok "echo x > /dev/null; head -c 1 /dev/urandom"
ok "bash -c 'diff <(echo a) <(echo a)'"
ok "sleep 100 & kill \$!"
ok "git init -q g && cd g && git config user.name x && git config user.email x@x && echo a > a && git add a && git commit -qm a && git gc -q && git log"
ok "if command -v node; then node -e 'require(\"fs\").writeFileSync(\"n\", String(require(\"os\").cpus().length)); require(\"child_process\").execFileSync(\"true\")'; fi"
ok "if test -x /usr/bin/python3; then /usr/bin/python3 -c 'import subprocess, threading, tempfile, json; subprocess.run([\"true\"], close_fds=True, check=True); tempfile.TemporaryFile()' 2>&1 | tee py.txt; test ! -s py.txt; fi"
ok "if command -v gcc; then echo 'int main(void) { return 0; }' > t.c && gcc -o t t.c && ./t; fi"
`)
		w.run("first", text)
		result, err := os.ReadFile(filepath.Join(w.dir, "a", "result.txt"))
		if err != nil || len(result) > 0 {
			t.Errorf("%v\n%s", err, result)
		}
		if log := w.cli("log", "first", "--full"); !strings.Contains(log, "done") {
			t.Errorf("the turn's transcript:\n%s", log)
		}
		w.landlockTold("first")
	})
}

// landlockTold checks that the record says what is not held.
func (w *world) landlockTold(path string) {
	w.t.Helper()
	said := slices.ContainsFunc(w.events(), func(ev substrat.Event) bool {
		var data struct{ Path, Open string }
		return ev.Type == "sandbox.partial" && json.Unmarshal(ev.Data, &data) == nil && data.Path == path &&
			strings.Contains(data.Open, "unix socket") == (confine.LandlockABI() < confine.UnixABI)
	})
	if !said {
		w.t.Error("no event tells what is not held")
	}
}

// TestLandlockTools: agents work together through their own sockets, spawn children that are held as they are, and are
// ended with all that they started.
func TestLandlockTools(t *testing.T) {
	t.Parallel()
	landlockWorlds(t, func(t *testing.T, w *world, place func(string) string) {
		w.create(substrat.NewAgent{Name: "lead", Provider: "sim", Dir: place("ws"), Sandbox: substrat.Landlock})
		r := w.wait(w.send("lead", script(
			step{"mcp": "spawn_agent", "args": step{"name": "kid", "instructions": "help"}},
			step{"mcp": "send_message", "args": step{"recipient": "kid", "text": script(step{"shell": "echo kid > kid.txt"}, step{"text": "hello from kid"}), "sync": true}},
			step{"text": "asked"})))
		if r.Turn == nil || r.Turn.Outcome != substrat.Completed {
			t.Fatalf("%+v", r)
		}
		kid := filepath.Join(w.dir, "ws", "kid.txt")
		w.until("the child to have worked", func() bool { _, err := os.Stat(kid); return err == nil })
		if a := w.agent("lead/kid"); a.Sandbox != substrat.Landlock || a.Network != substrat.NetworkNone {
			t.Errorf("the child has sandbox %s, network %s", a.Sandbox, a.Network)
		}
		// What a turn leaves behind, also where it has hidden its mark, ends with it.
		w.create(substrat.NewAgent{Name: "fork", Provider: "sim", Dir: place("f"), Sandbox: substrat.Landlock})
		w.run("fork", `for i in 1 2 3; do env -i setsid sh -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 & done; while [ "$(wc -l < pids)" != 3 ]; do sleep 0.02; done 2>/dev/null`)
		pids, err := os.ReadFile(filepath.Join(w.dir, "f", "pids"))
		if err != nil {
			t.Fatal(err)
		}
		for pid := range strings.FieldsSeq(string(pids)) {
			if _, err := os.Stat("/proc/" + pid); err == nil {
				t.Errorf("process %s was left behind", pid)
			}
		}
	})
}

// TestLandlockNetwork: there is no door, and nobody gets the host's network without asking for it.
func TestLandlockNetwork(t *testing.T) {
	t.Parallel()
	landlockWorlds(t, func(t *testing.T, w *world, place func(string) string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for name, n := range map[string]substrat.NewAgent{
			"asked for":                {Name: "x", Provider: "sim", Network: substrat.NetworkDoor, Sandbox: substrat.Landlock},
			"what the provider's need": {Name: "x", Provider: "claude", Sandbox: substrat.Landlock},
		} {
			if err := w.post("/v1/agents", n, nil); substrat.CodeOf(err) != substrat.CodeInvalid || !strings.Contains(err.Error(), "network none, or network host") {
				t.Errorf("a door, %s: %v", name, err)
			}
		}
		w.create(substrat.NewAgent{Name: "open", Provider: "sim", Dir: place("ws"), Sandbox: substrat.Landlock, Network: substrat.NetworkHost})
		if list := w.cli("agent", "list"); !strings.Contains(list, "HOST") {
			t.Errorf("the list does not shout:\n%s", list)
		}
		w.run("open", trying+fmt.Sprintf(`ok "bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d'"
ok "bash -c 'echo x >/dev/udp/127.0.0.1/9'"
try "cat %s/journal.db"`, l.Addr().(*net.TCPAddr).Port, w.home))
		if result, err := os.ReadFile(filepath.Join(w.dir, "ws", "result.txt")); err != nil || len(result) > 0 {
			t.Errorf("%v\n%s", err, result)
		}
	})
}

// TestLandlockPlaces: a read-only workspace is not written, a worktree's commits work and its repository's configuration is
// closed, and files that programs obey are told of.
func TestLandlockPlaces(t *testing.T) {
	t.Parallel()
	if confine.LandlockABI() < confine.MustABI {
		t.Skip("no Landlock that could hold a turn")
	}
	w := newWorld(t)
	w.start()
	dir := w.space()
	w.create(substrat.NewAgent{Name: "writer", Provider: "sim", Dir: dir, Sandbox: substrat.Landlock})
	w.run("writer", `mkdir .claude && echo '{"apiKeyHelper":"./evil"}' > .claude/settings.json`)
	if got := w.flagged(); !slices.Equal(got, []string{".claude/settings.json created"}) {
		t.Errorf("flagged: %q", got)
	}
	w.create(substrat.NewAgent{Name: "reader", Provider: "sim", Dir: dir, Role: substrat.Reviewer, Sandbox: substrat.Landlock})
	w.run("reader", `cat .claude/settings.json > ~/seen; echo x > written; rm -r .claude; true`)
	if _, err := os.Stat(filepath.Join(dir, "written")); err == nil {
		t.Error("a reviewer wrote into the workspace")
	}
	repo := w.space()
	gitAt(t, repo, "init", "-q", "-b", "main")
	gitAt(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	w.create(substrat.NewAgent{Name: "tree", Provider: "sim", Dir: repo, Worktree: true, Sandbox: substrat.Landlock})
	w.run("tree", trying+`
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
common=$(git rev-parse --git-common-dir)
ok "echo a > a.txt && git add a.txt && git commit -qm second && git checkout -q -b side && git log"
try "echo x >> $common/config"
try "git config core.fsmonitor ./evil"
try "echo x > $common/hooks/post-checkout"
try "mv $common/config $common/config2"`)
	if result, err := os.ReadFile(filepath.Join(w.agent("tree").Dir, "result.txt")); err != nil || len(result) > 0 {
		t.Errorf("%v\n%s", err, result)
	}
	sent := map[string]string{}
	for i, bad := range []string{"/", w.home, filepath.Join(w.home, "agents"), filepath.Join(w.home, "turns")} {
		a := w.create(substrat.NewAgent{Name: fmt.Sprintf("bad%d", i), Provider: "sim", Dir: bad, Sandbox: substrat.Landlock})
		sent[bad] = w.send(a.Path, script(step{"shell": "touch ran"}, step{"text": "done"}))
	}
	for bad, id := range sent {
		if r := w.wait(id); r.Turn == nil || r.Turn.Outcome != substrat.FailedTurn {
			t.Errorf("workspace %s: %+v", bad, r.Turn)
		}
		if _, err := os.Stat(filepath.Join(bad, "ran")); err == nil {
			t.Errorf("a turn ran in %s", bad)
		}
	}
}

// TestLandlockMissing: where the kernel has no Landlock, no turn runs behind it.
func TestLandlockMissing(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which takes the system call away, is not installed")
	}
	w := newWorld(t)
	w.under = []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=landlock_create_ruleset", "-e", "inject=landlock_create_ruleset:error=ENOSYS", "--"}
	w.start()
	w.create(substrat.NewAgent{Name: "lead", Provider: "sim", Sandbox: substrat.Landlock})
	r := w.wait(w.send("lead", script(step{"shell": "touch ran"}, step{"text": "done"})))
	if r.Turn == nil || r.Turn.Outcome != substrat.FailedTurn || r.Turn.Class != substrat.ClassSandbox || !strings.Contains(r.Turn.Detail, "cannot hold the agent with Landlock: this kernel has none") {
		t.Errorf("%+v", r.Turn)
	}
	if _, err := os.Stat(filepath.Join(w.agent("lead").Dir, "ran")); err == nil {
		t.Error("the turn ran")
	}
}
