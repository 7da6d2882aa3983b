package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"

	"substrat.dev/substrat"
)

// desk is an editor with a session of its own.
type desk struct {
	*world
	u    *editorUser
	conn *acp.ClientSideConnection
	id   acp.SessionId
	root string
}

func (w *world) desk(dir string, args ...string) *desk {
	w.t.Helper()
	u, conn := w.edit(args...)
	if _, err := conn.Initialize(w.t.Context(), acp.InitializeRequest{ProtocolVersion: 1}); err != nil {
		w.t.Fatal(err)
	}
	s, err := conn.NewSession(w.t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	if err != nil {
		w.t.Fatal(err)
	}
	return &desk{w, u, conn, s.SessionId, w.agent(string(s.SessionId)).Path}
}

// does has a prompt carried out, and tells what the editor was told meanwhile.
func (d *desk) does(text string, want acp.StopReason, told ...string) string {
	d.t.Helper()
	r, err := d.prompt(d.conn, d.id, text)
	got := d.u.take()
	if err != nil || r.StopReason != want {
		d.t.Fatalf("%v %v\ntold:\n%s", r.StopReason, err, got)
	}
	for _, text := range told {
		if !strings.Contains(got, text) {
			d.t.Errorf("not told: %s\ntold:\n%s", text, got)
		}
	}
	return got
}

// begins starts a prompt, and waits until the editor was told of something.
func (d *desk) begins(text, told string) <-chan acp.PromptResponse {
	d.t.Helper()
	done := make(chan acp.PromptResponse, 1)
	go func() {
		r, err := d.prompt(d.conn, d.id, text)
		if err != nil {
			d.t.Error(err)
		}
		done <- r
	}()
	d.u.heard(d.t, told)
	return done
}

func asks(question string, options ...string) step {
	args := map[string]any{"question": question}
	if len(options) > 0 {
		args["options"] = options
	}
	return step{"mcp": "ask_user", "args": args}
}

// kid has the root make a child and send it a script.
func kid(script string) []any {
	return []any{
		step{"mcp": "spawn_agent", "args": map[string]any{"name": "kid", "instructions": "help"}},
		step{"mcp": "send_message", "args": map[string]any{"recipient": "kid", "text": "work " + script}},
	}
}

// TestEditorQuestions: what wants a text is answered in order, prompt by prompt, whoever of the team asked.
func TestEditorQuestions(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	dir := w.space()
	d := w.desk(dir, "--provider", "sim")
	other := w.desk(dir, "--provider", "sim")
	if !strings.HasPrefix(d.root, "editor-") || other.root != d.root+"-2" {
		t.Errorf("roots: %s, %s", d.root, other.root)
	}

	got := d.does(script(asks("first?"), asks("second?"), step{"text": "asked both"}), acp.StopReasonEndTurn, "**"+d.root+" asks:** first?", "before this one: 1")
	if strings.Index(got, "first?") > strings.Index(got, "second?") {
		t.Errorf("told:\n%s", got)
	}
	got = d.does("the one", acp.StopReasonEndTurn, "the one", "second?")
	if !strings.HasSuffix(strings.TrimSpace(got), "(Your next prompt is the answer.)") {
		t.Errorf("the second question is not repeated:\n%s", got)
	}
	// Another connection takes the session up; the question is told there, and no more than that.
	u, conn := w.edit()
	if _, err := conn.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionId: d.id, Cwd: dir}); err != nil {
		t.Fatal(err)
	}
	if got := u.take(); !strings.Contains(got, "second?") || strings.Contains(got, "asked both") {
		t.Errorf("resumed:\n%s", got)
	}
	if r, err := w.prompt(conn, d.id, "the other"); err != nil || r.StopReason != acp.StopReasonEndTurn {
		t.Errorf("%v %v", r, err)
	}
	if got := u.take(); !strings.Contains(got, "the other") || strings.Contains(got, "Your next prompt") {
		t.Errorf("told:\n%s", got)
	}
	// What was answered elsewhere is not answered here: the prompt is a message again.
	d.does(script(step{"text": "plain"}), acp.StopReasonEndTurn, "plain")

	// A child's; and one with choices that somebody else answers.
	d.does(script(kid(script(asks("what name?"), step{"text": "kid asked"}))...), acp.StopReasonEndTurn, "**"+d.root+"/kid asks:** what name?", "[end completed kid asked")
	d.does("Bob", acp.StopReasonEndTurn, d.root+"/kid: Bob")
	d.u.chooses("hold")
	done := d.begins(script(asks("which?", "red", "blue")), "[asked "+d.root+" asks: which?]")
	w.answer(w.open().ID, substrat.Answer{Choices: []string{"red"}})
	if r := <-done; r.StopReason != acp.StopReasonEndTurn {
		t.Errorf("%v", r.StopReason)
	}
	if got := d.u.take(); !strings.Contains(got, "[taken back]") || !strings.Contains(got, "USER: red") {
		t.Errorf("told:\n%s", got)
	}
}

