package turn

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The cases are named by the fault table: F10 to F18, F22 to F24. Each ends in wait or run, which check that nobody of
// the turn lives.

func TestF10AgentKilled(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		turn := r.start(r.spec("hang"))
		r.expect(turn, initLine)
		if !signalProcess(r.agent(), unix.SIGKILL) {
			t.Fatal("there was no agent")
		}
		if exit := r.wait(turn); exit.Reason != Exited || exit.Signal != "SIGKILL" || exit.Code != -1 {
			t.Errorf("exit is %+v, want SIGKILL", exit)
		}
	})
}

// agent finds the process whose command line is the agent's.
func (r rig) agent() process {
	r.t.Helper()
	for _, pid := range r.living() {
		data, _ := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline"))
		if strings.HasPrefix(string(data), self(r.t)+"\x00agent\x00") {
			return identify(pid)
		}
	}
	r.t.Fatal("there is no agent")
	return process{}
}

func (r rig) status() (st status) {
	r.t.Helper()
	if err := readJSON(r.dir, statusName, &st); err != nil {
		r.t.Fatal(err)
	}
	return st
}

func TestF11SandboxKilled(t *testing.T) {
	for name, pick := range map[string]func(status) process{
		"outer": func(st status) process { return st.Process },
		"init":  func(st status) process { return st.Init },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, true)
			turn := r.start(r.spec("forkhang"))
			r.expect(turn, "ready\n")
			if !signalProcess(pick(r.status()), unix.SIGKILL) {
				t.Fatal("there was nobody to kill")
			}
			if exit := r.wait(turn); exit.Reason != Exited || exit.Signal != "SIGKILL" {
				t.Errorf("exit is %+v, want SIGKILL", exit)
			}
		})
	}
}

// F11 and F24: the shim's death takes the tree along. In a sandbox at once; bare, the orphans fall to Reap.
func TestF11ShimKilled(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		turn := r.start(r.spec("forkhang"))
		r.expect(turn, "ready\n")
		agent := r.agent()
		all := len(r.living())
		if all < 4 {
			t.Fatalf("%d processes live, want the agent and three orphans at least", all)
		}
		if !signalProcess(r.status().Shim, unix.SIGKILL) {
			t.Fatal("there was no shim")
		}
		exit, err := turn.Wait(r.context())
		if err != nil || exit.Reason != ShimLost || exit.StartedAt.IsZero() || exit.StdoutBytes == 0 {
			t.Errorf("exit is %+v, %v, want shim_lost", exit, err)
		}
		if r.sandboxed {
			r.gone(agent)
			r.eventuallyNobody()
		} else {
			r.gone(agent)
			if n := len(r.living()); n < 3 {
				t.Errorf("%d processes live, so that Reap has nothing to show", n)
			}
		}
		again, err := Attach(r.context(), r.dir)
		if err != nil {
			t.Fatal(err)
		}
		if exit, err := again.Wait(r.context()); err != nil || exit.Reason != ShimLost {
			t.Errorf("attached: exit is %+v, %v, want shim_lost", exit, err)
		}
		for range 2 {
			if err := Reap(r.context(), r.dir); err != nil {
				t.Errorf("Reap: %v", err)
			}
			r.nobodyLives()
		}
		out, err := io.ReadAll(again.NewReader(r.context()))
		if err != nil || !strings.HasPrefix(string(out), initLine) {
			t.Errorf("what was printed before is lost: %q, %v", out, err)
		}
		if err := Remove(r.dir); err != nil {
			t.Error(err)
		}
	})
}

// gone waits for exactly this process to end.
func (r rig) gone(p process) {
	r.t.Helper()
	fd, err := openProcess(p)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000); n != 1 {
		r.t.Fatalf("process %d lives: %v", p.PID, err)
	}
}

func (r rig) eventuallyNobody() {
	r.t.Helper()
	for _, pid := range r.living() {
		r.gone(identify(pid))
	}
	r.nobodyLives()
}

func TestF12Cancel(t *testing.T) {
	for mode, want := range map[string]struct {
		out    string
		code   int
		signal string
	}{
		"interruptible": {out: "interrupted\n", code: 3},
		"terminable":    {out: "terminated\n", code: 4},
		"stubborn":      {code: -1, signal: "SIGKILL"},
		"forkhang":      {code: -1, signal: "SIGINT"},
	} {
		t.Run(mode, func(t *testing.T) {
			eachWay(t, func(t *testing.T, r rig) {
				turn := r.start(r.spec(mode))
				r.expect(turn, "ready\n")
				if err := turn.Cancel(r.context()); err != nil {
					t.Fatal(err)
				}
				exit := r.wait(turn)
				if mode == "forkhang" && exit.Code == 2 {
					exit.Code, exit.Signal = -1, "SIGINT" // the Go runtime exits with 2 on a SIGINT to pid 2 of a namespace
				}
				if exit.Reason != Cancelled || exit.Code != want.code || exit.Signal != want.signal {
					t.Errorf("exit is %+v, want %+v", exit, want)
				}
				out, err := io.ReadAll(turn.NewReader(r.context()))
				if err != nil || !strings.HasSuffix(string(out), want.out) {
					t.Errorf("stdout is %q, %v", out, err)
				}
			})
		})
	}
}

