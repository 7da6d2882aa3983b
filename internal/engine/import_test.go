package engine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli/cursor"
	"substrat.dev/substrat/internal/sim"
)

// chatIn holds a conversation of one turn in a home, and gives its id and its store.
func chatIn(t *testing.T, home, space string) (id, store string) {
	t.Helper()
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		if code := sim.Main(t.Context(), append([]string{"cursor-agent"}, args...), env, strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		return strings.TrimSpace(out.String())
	}
	id = run("create-chat", "--workspace", space)
	run("--print", "--trust", "--force", "--workspace", space, "--resume", id, "remember the heron")
	return id, filepath.Join(home, ".cursor/chats", cursor.WorkspaceHash(space), id, "store.db")
}

func TestImport(t *testing.T) {
	for _, box := range []substrat.Sandbox{substrat.Bubblewrap, substrat.NoSandbox} {
		t.Run(string(box), func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []string{"home", "space", "engine"} {
				if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			// The agent works in another place than the conversation was held in, named by a link.
			work := filepath.Join(dir, "link")
			if err := os.Symlink(t.TempDir(), work); err != nil {
				t.Fatal(err)
			}
			id, store := chatIn(t, filepath.Join(dir, "home"), filepath.Join(dir, "space"))
			before, err := os.ReadFile(store)
			if err != nil {
				t.Fatal(err)
			}
			e := start(t, filepath.Join(dir, "engine"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			a, err := e.CreateAgent(ctx, substrat.NewAgent{Name: "heir", Sandbox: box, Dir: work, Session: id, SessionPath: store})
			if err != nil {
				t.Fatal(err)
			}
			if a.Session != id {
				t.Errorf("session %q", a.Session)
			}
			for _, want := range []string{`1 earlier message in this chat: "remember the heron"`, "2 earlier messages in this chat"} {
				sent, err := e.Send(ctx, "heir", "and now")
				if err != nil {
					t.Fatal(err)
				}
				r, err := e.Receipt(ctx, sent.MessageID)
				if err != nil {
					t.Fatal(err)
				}
				if r.Turn == nil || !strings.Contains(r.Turn.Text, want) {
					t.Fatalf("%+v", r.Turn)
				}
			}
			if after, err := os.ReadFile(store); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the session it was copied from changed: %v", err)
			}
		})
	}
}

func TestImportIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"home", "space", "engine"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	id, store := chatIn(t, filepath.Join(dir, "home"), filepath.Join(dir, "space"))
	e := start(t, filepath.Join(dir, "engine"))
	for name, c := range map[string]struct {
		n    substrat.NewAgent
		code substrat.Code
	}{
		"a path without a session": {substrat.NewAgent{SessionPath: store}, substrat.CodeInvalid},
		"a relative path":          {substrat.NewAgent{Session: id, SessionPath: "store.db"}, substrat.CodeInvalid},
		"another session":          {substrat.NewAgent{Session: "00000000-0000-4000-8000-000000000000", SessionPath: store}, substrat.CodeInvalid},
		"no such session":          {substrat.NewAgent{Session: id, SessionPath: filepath.Join(dir, "none", "store.db")}, substrat.CodeNotFound},
		"no such provider":         {substrat.NewAgent{Session: id, SessionPath: store, Provider: "nobody"}, substrat.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			c.n.Name = "heir"
			if _, err := e.CreateAgent(t.Context(), c.n); substrat.CodeOf(err) != c.code {
				t.Errorf("%v: %v", substrat.CodeOf(err), err)
			}
		})
	}
}
