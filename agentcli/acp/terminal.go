package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

// terminals are the commands that an agent has run by us. They have our rights: they are offered only to an agent that
// runs bare and has them too.
type terminals struct {
	mu   sync.Mutex
	open map[string]*command
	made int
}

// command is one of them, in a group of its own.
type command struct {
	cmd    *exec.Cmd
	output screen
	ended  chan struct{}
}

// terminalsMost is how many a turn may have open, outputMost how much is kept of what each printed.
const (
	terminalsMost = 32
	outputMost    = 1 << 20
)

type terminalParams struct {
	ID      string   `json:"terminalId"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []pair   `json:"env"`
	Cwd     string   `json:"cwd"`
	Limit   *int     `json:"outputByteLimit"`
}

func (t *turn) terminal(m message) (any, *rpcError) {
	var p terminalParams
	if json.Unmarshal(m.Params, &p) != nil {
		return nil, &rpcError{Code: codeInvalidParams, Message: "parameters that make no sense"}
	}
	if m.Method == "terminal/create" {
		return t.createTerminal(p)
	}
	t.terminals.mu.Lock()
	c := t.terminals.open[p.ID]
	t.terminals.mu.Unlock()
	if c == nil {
		return nil, &rpcError{Code: codeNotFound, Message: "no such terminal: " + clip(p.ID)}
	}
	switch m.Method {
	case "terminal/output":
		text, cut := c.output.text()
		out := map[string]any{"output": text, "truncated": cut}
		if c.over() {
			out["exitStatus"] = c.status()
		}
		return out, nil
	case "terminal/wait_for_exit":
		// It waits beside the conversation; the request is answered from there.
		t.askers.Go(func() {
			select {
			case <-c.ended:
				_ = t.reply(context.WithoutCancel(t.asking), m.ID, c.status(), nil)
			case <-t.asking.Done():
				_ = t.reply(context.WithoutCancel(t.asking), m.ID, nil, &rpcError{Code: codeInternal, Message: "the turn is over"})
			}
		})
		return nil, errLater
	case "terminal/kill":
		c.kill()
		return struct{}{}, nil
	case "terminal/release":
		c.kill()
		t.terminals.mu.Lock()
		delete(t.terminals.open, p.ID)
		t.terminals.mu.Unlock()
		<-c.ended
		return struct{}{}, nil
	}
	return nil, &rpcError{Code: codeMethodNotFound, Message: "method not found: " + clip(m.Method)}
}

// errLater says that a request is answered later, by somebody else.
var errLater = &rpcError{}

func (t *turn) createTerminal(p terminalParams) (any, *rpcError) {
	dir := t.req.Dir
	if p.Cwd != "" {
		dir = p.Cwd
	}
	if rel, err := filepath.Rel(t.req.Dir, dir); err != nil || !filepath.IsLocal(rel) && rel != "." {
		return nil, &rpcError{Code: codeInvalidParams, Message: "the directory is not in the workspace: " + clip(dir)}
	}
	limit := outputMost
	if p.Limit != nil {
		limit = min(max(*p.Limit, 0), outputMost)
	}
	t.terminals.mu.Lock()
	defer t.terminals.mu.Unlock()
	if len(t.terminals.open) >= terminalsMost {
		return nil, &rpcError{Code: codeInternal, Message: fmt.Sprintf("%d terminals are open, which is the limit", terminalsMost)}
	}
	// Agents give a command with its arguments, or a line for a shell.
	cmd := exec.Command(p.Command, p.Args...)
	if len(p.Args) == 0 && strings.ContainsAny(p.Command, " \t|&;<>$\"'`") {
		cmd = exec.Command("/bin/sh", "-c", p.Command)
	}
	c := &command{cmd: cmd, output: screen{most: limit}, ended: make(chan struct{})}
	cmd.Dir, cmd.Env = dir, os.Environ()
	for _, v := range p.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &c.output, &c.output, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, &rpcError{Code: codeInternal, Message: clip(err.Error())}
	}
	t.terminals.made++
	id := fmt.Sprintf("terminal-%d", t.terminals.made)
	if t.terminals.open == nil {
		t.terminals.open = map[string]*command{}
	}
	t.terminals.open[id] = c
	go func() { defer close(c.ended); _ = cmd.Wait() }() // ended by endTerminals, which waits for it
	return map[string]string{"terminalId": id}, nil
}

// endTerminals kills what is left when the turn ends, and waits for it.
func (t *turn) endTerminals() {
	t.terminals.mu.Lock()
	defer t.terminals.mu.Unlock()
	for _, c := range t.terminals.open {
		c.kill()
		<-c.ended
	}
	t.terminals.open = nil
}

func (c *command) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

func (c *command) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

func (c *command) status() map[string]any {
	ws, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return map[string]any{"exitCode": nil, "signal": ws.Signal().String()}
	}
	return map[string]any{"exitCode": c.cmd.ProcessState.ExitCode(), "signal": nil}
}

// screen keeps the end of what a command prints.
type screen struct {
	mu   sync.Mutex
	most int
	data []byte
	cut  bool
}

// Write implements io.Writer.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, b...)
	if over := len(s.data) - s.most; over > 0 {
		s.cut = true
		s.data = append(s.data[:0], s.data[over:]...)
	}
	return len(b), nil
}

// text gives it from the first whole character on.
func (s *screen) text() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := s.data
	for s.cut && len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return strings.ToValidUTF8(string(data), "\ufffd"), s.cut
}