func TestF12ForkTreeAndClosedStdio(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		exit, out := r.run(r.spec("forktree"))
		if exit.Reason != Exited || exit.Code != 0 || !strings.HasSuffix(out, resultLine) {
			t.Errorf("exit is %+v, stdout %q", exit, out)
		}
	})
	eachWay(t, func(t *testing.T, r rig) {
		if exit, _ := r.run(r.spec("closeall:50")); exit.Reason != Exited || exit.Code != 5 {
			t.Errorf("exit is %+v, want code 5 although stdout ended before", exit)
		}
	})
}

// A cancel before the sandbox is up finds nobody to signal and must not wait for the graces.
func TestCancelAtOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("stubborn")
		spec.Limits.InterruptGrace, spec.Limits.TermGrace = 100*time.Millisecond, 100*time.Millisecond
		turn := r.start(spec)
		if err := turn.Cancel(r.context()); err != nil {
			t.Fatal(err)
		}
		if exit := r.wait(turn); exit.Reason != Cancelled {
			t.Errorf("exit is %+v, want cancelled", exit)
		}
	})
}

func TestF13ResultThenLinger(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		turn := r.start(r.spec("linger"))
		r.expect(turn, resultLine)
		if err := turn.End(r.context()); err != nil {
			t.Fatal(err)
		}
		if exit := r.wait(turn); exit.Reason != Ended {
			t.Errorf("exit is %+v, want ended", exit)
		}
		if err := turn.End(r.context()); err != nil {
			t.Errorf("End after the end: %v", err)
		}
	})
}

// A process that exits within its grace has exited by itself: that stdin was closed is enough for a server.
func TestEndClosesStdin(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("echo")
		spec.KeepStdin, spec.Limits.ResultGrace = true, 20*time.Second
		turn := r.start(spec)
		r.expect(turn, initLine)
		if err := turn.End(r.context()); err != nil {
			t.Fatal(err)
		}
		if exit := r.wait(turn); exit.Reason != Exited || exit.Code != 0 {
			t.Errorf("exit is %+v, want a clean one", exit)
		}
	})
}

func TestF14GrandchildKeepsStdout(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		exit, out := r.run(r.spec("keepout"))
		if exit.Reason != Exited || exit.Code != 0 || !strings.Contains(out, resultLine) {
			t.Errorf("exit is %+v, stdout %q", exit, out)
		}
		if took := exit.EndedAt.Sub(exit.StartedAt); took > 10*time.Second {
			t.Errorf("the turn took %v, want exit and drain grace", took)
		}
	})
}

func TestF16Limits(t *testing.T) {
	for name, limit := range map[Reason]func(*Limits){
		Wall:    func(l *Limits) { l.Wall = 300 * time.Millisecond },
		Silence: func(l *Limits) { l.Silence = 300 * time.Millisecond },
	} {
		t.Run(string(name), func(t *testing.T) {
			eachWay(t, func(t *testing.T, r rig) {
				spec := r.spec("hang")
				limit(&spec.Limits)
				exit, out := r.run(spec)
				if exit.Reason != name || out != initLine {
					t.Errorf("exit is %+v, stdout %q", exit, out)
				}
			})
		})
	}
}

func TestF17StderrFlood(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("stderr:20")
		spec.Limits.StderrBytes = 1 << 20
		turn := r.start(spec)
		exit := r.wait(turn)
		tail := string(turn.StderrTail())
		if exit.Code != 0 || exit.StderrBytes > 1<<20+2*stderrTail+100 || len(tail) != stderrTail || !strings.HasSuffix(tail, "the last words") {
			t.Errorf("exit is %+v, tail of %d bytes ends with %q", exit, len(tail), tail[max(0, len(tail)-20):])
		}
	})
}

func TestF18FloodAndHugeLine(t *testing.T) {
	flood, bigline := "flood:200", "bigline:100"
	if os.Getenv("SUBSTRAT_LONG_TESTS") != "" {
		flood, bigline = "flood:2000", "bigline:512"
	}
	for _, mode := range []string{flood, bigline} {
		t.Run(mode, func(t *testing.T) {
			eachWay(t, func(t *testing.T, r rig) {
				spec := r.spec(mode)
				spec.Limits.OutputBytes = 10 << 20
				turn := r.start(spec)
				peak := r.watchMemory(turn)
				exit := r.wait(turn)
				if limit := memoryLimit; <-peak > limit {
					t.Errorf("the shim's memory passed %d kB", limit)
				}
				if exit.StdoutBytes > 10<<20+quietFlushes*outputTail+3*outputTail {
					t.Errorf("the file has %d bytes", exit.StdoutBytes)
				}
				out, err := io.ReadAll(turn.NewReader(r.context()))
				if err != nil {
					t.Fatal(err)
				}
				if int64(len(out)) != exit.StdoutBytes || !strings.HasSuffix(string(out), "\n"+resultLine) || exit.DroppedBytes == 0 {
					t.Errorf("exit is %+v, stdout ends with %q", exit, out[len(out)-100:])
				}
				if !strings.Contains(string(out), "\n{\"type\":\"substrat.overflow\",\"dropped_bytes\":") {
					t.Error("no overflow record on a line of its own")
				}
			})
		})
	}
}

