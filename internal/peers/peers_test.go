//go:build peers

package peers

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/model"
	"substrat.dev/substrat/internal/providers"
)

// key is long, because some programs blank every occurrence of theirs in what they print.
const key = "dummy-key-0123456789-0123456789"

// surroundings are the variables that send the programs to the scripted model.
func surroundings(url string) map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "1", "IS_SANDBOX": "1",
		"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": key,
		"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": key, "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_MODEL": "gemini-2.5-flash",
	}
}

// peer is one program in one of its ways.
type peer struct {
	name  string
	model string
	acp   bool
}

var peers = []peer{
	{name: "claude"}, {name: "codex", model: "scripted-1"}, {name: "gemini", model: "gemini-2.5-flash"},
	{name: "claude-acp", acp: true}, {name: "codex-acp", acp: true}, {name: "gemini-acp", acp: true},
}

// scratch is a directory for a test, not below where temporary files are: one of the programs refuses to live there.
func scratch(t *testing.T) string {
	t.Helper()
	base := os.Getenv("PEERS_DIR")
	if base == "" {
		t.Fatal("PEERS_DIR is not set: run this by make peers")
	}
	dir, err := os.MkdirTemp(base, "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// provider gives a peer's provider, spoken to a model of its own.
func (p peer) provider(t *testing.T) agentcli.Provider {
	t.Helper()
	s := httptest.NewServer(model.Handler(func(api, what string) { t.Logf("model: %s: %.200s", api, what) }))
	t.Cleanup(s.Close)
	env := surroundings(s.URL)
	found, err := providers.Find(providers.All(func(name string) string { return env[name] }, "cursor-agent"), p.name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// session opens a conversation in a new home and workspace.
func (p peer) session(t *testing.T, change func(*agentcli.Options)) (*agentcli.Session, string) {
	t.Helper()
	dir := scratch(t)
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(filepath.Join(work, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := agentcli.Options{
		Dir: work, Home: filepath.Join(dir, "home"), Model: p.model, Mode: agentcli.ModeForce, Partial: true,
		Limits: agentcli.Limits{Wall: 2 * time.Minute},
		Env:    map[string]string{"IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1", "TMPDIR": filepath.Join(dir, "tmp")},
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if p.acp {
		o.Model = ""
	}
	if change != nil {
		change(&o)
	}
	s, err := agentcli.Open(p.provider(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, work
}

// play runs one prompt and gives its result, the tools that were used as "Name status", and all text.
func play(t *testing.T, ctx context.Context, s *agentcli.Session, script string) (agentcli.Result, []string, string) {
	t.Helper()
	var r agentcli.Result
	var tools []string
	var text strings.Builder
	for e, err := range s.Prompt(ctx, "Do this. <<SCRIPT "+script+" SCRIPT>>") {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Result != nil:
			r = *e.Result
		case e.Type == agentcli.EventToolEnd:
			tools = append(tools, fmt.Sprint(e.Tool.Name, " ", e.Tool.Status))
		case e.Type == agentcli.EventText:
			text.WriteString(e.Text)
		}
	}
	t.Logf("%s %s %s %v %q", r.Outcome, r.Class, r.Detail, tools, r.Text)
	return r, tools, text.String()
}

// each runs a test for every peer that fits.
func each(t *testing.T, fits func(peer) bool, test func(t *testing.T, p peer)) {
	for _, p := range peers {
		if fits == nil || fits(p) {
			t.Run(p.name, func(t *testing.T) { test(t, p) })
		}
	}
}

func speaksACP(p peer) bool { return p.acp }

// TestTurn: a command and a text, and a second prompt in the same conversation.
func TestTurn(t *testing.T) {
	each(t, nil, func(t *testing.T, p peer) {
		s, work := p.session(t, nil)
		r, tools, text := play(t, t.Context(), s, `[{"shell":"echo from the shell > made.txt; cat made.txt"},{"text":"All is done."}]`)
		if r.Outcome != substrat.Completed || !strings.HasSuffix(r.Text, "All is done.") || !strings.HasSuffix(text, "All is done.") || strings.Count(text, "All is done.") != 1 {
			t.Errorf("%+v", r)
		}
		if !strings.Contains(strings.Join(tools, ","), "Bash completed") {
			t.Errorf("tools: %v", tools)
		}
		if data, err := os.ReadFile(filepath.Join(work, "made.txt")); err != nil || string(data) != "from the shell\n" {
			t.Errorf("the command left %q, %v", data, err)
		}
		id := s.ID()
		r, _, _ = play(t, t.Context(), s, `[{"text":"And again."}]`)
		if r.Outcome != substrat.Completed || !strings.HasSuffix(r.Text, "And again.") || r.Session != id || id == "" {
			t.Errorf("the second prompt, in %s: %+v", id, r)
		}
	})
}

// TestModelError: a model that fails is a failed turn, whatever the program makes of it.
func TestModelError(t *testing.T) {
	each(t, nil, func(t *testing.T, p peer) {
		s, _ := p.session(t, func(o *agentcli.Options) { o.Limits.Wall = 45 * time.Second })
		r, _, _ := play(t, t.Context(), s, `[{"status":400}]`)
		if r.Outcome == substrat.Completed || r.Class == "" || r.Detail == "" {
			t.Errorf("%+v", r)
		}
	})
}

// TestPermission: what a person says to a request for leave is what happens.
func TestPermission(t *testing.T) {
	for _, allow := range []bool{true, false} {
		t.Run(map[bool]string{true: "allowed", false: "refused"}[allow], func(t *testing.T) {
			each(t, speaksACP, func(t *testing.T, p peer) {
				asked := 0
				s, work := p.session(t, func(o *agentcli.Options) {
					o.Mode = agentcli.ModeDefault
					o.Ask = func(_ context.Context, q agentcli.Question) (agentcli.Answer, error) {
						asked++
						a, ok := q.Choose(agentcli.RejectOnce, agentcli.RejectAlways)
						if allow {
							a, ok = q.Choose(agentcli.AllowOnce, agentcli.AllowAlways)
						}
						if !ok || q.Kind != agentcli.AskPermission {
							t.Errorf("asked %+v", q)
						}
						return a, nil
					}
				})
				r, _, _ := play(t, t.Context(), s, `[{"shell":"echo x > made.txt","args":{"sandbox_permissions":"require_escalated","justification":"May I?"}},{"text":"Went on."}]`)
				_, err := os.Stat(filepath.Join(work, "made.txt"))
				if asked == 0 || (err == nil) != allow || r.Outcome != substrat.Completed {
					t.Errorf("asked %d times, the command ran: %v, %+v", asked, err == nil, r)
				}
			})
		})
	}
}

// TestCancel: a turn that is stopped is cancelled, and nothing of it lives.
func TestCancel(t *testing.T) {
	each(t, nil, func(t *testing.T, p peer) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, _ := p.session(t, nil)
		mark := fmt.Sprintf("98%d", time.Now().UnixNano()%1_000_000) // one of the programs refuses to sleep
		go func() {
			for ctx.Err() == nil {
				if lives(mark) {
					cancel()
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
		r, _, _ := play(t, ctx, s, `[{"shell":"tail -n `+mark+` -f /dev/null"},{"text":"never"}]`)
		if r.Outcome != substrat.Cancelled {
			t.Errorf("%+v", r)
		}
		_ = s.Close()
		if lives(mark) {
			t.Error("the command still runs")
		}
	})
}

// lives reports whether the command with the mark runs.
func lives(mark string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if data, _ := os.ReadFile(path); strings.HasPrefix(string(data), "tail\x00-n\x00"+mark) {
			return true
		}
	}
	return false
}
