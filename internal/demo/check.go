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

	"substrat.dev/substrat"
)

// check looks at what is left: the repository, the record, and the processes.
func (s *show) check(ctx context.Context) Result {
	r := Result{Type: "demo.result", DaemonKills: s.kills}
	problem := func(format string, args ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, args...)) }
	if err := s.checkRepository(ctx); err != nil {
		problem("%v", err)
	}
	if !s.o.NoCrash && s.kills != 2 {
		problem("the daemon was killed %d times, not twice", s.kills)
	}
	var messages []substrat.Message
	if err := s.quiet(ctx, &messages, "message", "ls"); err != nil {
		problem("%v", err)
	}
	r.Messages = len(messages)
	byID := map[string]substrat.Message{}
	for _, m := range messages {
		byID[m.ID] = m
		if !m.State.Final() || m.State == substrat.Dead || m.State == substrat.Expired {
			r.Lost++
			problem("message %s from %s to %s is %s", m.ID, m.From, m.To, m.State)
		}
	}
	for _, id := range s.acknowledged {
		if _, ok := byID[id]; !ok {
			r.Lost++
			problem("message %s was acknowledged and is not in the record", id)
		}
	}
	if err := s.checkEvents(ctx, &r); err != nil {
		problem("%v", err)
	}
	return r
}

// checkRepository runs the test and looks for what should not be there.
func (s *show) checkRepository(ctx context.Context) error {
	test := exec.CommandContext(ctx, "sh", "test.sh")
	test.Dir = s.repo
	if out, err := test.CombinedOutput(); err != nil {
		return fmt.Errorf("the test still fails: %s", out)
	}
	status := exec.CommandContext(ctx, "git", "status", "--porcelain")
	status.Dir = s.repo
	out, err := status.Output()
	if err != nil {
		return fmt.Errorf("git status: %w", err)
	}
	if got := strings.TrimSpace(string(out)); got != "M calc.sh" {
		return fmt.Errorf("the repository shows more than the one change: %q", got)
	}
	if _, err := os.Lstat(filepath.Join(s.repo, ".cursor")); err == nil {
		return fmt.Errorf("a .cursor directory was left in the repository")
	}
	return nil
}

// checkEvents counts in the journal what happened more than once.
func (s *show) checkEvents(ctx context.Context, r *Result) error {
	out, err := s.run(ctx, "events", "--json")
	if err != nil {
		return err
	}
	handled, sent := map[string]int{}, map[string]int{}
	for line := range bytes.Lines(out) {
		var ev substrat.Event
		if err := json.Unmarshal(line, &ev); err != nil {
			return fmt.Errorf("cannot read an event: %w", err)
		}
		var data struct {
			Turn    string   `json:"turn"`
			Handled []string `json:"handled"`
			Message struct {
				From string `json:"from"`
				To   string `json:"to"`
				Text string `json:"text"`
			} `json:"message"`
		}
		if err := json.Unmarshal(ev.Data, &data); err != nil {
			return fmt.Errorf("cannot read event %d: %w", ev.Seq, err)
		}
		switch ev.Type {
		case "turn.ended":
			r.Turns++
			handled["turn "+data.Turn]++
			for _, id := range data.Handled {
				handled[id]++
			}
		case "message.sent":
			sent[data.Message.From+"\x00"+data.Message.To+"\x00"+data.Message.Text]++
		}
	}
	for _, counts := range []map[string]int{handled, sent} {
		for what, n := range counts {
			if n > 1 {
				r.Duplicated++
				r.Problems = append(r.Problems, fmt.Sprintf("%d times: %.120q", n, what))
			}
		}
	}
	return nil
}

// living finds processes of the demo's turns, by the mark that every process of a turn inherits and the home they run in.
func (s *show) living() []int {
	var pids []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range entries {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		// A shim names no turn on its command line; the one of a daemon that is gone ends by itself or has a turn.
		shim := bytes.Contains(cmdline, []byte("\x00shim\x00")) && bytes.Contains(cmdline, []byte(s.exe))
		ours := shim && s.holdsTurn(dir) || bytes.Contains(cmdline, []byte(s.home)) || bytes.Contains(env, []byte(s.home))
		if !ours && bytes.Contains(env, []byte("SUBSTRAT_TURN=")) {
			ours = s.ownTurn(env)
		}
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), "%d", &pid); err == nil && ours && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// holdsTurn reports whether a process has a file of this demo open.
func (s *show) holdsTurn(proc string) bool {
	fds, _ := filepath.Glob(filepath.Join(proc, "fd", "*"))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, s.home) {
			return true
		}
	}
	return false
}

// ownTurn reports whether an environment names a turn of this demo's home.
func (s *show) ownTurn(env []byte) bool {
	for _, v := range bytes.Split(env, []byte{0}) {
		if id, ok := strings.CutPrefix(string(v), "SUBSTRAT_TURN="); ok {
			_, err := os.Lstat(filepath.Join(s.home, "turns", strings.TrimSuffix(id, "-session")))
			return err == nil
		}
	}
	return false
}
