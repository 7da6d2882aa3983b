package turn

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

func TestStartFailed(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/nonexistent/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		argv []string
		dir  string
		text string
	}{
		"missing":       {argv: []string{"/nonexistent/agent"}, text: "no such program"},
		"not in PATH":   {argv: []string{"substrat-nonexistent"}, text: "in PATH"},
		"interpreter":   {argv: []string{script}, text: "interpreter"},
		"no permission": {argv: []string{plain}, text: "may not be executed"},
		"too long":      {argv: []string{"/bin/true", strings.Repeat("x", 200_000)}, text: "128 KiB"},
		"directory":     {argv: []string{"/bin/true"}, dir: "/nonexistent", text: "working directory /nonexistent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, false)
			spec := r.spec("")
			spec.Argv, spec.Dir = tt.argv, tt.dir
			if exit, _ := r.run(spec); exit.Reason != StartFailed || !strings.Contains(exit.Err, tt.text) {
				t.Errorf("exit is %+v, want %q", exit, tt.text)
			}
		})
	}
	for name, argv := range map[string][]string{
		"agent missing": newRig(t, true).argv("/nonexistent/agent"),
		"mount missing": {newRig(t, true).argv()[0], "--die-with-parent", "--unshare-pid", "--ro-bind", "/nonexistent", "/x", "--", "true"},
	} {
		t.Run("sandbox: "+name, func(t *testing.T) {
			r := newRig(t, true)
			spec := r.spec("")
			spec.Argv = argv
			if exit, _ := r.run(spec); exit.Reason != StartFailed || !strings.Contains(exit.Err, "bwrap: ") || !strings.Contains(exit.Err, "/nonexistent") {
				t.Errorf("exit is %+v, want what bwrap said", exit)
			}
		})
	}
}

func TestSpecIsChecked(t *testing.T) {
	r := newRig(t, false)
	for name, change := range map[string]func(*Spec){
		"no id":        func(s *Spec) { s.ID = "" },
		"id":           func(s *Spec) { s.ID = "a/b" },
		"long id":      func(s *Spec) { s.ID = strings.Repeat("a", 129) },
		"no command":   func(s *Spec) { s.Argv = nil },
		"NUL":          func(s *Spec) { s.Argv = []string{"a\x00b"} },
		"NUL in env":   func(s *Spec) { s.Env = []string{"A=\x00"} },
		"env":          func(s *Spec) { s.Env = []string{"=x"} },
		"relative dir": func(s *Spec) { s.Dir = "x" },
		"limit":        func(s *Spec) { s.Limits.Wall = -1 },
		"bytes":        func(s *Spec) { s.Limits.OutputBytes = -1 },
	} {
		spec := r.spec("text")
		change(&spec)
		if _, err := Start(r.context(), self(t), r.dir, spec); substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if _, err := Start(r.context(), self(t), "relative", r.spec("text")); substrat.CodeOf(err) != substrat.CodeInvalid {
		t.Errorf("relative directory: %v", err)
	}
	if _, err := os.Stat(r.dir); err == nil {
		t.Error("a refused spec left a directory")
	}
}

func TestWhatTheProcessGets(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		// A daemon may have been started with descriptors that nobody marked close-on-exec.
		stray, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(stray)
		spec := r.spec("")
		spec.Argv = r.argv("/bin/ls", "/proc/self/fd")
		if _, out := r.run(spec); out != "0\n1\n2\n3\n" { // 3 is the directory that ls reads
			t.Errorf("descriptors: %q", out)
		}
	})
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("env")
		spec.Env = []string{"A=1", Marker + "=forged", "B=x y"}
		_, out := r.run(spec)
		lines := strings.Split(strings.TrimSuffix(strings.TrimPrefix(out, initLine), resultLine), "\n")
		lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" || strings.HasPrefix(s, "PWD=") })
		if want := []string{"A=1", "B=x y", Marker + "=" + r.id}; !slices.Equal(lines, want) {
			t.Errorf("environment: %q, want %q", lines, want)
		}
	})
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("pwd")
		if !r.sandboxed {
			spec.Dir = t.TempDir()
		}
		if _, out := r.run(spec); out != initLine+workDir(spec)+"\n"+resultLine {
			t.Errorf("working directory: %q", out)
		}
	})
}

