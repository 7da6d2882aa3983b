package turnjson_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/turnjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a CLI that is a shell script, run as one process with real pipes.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cli")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// process is the host's side of a running script.
type process struct {
	*agentcli.LineReader
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
}

func (p *process) WriteFrame(_ context.Context, line []byte) error {
	if p.stdin == nil {
		return agentcli.ErrNoStdin
	}
	if _, err := p.stdin.Write(append(line[:len(line):len(line)], '\n')); err != nil {
		return substrat.Errorf(substrat.CodeConflict, "it no longer reads: %v", err)
	}
	return nil
}

func (p *process) CloseInput() error {
	in := p.stdin
	p.stdin = nil
	return in.Close()
}

// run is one turn on a real process, as a host does it, and what came of it.
type run struct {
	events []agentcli.Event
	result agentcli.Result
	class  substrat.FailureClass
	detail string
	cmd    agentcli.Command
}

func play(t *testing.T, p *turnjson.Provider, req agentcli.Request, interrupt func(agentcli.Event) bool) run {
	t.Helper()
	cmd, err := p.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	proc := &process{cmd: exec.Command(cmd.Argv[0], cmd.Argv[1:]...)}
	proc.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	proc.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range cmd.Env {
		proc.cmd.Env = append(proc.cmd.Env, k+"="+v)
	}
	proc.cmd.Stderr = &proc.stderr
	out, err := proc.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	proc.LineReader = agentcli.NewLineReader(out, 1<<20)
	in, err := proc.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(cmd.Stdin); err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	if cmd.KeepStdin {
		proc.stdin = in
	} else {
		in.Close()
	}
	r := run{cmd: cmd}
	r.result, err = p.Converse(t.Context(), proc, req, func(e agentcli.Event) error {
		e.Raw = bytes.Clone(e.Raw)
		r.events = append(r.events, e)
		if interrupt != nil && interrupt(e) {
			return p.Interrupt(t.Context(), proc, req)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	io.Copy(io.Discard, out)
	waited := proc.cmd.Wait()
	if !r.result.Terminal {
		exit := agentcli.Exit{Code: proc.cmd.ProcessState.ExitCode(), Stderr: proc.stderr.Bytes()}
		if ws := proc.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
			exit.Signal = ws.Signal().String()
		}
		r.class, r.detail = p.Diagnose(req, r.result, exit)
	}
	_ = waited
	return r
}

// feed is a CLI that prints what it was made with.
type feed struct {
	*agentcli.LineReader
	mu    sync.Mutex
	wrote []string
}

func (f *feed) WriteFrame(_ context.Context, line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrote = append(f.wrote, string(line))
	return nil
}

func printing(lines ...string) *feed {
	return &feed{LineReader: agentcli.NewLineReader(strings.NewReader(strings.Join(lines, "\n")+"\n"), 1<<16)}
}

// tools are a set whose only tool, exec, answers with the command in capitals.
type tools struct {
	mu    sync.Mutex
	calls []string
	wait  chan struct{} // a call waits for it, or for its context
	began chan struct{}
}

func (*tools) Specs() []agentcli.ToolSpec {
	return []agentcli.ToolSpec{{Name: "exec", Description: "runs", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "web_fetch"}}
}

func (s *tools) Call(ctx context.Context, c agentcli.Call) (agentcli.Call, error) {
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf("%s %s %s", c.ID, c.Tool, c.Args))
	s.mu.Unlock()
	if s.began != nil {
		s.began <- struct{}{}
	}
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return c, ctx.Err()
		}
	}
	var args struct{ Command string }
	_ = json.Unmarshal(c.Args, &args)
	if args.Command == "bad" {
		c.Error = substrat.Errorf(substrat.CodeInvalid, "it does not fit")
		return c, nil
	}
	c.Result, _ = json.Marshal(strings.ToUpper(args.Command))
	return c, nil
}

// told writes events in short.
func told(events []agentcli.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Type {
		case agentcli.EventText:
			fmt.Fprintf(&b, "%q ", e.Text)
		case agentcli.EventTextEnd:
			b.WriteString("/ ")
		case agentcli.EventThinking:
			fmt.Fprintf(&b, "think(%s) ", e.Text)
		case agentcli.EventThinkEnd:
			b.WriteString("think/ ")
		case agentcli.EventToolStart:
			fmt.Fprintf(&b, "call(%s %s %s) ", e.Tool.ID, e.Tool.Name, e.Tool.Input)
		case agentcli.EventToolEnd:
			fmt.Fprintf(&b, "end(%s %s %s%s) ", e.Tool.ID, e.Tool.Status, e.Tool.Output, e.Tool.Error)
		case agentcli.EventUsage:
			fmt.Fprintf(&b, "usage(%d %d) ", e.Usage.InputTokens, e.Usage.OutputTokens)
		case agentcli.EventResult:
			fmt.Fprintf(&b, "%s %s", e.Result.Outcome, e.Result.Class)
		case agentcli.EventSession:
			fmt.Fprintf(&b, "session(%s) ", e.Session)
		default:
			fmt.Fprintf(&b, "%s ", e.Type)
		}
	}
	return strings.TrimSpace(b.String())
}

// decode runs frames through a provider and gives what it told.
func decode(t *testing.T, p *turnjson.Provider, req agentcli.Request, conn agentcli.Conn) (string, agentcli.Result) {
	t.Helper()
	var events []agentcli.Event
	var texts strings.Builder
	result, err := p.Converse(t.Context(), conn, req, func(e agentcli.Event) error {
		events = append(events, e)
		if e.Type == agentcli.EventText {
			texts.WriteString(e.Text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if texts.String() != result.Text {
		t.Errorf("the pieces make %q, the result says %q", texts.String(), result.Text)
	}
	return told(events), result
}
