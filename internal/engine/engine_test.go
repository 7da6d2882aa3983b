package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/cursor"
	"substrat.dev/substrat/internal/journal/sqlite"
)

// start opens an engine with the simulator and runs it until the test ends.
func start(t *testing.T, home string) *Engine {
	t.Helper()
	ctx := context.Background()
	j, err := sqlite.Open(ctx, filepath.Join(home, "journal.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"agents", "turns", "bin"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"substrat", "substrat-shim", "cursor-agent"} {
		_ = os.Symlink(exe, filepath.Join(home, "bin", n))
	}
	e, err := Open(ctx, Config{
		Home: home, Exe: exe, Slots: 4, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Providers: []agentcli.Provider{cursor.New(cursor.Options{Name: "sim", Command: []string{"cursor-agent"}})},
	}, j)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() {
		e.Shutdown("cancel")
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func script(steps ...map[string]any) string {
	data, _ := json.Marshal(steps)
	return "<<SCRIPT " + string(data) + " SCRIPT>>"
}

func TestTeamTurn(t *testing.T) {
	for _, box := range []substrat.Sandbox{substrat.Bubblewrap, substrat.NoSandbox} {
		t.Run(string(box), func(t *testing.T) {
			e := start(t, t.TempDir())
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if _, err := e.CreateAgent(ctx, substrat.NewAgent{Name: "lead", Sandbox: box}); err != nil {
				t.Fatal(err)
			}
			sent, err := e.Send(ctx, "lead", script(
				map[string]any{"mcp": "spawn_agent", "args": map[string]any{"name": "coder", "instructions": "You code."}},
				map[string]any{"mcp": "send_message", "args": map[string]any{"recipient": "coder", "text": "write " + script(
					map[string]any{"write": "a.txt", "content": "hi\n"}, map[string]any{"shell": "cat a.txt"}, map[string]any{"text": "written"})}},
				map[string]any{"text": "asked"},
			))
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Receipt(ctx, sent.MessageID)
			if err != nil {
				t.Fatal(err)
			}
			if r.Message.State != substrat.Handled || !strings.Contains(r.Turn.Text, "asked") {
				t.Errorf("the lead's turn: %+v", r.Turn)
			}
			for {
				changed := e.changedNow()
				turns, err := e.Turns(ctx, "lead", 0)
				if err != nil {
					t.Fatal(err)
				}
				if len(turns) == 2 && turns[1].Outcome != "" {
					break
				}
				select {
				case <-changed:
				case <-ctx.Done():
					a, _ := e.Agents(ctx, true)
					t.Fatalf("the reply never came: %+v", a)
				}
			}
			messages, _, err := e.Messages(ctx, MessageQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range messages {
				t.Logf("%s %s -> %s %s %.60q %s", m.Kind, m.From, m.To, m.State, m.Text, m.Detail)
				if !m.State.Final() {
					t.Errorf("message %s is %s", m.ID, m.State)
				}
			}
			if len(messages) != 3 {
				t.Errorf("%d messages, want 3", len(messages))
			}
		})
	}
}