// The prompt may be larger than any pipe, and the process may never read it.
func TestStdin(t *testing.T) {
	large := strings.Repeat("p", 3<<20)
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("echo")
		spec.Stdin = []byte("short\n" + large)
		if _, out := r.run(spec); !strings.Contains(out, "got 5 short\ngot 3145728 pppp") {
			t.Errorf("stdout is %q", out)
		}
	})
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("text")
		spec.Stdin = []byte(large)
		if exit, out := r.run(spec); exit.Code != 0 || out != initLine+resultLine {
			t.Errorf("unread stdin: exit is %+v, stdout %q", exit, out)
		}
	})
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("echo")
		spec.KeepStdin, spec.Stdin = true, []byte("first\n")
		turn := r.start(spec)
		if err := turn.Write(r.context(), []byte(large+"\n")); err != nil {
			t.Fatal(err)
		}
		if err := turn.CloseStdin(r.context()); err != nil {
			t.Fatal(err)
		}
		r.expect(turn, "got 5 first\ngot 3145728 pppp")
		if exit := r.wait(turn); exit.Code != 0 {
			t.Errorf("exit is %+v", exit)
		}
		if err := turn.Write(r.context(), []byte("late")); substrat.CodeOf(err) != substrat.CodeConflict {
			t.Errorf("a late write: %v, want conflict", err)
		}
	})
}

// A process that does not read its stdin blocks the write, until its context ends, and nothing else.
func TestWriteToADeafProcess(t *testing.T) {
	r := newRig(t, false)
	spec := r.spec("hang")
	spec.KeepStdin = true
	turn := r.start(spec)
	ctx, cancel := contextWithTimeout(t, 100*time.Millisecond)
	defer cancel()
	if err := turn.Write(ctx, make([]byte, 2<<20)); err == nil {
		t.Error("a write that nobody reads succeeded")
	}
	if err := turn.Cancel(r.context()); err != nil {
		t.Fatal(err)
	}
	if exit := r.wait(turn); exit.Reason != Cancelled {
		t.Errorf("exit is %+v", exit)
	}
}

// A socket's address holds 108 bytes; a turn's directory may be as long as any path.
func TestLongPath(t *testing.T) {
	r := newRig(t, false)
	r.dir = filepath.Join(r.dir, strings.Repeat("long/", 60), "turn")
	spec := r.spec("echo")
	spec.KeepStdin = true
	r.start(spec)
	turn, err := Attach(r.context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Close()
	if err := turn.CloseStdin(r.context()); err != nil {
		t.Fatal(err)
	}
	if exit := r.wait(turn); exit.Code != 0 {
		t.Errorf("exit is %+v", exit)
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		turn, err := Start(ctx, self(t), r.dir, r.spec("hang"))
		if err == nil {
			// It was quicker than the context: then it is a turn like any other.
			if err := turn.Cancel(r.context()); err != nil {
				t.Error(err)
			}
			r.wait(turn)
			if err := turn.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		r.eventuallyNobody()
	})
}

func TestLauncher(t *testing.T) {
	l := NewLauncher(self(t), 2)
	for range 5 {
		eachWay(t, func(t *testing.T, r rig) {
			turn, err := l.Start(r.context(), r.dir, r.spec("text"))
			if err != nil {
				t.Fatal(err)
			}
			if exit := r.wait(turn); exit.Reason != Exited || exit.Code != 0 {
				t.Errorf("exit is %+v", exit)
			}
			if err := turn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n := zombies(t); n > 0 {
		t.Errorf("%d zombies", n)
	}
}

// A spare that died while it waited is not given a turn.
func TestDeadSpare(t *testing.T) {
	l := &Launcher{exe: self(t), spares: make(chan idleShim, 1), refill: make(chan struct{}, 1), stop: func() {}}
	defer l.Close()
	spare, err := spawn(self(t), spareLabel)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(spare.pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	rig{t: t}.gone(identify(spare.pid))
	l.spares <- spare
	r := newRig(t, false)
	turn, err := l.Start(r.context(), r.dir, r.spec("text"))
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Close()
	if exit := r.wait(turn); exit.Reason != Exited {
		t.Errorf("exit is %+v", exit)
	}
}