// watchMemory gives the shim's peak memory in kB once it is gone.
func (r rig) watchMemory(turn *Turn) <-chan int {
	peak := make(chan int, 1)
	pid := itoa(turn.pid)
	go func() {
		most := 0
		for ctx := r.t.Context(); turn.Alive(); _ = pause(ctx, 5*time.Millisecond) {
			most = max(most, peakMemory(pid))
		}
		peak <- most
	}()
	return peak
}

// The record that ends a turn must be seen while the process lives on, beyond the cap too.
func TestResultBeyondTheCap(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		spec := r.spec("linger")
		spec.Limits.OutputBytes = 5
		turn := r.start(spec)
		r.expect(turn, resultLine)
		if err := turn.End(r.context()); err != nil {
			t.Fatal(err)
		}
		if exit := r.wait(turn); exit.Reason != Ended || exit.DroppedBytes != 0 {
			t.Errorf("exit is %+v, want ended with nothing dropped", exit)
		}
	})
}

// F22: a record whose pid belongs to somebody else by now harms nobody.
func TestF22PidReuse(t *testing.T) {
	r := newRig(t, false)
	turn := r.start(r.spec("hang"))
	r.expect(turn, initLine)
	st := r.status()
	if !signalProcess(st.Shim, unix.SIGKILL) {
		t.Fatal("there was no shim")
	}
	if _, err := turn.Wait(r.context()); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{Env: []string{Marker + "=" + r.id + "0", "X=" + Marker + "=" + r.id}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = foreign.Kill()
		_, _ = foreign.Wait()
	}()
	stale, other := st, st
	stale.Process.PID, stale.Process.Start, stale.Init = foreign.Pid, st.Process.Start-1000, process{PID: foreign.Pid, Start: 1}
	other.Boot, other.Process, other.Init = "another", identify(foreign.Pid), identify(foreign.Pid)
	for name, st := range map[string]status{"another start": stale, "another boot": other} {
		if err := writeJSON(r.dir, statusName, st); err != nil {
			t.Fatal(err)
		}
		if err := Reap(r.context(), r.dir); err != nil {
			t.Fatal(err)
		}
		if now, err := readStat(foreign.Pid); err != nil || now.state == 'Z' {
			t.Fatalf("%s: the foreign process was killed", name)
		}
	}
}

func TestReapLeavesALiveTurn(t *testing.T) {
	r := newRig(t, false)
	turn := r.start(r.spec("hang"))
	if err := Reap(r.context(), r.dir); err == nil || !turn.Alive() {
		t.Errorf("Reap of a live turn: %v", err)
	}
	if err := Remove(r.dir); err == nil {
		t.Error("Remove of a live turn")
	}
}

// F23: neither the shim nor the starter leaves zombies.
func TestF23NoZombies(t *testing.T) {
	before := zombies(t)
	for range 5 {
		eachWay(t, func(t *testing.T, r rig) {
			turn := r.start(r.spec("forktree"))
			r.wait(turn)
			if err := turn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if after := zombies(t); after > before {
		t.Errorf("%d zombies, %d before", after, before)
	}
}

// zombies counts those of this process.
func zombies(t *testing.T) (n int) {
	table, err := processTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table {
		if p.state == 'Z' && p.parent == os.Getpid() {
			n++
		}
	}
	return n
}

func TestF24ThreadChurn(t *testing.T) {
	eachWay(t, func(t *testing.T, r rig) {
		if err := os.MkdirAll(r.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dir, "churn"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		turn := r.start(r.spec("hang"))
		r.expect(turn, initLine)
		for r.file("churned") == "" && turn.Alive() {
			if _, err := os.Stat(filepath.Join(r.dir, "churned")); err == nil {
				break
			}
			if err := pause(r.context(), time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		if !turn.Alive() {
			exit, err := turn.Wait(context.Background())
			t.Fatalf("the turn died with a thread: %+v, %v", exit, err)
		}
		if err := turn.Cancel(r.context()); err != nil {
			t.Fatal(err)
		}
		if exit := r.wait(turn); exit.Reason != Cancelled {
			t.Errorf("exit is %+v", exit)
		}
	})
}
