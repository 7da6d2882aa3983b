//go:build amd64 || arm64

package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Ordinary work goes on: what programs do all day is none of what was taken away.
func TestOrdinaryWork(t *testing.T) {
	for _, w := range []struct{ name, needs, script, want string }{
		{"git", "git", `git init -q . && echo a >a && git add a && git -c user.name=x -c user.email=x@x commit -qm a &&
			git checkout -q -b side && git mv a b && git -c user.name=x -c user.email=x@x commit -qam b && git gc -q && git log --oneline | wc -l`, "2"},
		{"node", "node", `node -e '
			const {execFileSync} = require("child_process"), {Worker} = require("worker_threads"), fs = require("fs"), net = require("net");
			fs.writeFileSync("n", "x"); fs.watch(".").close(); require("os").networkInterfaces();
			new Worker("require(\"worker_threads\").parentPort.postMessage(7)", {eval: true}).on("message", m => {
				const s = net.createServer(c => c.end("hi")).listen(0, "127.0.0.1", () =>
					net.connect(s.address().port, "127.0.0.1").on("data", d => { console.log(m + String(d) + execFileSync("echo", ["there"])); s.close() }));
			})'`, "7hithere"},
		{"python", "/usr/bin/python3", `/usr/bin/python3 -c '
import multiprocessing as mp, threading, subprocess, tempfile, socket, asyncio, os, mmap, resource
def double(x): return 2*x
r = []
t = threading.Thread(target=lambda: r.append(1)); t.start(); t.join()
with mp.Pool(2) as p: r += p.map(double, [1, 2])
with mp.get_context("spawn").Pool(1) as p: r += p.map(abs, [-3])
with tempfile.TemporaryFile() as f: f.write(b"x")
a, b = socket.socketpair(); a.send(b"x"); b.recv(1)
m = mp.shared_memory.SharedMemory(create=True, size=10) if hasattr(mp, "shared_memory") else None
async def main(): return await (await asyncio.create_subprocess_exec("true")).wait()
r.append(asyncio.run(main())); os.sched_getaffinity(0); os.nice(1)
socket.getaddrinfo("127.0.0.1", 80); socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", 9))
print(r)'`, "[1, 2, 4, 3, 0]"},
		{"threads of C", "gcc", `cat >t.c <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *f(void *p) { return p; }
int main(void) { pthread_t t[50]; for (int i = 0; i < 50; i++) if (pthread_create(&t[i], 0, f, 0)) return 1;
 for (int i = 0; i < 50; i++) pthread_join(t[i], 0); return system("echo done"); }
X
			gcc -pthread -o t t.c && ./t`, "done"},
		{"memory files", "/usr/bin/python3", `/usr/bin/python3 -c '
import os
fd = os.memfd_create("x"); os.write(fd, open("/bin/true", "rb").read())
pid = os.fork()
if pid == 0: os.execve(fd, ["x"], {})
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'`, "0"},
		{"job control", "bash", `bash -c 'set -m; sleep 100 & kill -STOP %1; jobs >/dev/null; kill -CONT %1; kill %1; wait %1; echo $?; exec 3<>/dev/tcp/127.0.0.1/9; true' 2>/dev/null`, "143"},
		{"a terminal", "script", `script -qec 'stty size >/dev/null; test -t 0 && echo is a tty' /dev/null </dev/null | tr -d '\r'`, "is a tty"},
		{"limits and names", "sh", `echo 1 >/proc/self/oom_score_adj && ulimit -n 100 && nice -n 1 setsid -w id -u >/dev/null && ls /proc/1 >/dev/null; echo x >/dev/shm/x; mkfifo p; ln -s p q; ln q r; chmod 600 q 2>/dev/null; { echo fine >/dev/stdout; } | cat`, "fine"},
	} {
		t.Run(w.name, func(t *testing.T) {
			if _, err := exec.LookPath(w.needs); err != nil {
				t.Skipf("%s is not installed", w.needs)
			}
			eachUser(t, func(t *testing.T, u user) {
				b := newBox(t, u)
				for _, p := range []Plan{b.plan(), with(b.plan(), func(p *Plan) { p.Nested, p.Debug = true, true })} {
					r := b.run(t, p, "sh", "-c", "rm -rf ./* ./.git; "+w.script)
					if r.code != 0 || !strings.HasSuffix(strings.TrimSpace(r.stdout), w.want) {
						t.Errorf("nested %v: code %d signal %v\n%s%s", p.Nested, r.code, r.signal, r.stdout, r.stderr)
					}
				}
			})
		})
	}
}

func with(p Plan, do func(*Plan)) Plan { do(&p); return p }

