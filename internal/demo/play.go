package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"substrat.dev/substrat"
)

// show is one showing of the demo.
type show struct {
	o          Options
	exe        string
	home, repo string
	kills      int
	// acknowledged are the messages that a command said were sent.
	acknowledged []string
}

// play runs the story to its end.
func (s *show) play(ctx context.Context) error {
	if err := s.repository(ctx); err != nil {
		return err
	}
	if err := s.must(ctx, "daemon", "start"); err != nil {
		return err
	}
	if err := s.must(ctx, "agent", "create", "lead", "--dir", s.repo, "--role", "manager"); err != nil {
		return err
	}
	var sent substrat.Sent
	if err := s.quiet(ctx, &sent, "send", "lead", instruction()); err != nil {
		return err
	}
	s.acknowledged = append(s.acknowledged, sent.MessageID)
	s.say("$ substrat send lead \"The test of this repository fails. Have it mended and reviewed, then tell me.\"")
	for _, name := range []string{"coder", "reviewer"} {
		if err := s.until(ctx, name+" to be at work", func() (bool, error) { return s.working(ctx, name) }); err != nil {
			return err
		}
		s.say("  %s is at work, in a sandbox of its own", name)
		if s.o.NoCrash {
			continue
		}
		if err := s.crash(ctx); err != nil {
			return err
		}
	}
	if err := s.until(ctx, "the lead's report", func() (bool, error) { return s.reported(ctx) }); err != nil {
		return err
	}
	return s.until(ctx, "everybody to be done", func() (bool, error) { return s.settled(ctx) })
}

// repository makes the git repository with its failing test.
func (s *show) repository(ctx context.Context) error {
	if err := os.MkdirAll(s.repo, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.repo, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-qm", "Add arithmetic"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = s.repo
		if out, err := cmd.CombinedOutput(); err != nil {
			return substrat.Errorf(substrat.CodeNotInstalled, "cannot make a git repository: git %s: %v %s", args[0], err, out).WithHint("the demo needs git")
		}
	}
	s.say("A repository with a failing test: %s", s.repo)
	return nil
}

// crash kills the daemon the hard way and starts another.
func (s *show) crash(ctx context.Context) error {
	var status struct {
		PID int `json:"pid"`
	}
	if err := s.quiet(ctx, &status, "daemon", "status"); err != nil {
		return err
	}
	if status.PID <= 1 {
		return substrat.Errorf(substrat.CodeInternal, "the daemon does not say its pid")
	}
	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		return substrat.Errorf(substrat.CodeInternal, "cannot kill the daemon: %v", err)
	}
	s.kills++
	s.say("$ kill -9 %d                               # the daemon dies; the turn does not", status.PID)
	return s.must(ctx, "daemon", "start")
}

// agent is what the demo looks at in a listing.
type agent struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Turn    string `json:"turn"`
	Pending int    `json:"pending"`
}

func (s *show) agents(ctx context.Context) ([]agent, error) {
	var list []agent
	return list, s.quiet(ctx, &list, "agent", "ls")
}

// working reports whether an agent's turn has begun to print.
func (s *show) working(ctx context.Context, name string) (bool, error) {
	list, err := s.agents(ctx)
	for _, a := range list {
		if a.Name == name && a.State == string(substrat.Busy) && a.Turn != "" {
			st, err := os.Stat(filepath.Join(s.home, "turns", a.Turn, "run", "stdout"))
			return err == nil && st.Size() > 0, nil
		}
	}
	return false, err
}

func (s *show) reported(ctx context.Context) (bool, error) {
	var inbox []substrat.Message
	err := s.quiet(ctx, &inbox, "inbox")
	for _, m := range inbox {
		if m.From == "lead" {
			s.say("$ substrat inbox\n  from lead: %s", m.Text)
			return true, nil
		}
	}
	return false, err
}

func (s *show) settled(ctx context.Context) (bool, error) {
	list, err := s.agents(ctx)
	for _, a := range list {
		if a.State != string(substrat.Idle) || a.Pending > 0 {
			return false, err
		}
	}
	return err == nil, err
}

// until looks again and again: the demo sees the daemon from outside, through its commands.
func (s *show) until(ctx context.Context, what string, ok func() (bool, error)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := ok()
		if done {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return substrat.Errorf(substrat.CodeTimeout, "gave up waiting for %s (%v)", what, err)
		}
	}
}

// must runs a command and shows it with its first line of output.
func (s *show) must(ctx context.Context, args ...string) error {
	out, err := s.run(ctx, args...)
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	s.say("$ substrat %s\n  %s", strings.Join(args, " "), line)
	return err
}

// quiet runs a command for its JSON.
func (s *show) quiet(ctx context.Context, into any, args ...string) error {
	out, err := s.run(ctx, append(args, "--json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return substrat.Errorf(substrat.CodeInternal, "cannot read what substrat %s printed: %v", args[0], err)
	}
	return nil
}

func (s *show) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.exe, args...)
	cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+s.home)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.Bytes(), substrat.Errorf(substrat.CodeInternal, "substrat %s %s: %v: %s", args[0], args[1], err, strings.TrimSpace(errOut.String()))
	}
	return out.Bytes(), nil
}

// say tells a step of the story.
func (s *show) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.o.JSON {
		data, _ := json.Marshal(map[string]string{"type": "demo.step", "text": text})
		text = string(data)
	}
	fmt.Fprintln(s.o.Out, text)
}

// stop ends the daemon, also after a story that broke off.
func (s *show) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, _ = s.run(ctx, "daemon", "stop", "--cancel")
}
