package agentcli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shell is a provider whose CLI is a shell script: each line it prints is text, "done TEXT" ends the turn.
type shell struct {
	script string
	files  []agentcli.File
	stdin  bool
}

func (s shell) Info() agentcli.Info { return agentcli.Info{Name: "shell"} }

func (s shell) Command(r agentcli.Request) (agentcli.Command, error) {
	return agentcli.Command{Argv: []string{"/bin/sh", "-c", s.script}, Stdin: []byte(r.Prompt), KeepStdin: s.stdin, Files: s.files}, nil
}

func (s shell) Converse(ctx context.Context, conn agentcli.Conn, _ agentcli.Request, emit func(agentcli.Event) error) (agentcli.Result, error) {
	var r agentcli.Result
	for {
		f, err := conn.ReadFrame(ctx)
		if errors.Is(err, agentcli.EOF) {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		line := strings.TrimPrefix(string(f.Data), "{")
		if text, ok := strings.CutPrefix(line, "done "); ok {
			r.Terminal, r.Outcome, r.Text, r.Session = true, substrat.Completed, text, "s1"
			return r, nil
		}
		if err := emit(agentcli.Event{Type: agentcli.EventText, Text: line, Offset: f.End}); err != nil {
			return r, err
		}
		if err := emit(agentcli.Event{Type: agentcli.EventTextEnd, Offset: f.End}); err != nil {
			return r, err
		}
	}
}

func (s shell) Diagnose(_ agentcli.Request, _ agentcli.Result, x agentcli.Exit) (substrat.FailureClass, string) {
	return substrat.ClassCrashed, strings.TrimSpace(string(x.Stderr)) + "|" + strings.TrimSpace(string(x.Stdout)) + "|" + x.Signal
}

func options(t *testing.T) agentcli.Options {
	t.Helper()
	return agentcli.Options{Dir: t.TempDir(), Prompt: "hello", Limits: agentcli.Limits{Grace: 300 * time.Millisecond}}
}

// texts runs a prompt and gives its texts and its result.
func texts(t *testing.T, ctx context.Context, s shell, o agentcli.Options) ([]string, agentcli.Result) {
	t.Helper()
	var out []string
	r, err := agentcli.Do(ctx, s, o, func(e agentcli.Event) error {
		if e.Type == agentcli.EventText {
			out = append(out, e.Text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, r
}

func TestRun(t *testing.T) {
	out, r := texts(t, t.Context(), shell{script: `read x; echo "{$x"; echo "{two"; echo "{done all"; exit 3`}, options(t))
	if strings.Join(out, ",") != "hello,two" || r.Outcome != substrat.Completed || r.Text != "all" || r.Session != "s1" {
		t.Errorf("%v %+v", out, r)
	}
}

func TestRunEndsWithoutAWord(t *testing.T) {
	_, r := texts(t, t.Context(), shell{script: `echo noise; echo why >&2; kill -TERM $$`}, options(t))
	if r.Outcome != substrat.FailedTurn || r.Class != substrat.ClassCrashed || r.Detail != "why|noise|SIGTERM" {
		t.Errorf("%+v", r)
	}
}

func TestRunCannotStart(t *testing.T) {
	p := missing{}
	_, err := agentcli.Do(t.Context(), p, options(t), nil)
	if substrat.CodeOf(err) != substrat.CodeNotInstalled {
		t.Errorf("%v", err)
	}
	o := options(t)
	o.Dir = filepath.Join(o.Dir, "none")
	if _, err := agentcli.Do(t.Context(), shell{}, o, nil); substrat.CodeOf(err) != substrat.CodeInvalid {
		t.Errorf("%v", err)
	}
}

type missing struct{ shell }

func (missing) Command(agentcli.Request) (agentcli.Command, error) {
	return agentcli.Command{Argv: []string{"no-such-program-anywhere"}}, nil
}

// gone waits until no process has the mark in its arguments.
func gone(t *testing.T, mark string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		found := ""
		paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range paths {
			if data, _ := os.ReadFile(p); strings.Contains(string(data), mark) {
				found = p
			}
		}
		if found == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s lives", found)
		}
	}
}

// TestRunLeavesNobody: whatever the program starts and however the run ends, nothing is left when it has.
func TestRunLeavesNobody(t *testing.T) {
	escape := `trap '' TERM INT; (setsid sleep 4321.7 >/dev/null 2>&1 &) ; sleep 4321.7 & (setsid sleep 4321.7 &); echo "{up"; `
	for name, c := range map[string]struct {
		script string
		limits agentcli.Limits
		want   substrat.Outcome
		cancel bool
	}{
		"done and lingers": {escape + `echo "{done x"; sleep 4321.7; sleep 4321.7`, agentcli.Limits{}, substrat.Completed, false},
		"exits":            {escape + `exit 0`, agentcli.Limits{}, substrat.FailedTurn, false},
		"silent":           {escape + `while :; do sleep 4321.7; done`, agentcli.Limits{Silence: 200 * time.Millisecond}, substrat.TimedOut, false},
		"slow":             {escape + `while :; do echo "{."; sleep 0.01; done`, agentcli.Limits{Wall: 200 * time.Millisecond}, substrat.TimedOut, false},
		"floods":           {escape + `while :; do echo "{.........."; done`, agentcli.Limits{Output: 10_000}, substrat.FailedTurn, false},
		"cancelled":        {escape + `while :; do sleep 4321.7; done`, agentcli.Limits{}, substrat.Cancelled, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Limits, o.Limits.Grace = c.limits, 200*time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := agentcli.Do(ctx, shell{script: c.script}, o, func(e agentcli.Event) error {
				if c.cancel && e.Type == agentcli.EventText {
					cancel()
				}
				return nil
			})
			if err != nil || r.Outcome != c.want {
				t.Errorf("%+v %v", r, err)
			}
			gone(t, "4321.7")
		})
	}
}

// TestRunIsLeft: who stops reading gets no more, and leaves nobody behind.
func TestRunIsLeft(t *testing.T) {
	for e, err := range agentcli.Run(t.Context(), shell{script: `trap '' TERM; while :; do echo "{x"; sleep 0.0122221; done`}, options(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == agentcli.EventText {
			break
		}
	}
	gone(t, "0.0122221")
}

// TestRunSlowReader: what a program printed before it ended is given whole, however slow the reader.
func TestRunSlowReader(t *testing.T) {
	n := 0
	r, err := agentcli.Do(t.Context(), shell{script: `i=0; while [ $i -lt 3000 ]; do echo "{line $i"; i=$((i+1)); done; echo "{done end"`}, options(t), func(e agentcli.Event) error {
		if e.Type == agentcli.EventText {
			n++
			if n%1000 == 0 {
				time.Sleep(700 * time.Millisecond)
			}
		}
		return nil
	})
	if err != nil || n != 3000 || r.Text != "end" {
		t.Errorf("%d %+v %v", n, r, err)
	}
}

// TestRunHome: files that the provider needs go into a private home, never into the user's.
func TestRunHome(t *testing.T) {
	own, cache := t.TempDir(), t.TempDir()
	t.Setenv("HOME", own)
	t.Setenv("XDG_CACHE_HOME", cache)
	o := options(t)
	_, r := texts(t, t.Context(), shell{script: `echo "{done $HOME $SECRET $EXTRA"`}, o)
	if r.Text != own+"  " {
		t.Errorf("without files: %q", r.Text)
	}
	t.Setenv("SECRET", "s")
	o.Env = map[string]string{"EXTRA": "e"}
	_, r = texts(t, t.Context(), shell{script: `echo "{done $(cat $HOME/.x/conf) $SECRET $EXTRA"`, files: []agentcli.File{{Root: agentcli.InHome, Path: ".x/conf", Data: []byte("c")}}}, o)
	if r.Text != "c  e" {
		t.Errorf("with files: %q", r.Text)
	}
	if entries, _ := os.ReadDir(own); len(entries) != 0 {
		t.Errorf("the user's home was written to: %v", entries)
	}
	o.Environ = os.Environ()
	if _, r = texts(t, t.Context(), shell{script: `echo "{done $SECRET"`}, o); r.Text != "s" {
		t.Errorf("with the whole environment: %q", r.Text)
	}
}
