package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
)

// editorUser is an editor with a user in front of it: another implementation of the protocol, which keeps what it is told.
type editorUser struct {
	mu    sync.Mutex
	told  strings.Builder
	asked []string
	// choose picks an option of what is asked, "" to cancel.
	choose func(title string) string
	// hold leaves what is asked without an answer until it is taken back.
	hold bool
	said chan struct{}
	// hangUp ends the connection as an editor that quits does, and waits for our side to end.
	hangUp func()
}

// heard waits until a text was told, and gives what was told up to then.
func (u *editorUser) heard(t *testing.T, text string) (told string) {
	t.Helper()
	late := time.After(patience)
	for told = u.take(); !strings.Contains(told, text); told += u.take() {
		select {
		case <-u.said:
		case <-late:
			t.Fatalf("not told: %s\ntold:\n%s", text, told)
		}
	}
	return told
}

func (u *editorUser) chooses(choice string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hold, u.choose = choice == "hold", func(string) string { return choice }
}

func (u *editorUser) note(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.told.WriteString(text)
	select {
	case u.said <- struct{}{}:
	default:
	}
}

// take gives what was told since the last time.
func (u *editorUser) take() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	defer u.told.Reset()
	return u.told.String()
}

func (u *editorUser) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	switch x := n.Update; {
	case x.AgentMessageChunk != nil:
		u.note(x.AgentMessageChunk.Content.Text.Text)
	case x.UserMessageChunk != nil:
		u.note("\n[user " + x.UserMessageChunk.Content.Text.Text + "]\n")
	case x.ToolCall != nil:
		u.note("\n[call " + x.ToolCall.Title + " " + string(x.ToolCall.Status) + "]\n")
	case x.ToolCallUpdate != nil && x.ToolCallUpdate.Status != nil:
		text := ""
		for _, c := range x.ToolCallUpdate.Content {
			if c.Content != nil && c.Content.Content.Text != nil {
				text += " " + c.Content.Content.Text.Text
			}
			if c.Diff != nil && c.Diff.OldText != nil {
				text += " diff " + c.Diff.Path + " " + *c.Diff.OldText + "=>" + c.Diff.NewText
			}
		}
		u.note("\n[end " + string(*x.ToolCallUpdate.Status) + text + "]\n")
	case x.Plan != nil:
		u.note("\n[plan " + x.Plan.Entries[0].Content + "]\n")
	}
	return nil
}

func (u *editorUser) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	u.mu.Lock()
	u.asked = append(u.asked, *r.ToolCall.Title)
	choose, hold := u.choose, u.hold
	u.mu.Unlock()
	if hold {
		u.note("\n[asked " + *r.ToolCall.Title + "]\n")
		<-ctx.Done()
		u.note("\n[taken back]\n")
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	choice := choose(*r.ToolCall.Title)
	for _, o := range r.Options {
		if string(o.OptionId) == choice {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

var errNotOffered = errors.New("not offered")

func (*editorUser) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, errNotOffered
}
func (*editorUser) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, errNotOffered
}
func (*editorUser) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, errNotOffered
}
func (*editorUser) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, errNotOffered
}
func (*editorUser) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, errNotOffered
}
func (*editorUser) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, errNotOffered
}
func (*editorUser) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, errNotOffered
}

// edit starts `substrat acp` as an editor does.
func (w *world) edit(args ...string) (*editorUser, *acp.ClientSideConnection) {
	w.t.Helper()
	cmd := exec.Command(w.bin, append([]string{"acp"}, args...)...)
	cmd.Env = append(os.Environ(), "SUBSTRAT_HOME="+w.home, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = w.log
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	u := &editorUser{said: make(chan struct{}, 1), choose: func(string) string { return "" }}
	conn := acp.NewClientSideConnection(u, in, out)
	u.hangUp = sync.OnceFunc(func() {
		_ = in.Close()
		<-conn.Done() // all of its output is read
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("substrat acp: %v", err)
		}
	})
	w.t.Cleanup(u.hangUp)
	return u, conn
}

func (w *world) prompt(conn *acp.ClientSideConnection, id acp.SessionId, text string) (acp.PromptResponse, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 60*time.Second)
	defer cancel()
	return conn.Prompt(ctx, acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
}