// TestEditorEndings: how a prompt ends when the team fails, is stopped, is held, or is left alone by its editor.
func TestEditorEndings(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	d := w.desk(w.space(), "--provider", "sim")

	file := filepath.Join(w.agent(d.root).Dir, "a.txt")
	d.does(script(step{"write": "a.txt", "content": "one\n"}, step{"edit": "a.txt", "old": "one", "new": "two"}), acp.StopReasonEndTurn, "diff "+file+" one\n=>two")
	// Nothing is told between prompts.
	w.wait(w.send(d.root, script(step{"text": "unasked"})))
	if got := d.does(script(step{"text": "asked"}), acp.StopReasonEndTurn, "asked"); strings.Contains(got, "unasked") {
		t.Errorf("told:\n%s", got)
	}

	// A daemon that dies and comes again in the middle of a prompt loses nothing of it, and tells nothing twice.
	d.u.take()
	done := d.begins(script(step{"text": "before "}, step{"shell": "sleep 2"}, step{"text": "after"}), "sleep 2")
	w.kill()
	w.start()
	if r := <-done; r.StopReason != acp.StopReasonEndTurn {
		t.Errorf("over a restart: %v", r.StopReason)
	}
	if got := d.u.take(); !strings.Contains(got, "after") || strings.Contains(got, "before") {
		t.Errorf("told after the restart:\n%s", got)
	}

	// A root that failed for good asks the user; who leaves it at that gets the failure.
	d.u.chooses("dismiss")
	_, err := w.prompt(d.conn, d.id, script(step{"fault": "bad_model"}))
	if err == nil || !strings.Contains(err.Error(), string(substrat.ClassModel)) {
		t.Errorf("failed: %v", err)
	}
	d.u.take()

	// Stopped, the whole team is: a child's turn too, and what the news of it would wake.
	done = d.begins(script(append(kid(script(step{"shell": "sleep 600"})), step{"text": "sent"})...), d.root+"/kid: work")
	w.turnOf(d.root + "/kid")
	if err := d.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: d.id}); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.StopReason != acp.StopReasonCancelled {
		t.Errorf("stopped: %v", r.StopReason)
	}
	for _, ref := range []string{d.root, d.root + "/kid"} {
		if a := w.agent(ref); a.State == substrat.Busy || a.Pending > 0 {
			t.Errorf("after the stop: %+v", a)
		}
	}
	d.u.take()

	// Behind its gate the prompt waits; the editor need not.
	if err := w.post("/v1/agents/"+string(d.id)+"/gate", map[string]bool{"down": true}, nil); err != nil {
		t.Fatal(err)
	}
	d.does(script(step{"text": "at last"}), acp.StopReasonEndTurn, "gate is down")
	if err := w.post("/v1/agents/"+string(d.id)+"/gate", map[string]bool{"down": false}, nil); err != nil {
		t.Fatal(err)
	}
	w.until("the mail behind the gate to be handled", func() bool { a := w.agent(d.root); return a.State == substrat.Idle && a.Pending == 0 })

	// Neither closing the session nor quitting the editor stops anybody.
	done = d.begins(script(step{"text": "up "}, step{"shell": "sleep 600"}), "sleep 600")
	if _, err := d.conn.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: d.id}); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.StopReason != acp.StopReasonCancelled {
		t.Errorf("closed: %v", r.StopReason)
	}
	turn := w.agent(d.root).Turn
	second := w.desk(w.space(), "--agent", d.root)
	gone := make(chan acp.PromptResponse, 1)
	go func() {
		r, _ := w.prompt(second.conn, second.id, "and then")
		gone <- r
	}()
	second.u.heard(t, "sleep 600") // the open turn is shown from its start
	second.u.hangUp()
	if r := <-gone; r.StopReason != "" && r.StopReason != acp.StopReasonCancelled {
		t.Errorf("quit: %v", r.StopReason)
	}
	if a := w.agent(d.root); a.Turn != turn || turn == "" {
		t.Errorf("the turn %s did not go on: %+v", turn, a)
	}
	w.stop(d.root)
}

// TestEditorLeave: a process that waits for leave in its turn keeps no prompt open when the user puts the decision off.
func TestEditorLeave(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w, lead := acpWorld(t)
	d := w.desk(t.TempDir(), "--agent", "lead")
	if string(d.id) != lead.ID {
		t.Errorf("session %s of agent %s", d.id, lead.ID)
	}
	d.does("run make it so", acp.StopReasonEndTurn, "lead wants to use Bash", "[end failed")
	if a := w.agent("lead"); a.State != substrat.Busy {
		t.Errorf("%+v", a)
	}
	// The next prompt puts it before the user again.
	d.u.chooses("allow")
	d.does("say hello", acp.StopReasonEndTurn, "answered: allow", "ran it", "hello")
}