// The toolchain of this project, with its cache as the home's.
func TestGoBuilds(t *testing.T) {
	out, err := exec.Command("go", "env", "GOCACHE", "GOROOT").Output()
	if err != nil {
		t.Skipf("no Go here: %v", err)
	}
	cache, root, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if _, err := os.Stat(cache); err != nil || !strings.HasPrefix(root, "/usr/") {
		t.Skipf("the toolchain is not one that a sandbox shows: %s, %s", root, cache)
	}
	b := newBox(t, user{})
	text := "package main\n\nimport \"C\"\n\nfunc main() { c := make(chan string); go func() { c <- \"built\" }(); println(<-c) }\n"
	for name, text := range map[string]string{"main.go": text, "go.mod": "module x\n"} {
		if err := os.WriteFile(filepath.Join(b.ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := b.plan()
	p.Write = append(p.Write, "/srv/cache")
	b.profile.Binds = append(b.profile.Binds, bindAt(cache, "/srv/cache"))
	r := b.run(t, p, "env", "GOCACHE=/srv/cache", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", root+"/bin/go", "run", ".")
	if r.code != 0 || r.stderr != "built\n" {
		t.Errorf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

func TestStrace(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	eachUser(t, func(t *testing.T, u user) {
		b := newBox(t, u)
		argv := []string{"strace", "-f", "-o", "/tmp/trace", "sh", "-c", "echo ran; true"}
		if r := b.run(t, with(b.plan(), func(p *Plan) { p.Debug = true }), argv...); r.code != 0 || r.stdout != "ran\n" {
			t.Errorf("with Debug: code %d\n%s%s", r.code, r.stdout, r.stderr)
		}
		if r := b.run(t, b.plan(), argv...); r.code == 0 || r.stdout != "" {
			t.Errorf("without Debug strace runs: %s", r.stdout)
		}
	})
}

// An agent that sandboxes its own tools does it with namespaces of its own, and cannot undo what it was given.
func TestNestedSandbox(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		b := newBox(t, u)
		if u.cred == nil {
			// The kernel maps root into a further namespace only for who has CAP_SETFCAP, which is dropped.
			b.options = []string{"--uid", "1000", "--gid", "1000"}
		}
		inner := []string{"bwrap", "--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "echo", "inside"}
		if r := b.run(t, with(b.plan(), func(p *Plan) { p.Nested = true }), inner...); r.stdout != "inside\n" {
			t.Errorf("nested: code %d\n%s%s", r.code, r.stdout, r.stderr)
		}
		if r := b.run(t, b.plan(), inner...); r.code == 0 || r.stdout != "" {
			t.Errorf("a sandbox inside runs where none may: %s", r.stdout)
		}
		remount := []string{"unshare", "-Urm", "sh", "-c", "mount -o remount,bind,rw /usr || umount /run/self || umount -l /usr || echo held"}
		if r := b.run(t, with(b.plan(), func(p *Plan) { p.Nested = true }), remount...); r.stdout != "held\n" {
			t.Errorf("a mount was undone: %q %q", r.stdout, r.stderr)
		}
	})
}

// The program is found as execvp finds it, and what is not found is not a fault of the walls.
func TestProgramLookup(t *testing.T) {
	b := newBox(t, user{})
	for name, text := range map[string]string{"a/tool": "not for running", "b/tool": "echo by the shell $1\n", "b/script": "#!/bin/sh\necho script\n"} {
		path := filepath.Join(b.ws, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o755)
		if strings.HasPrefix(name, "a/") {
			mode = 0o644
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path, name, want string
		code             int
	}{
		{b.ws + "/a:" + b.ws + "/b", "tool", "by the shell -x\n", 0},
		{b.ws + "/a::/none:" + b.ws + "/b", "script", "script\n", 0},
		{b.ws + "/a", "tool", "", ExitNotExecutable},
		{"/none:/etc/passwd", "tool", "", ExitNotFound},
		{"/bin", b.ws + "/none", "", ExitNotFound},
		{"/bin", b.ws + "/a/tool", "", ExitNotExecutable},
		{"/bin", "./b/script", "script\n", 0},
	} {
		b.profile.Set = map[string]string{"PATH": c.path}
		r := b.run(t, b.plan(), c.name, "-x")
		if r.code != c.code || r.stdout != c.want || (c.code != 0) != strings.Contains(r.stderr, "cannot be started inside the sandbox") {
			t.Errorf("PATH=%s %s: code %d\n%s%s", c.path, c.name, r.code, r.stdout, r.stderr)
		}
	}
}

// What starting through this package costs, beside starting the program itself. Both go through a shell's exec.
func BenchmarkConfine(b *testing.B) {
	ws := user{}.place(b, "ws")
	p := Plan{
		Write: []string{ws, "/tmp", "/var/tmp", "/dev"}, Landlock: LandlockBest,
		Mounts: []Mount{{At: "/proc"}, {At: "/"}, {At: "/dev"}},
	}
	argv, err := Argv(self, p, []string{"/bin/true"})
	if err != nil {
		b.Fatal(err)
	}
	for name, argv := range map[string][]string{"bare": {"/bin/true"}, "confined": argv} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