// TestEditor: a team is one agent to an editor.
func TestEditor(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	u, conn := w.edit("--provider", "sim")
	if _, err := conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: 1}); err != nil {
		t.Fatal(err)
	}
	dir := w.space()
	if _, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}}); err == nil || !strings.Contains(err.Error(), "substrat daemon start") {
		t.Errorf("without a daemon: %v", err)
	}
	w.start()
	s, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(r acp.PromptResponse, err error, want acp.StopReason, told ...string) {
		t.Helper()
		got := u.take()
		if err != nil || r.StopReason != want {
			t.Errorf("%v %v", r.StopReason, err)
		}
		for _, text := range told {
			if !strings.Contains(got, text) {
				t.Errorf("not told: %s\ntold:\n%s", text, got)
			}
		}
	}

	// The root's own doing, and that of a child which it asks.
	child := script(step{"shell": "echo from the child"}, step{"text": "child is done"})
	r, err := w.prompt(conn, s.SessionId, "go "+script(step{"text": "starting "}, step{"shell": "echo from the root"},
		step{"mcp": "spawn_agent", "args": map[string]any{"name": "kid", "instructions": "help"}},
		step{"mcp": "send_message", "args": map[string]any{"recipient": "kid", "text": "work " + child}}, step{"text": "asked the kid"}))
	check(r, err, acp.StopReasonEndTurn, "starting ", "[call Bash echo from the root in_progress]", "[end completed ```\nfrom the root", "asked the kid", "/kid: work", "[end completed child is done]")

	// A question with choices is the editor's user's, and the answer the next message: the prompt lasts until it was dealt with.
	u.chooses("blue")
	r, err = w.prompt(conn, s.SessionId, script(step{"mcp": "ask_user", "args": map[string]any{"question": "which colour?", "options": []string{"red", "blue"}}}, step{"text": "waiting"}))
	check(r, err, acp.StopReasonEndTurn, "waiting", "blue")
	if len(u.asked) != 1 || !strings.Contains(u.asked[0], "which colour?") {
		t.Errorf("asked: %q", u.asked)
	}

	// One that wants a text ends the prompt; the next prompt is the answer.
	r, err = w.prompt(conn, s.SessionId, script(step{"mcp": "ask_user", "args": map[string]any{"question": "what name?"}}))
	check(r, err, acp.StopReasonEndTurn, "asks:** what name?")
	r, err = w.prompt(conn, s.SessionId, "Rosinante")
	check(r, err, acp.StopReasonEndTurn, "Rosinante")

	// Stopping, while the root is at work.
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	done := make(chan acp.PromptResponse, 1)
	go func() {
		r, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: s.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(script(step{"text": "up "}, step{"shell": "sleep 600"}))}})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	u.heard(t, "sleep 600")
	if err := conn.Cancel(t.Context(), acp.CancelNotification{SessionId: s.SessionId}); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.StopReason != acp.StopReasonCancelled {
		t.Errorf("stopped: %v", r.StopReason)
	}
	w.until("the turn to end", func() bool { return w.agent(string(s.SessionId)).State != substrat.Busy })

	// A daemon that died and came again in between is not noticed; a failed turn is.
	w.kill()
	w.start()
	r, err = w.prompt(conn, s.SessionId, script(step{"text": "still here"}))
	check(r, err, acp.StopReasonEndTurn, "still here")

	// Another connection loads the session, and is told what was.
	u2, conn2 := w.edit()
	if _, err := conn2.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: s.SessionId, Cwd: dir, McpServers: []acp.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	if got := u2.take(); !strings.Contains(got, "[user Rosinante") || !strings.Contains(got, "asked the kid") || !strings.Contains(got, "still here") {
		t.Errorf("loaded:\n%s", got)
	}
	list, err := conn2.ListSessions(t.Context(), acp.ListSessionsRequest{})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].Cwd != dir {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := conn2.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: "nothing", Cwd: dir, McpServers: []acp.McpServer{}}); err == nil {
		t.Error("an unknown session was loaded")
	}
	w.checkRecord()
}
