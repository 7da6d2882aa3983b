package engine

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/team"
)

// house is an engine with a repository that agents have worktrees of.
type house struct {
	*testing.T
	e    *Engine
	ctx  context.Context
	repo string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	h := &house{T: t, e: start(t, t.TempDir()), ctx: ctx, repo: filepath.Join(t.TempDir(), "repo")}
	h.git(filepath.Dir(h.repo), "init", "-q", "-b", "main", h.repo)
	h.write(h.repo, "main.txt", "first\n")
	h.git(h.repo, "add", ".")
	h.git(h.repo, "commit", "-qm", "first")
	return h
}

func (h *house) git(dir string, args ...string) string {
	h.Helper()
	cmd := exec.CommandContext(h.ctx, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (h *house) write(dir, name, text string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		h.Fatal(err)
	}
}

func (h *house) agent(n substrat.NewAgent) substrat.Agent {
	h.Helper()
	a, err := h.e.CreateAgent(h.ctx, n)
	if err != nil {
		h.Fatal(err)
	}
	return a
}

// turn lets an agent do something, and waits until it has.
func (h *house) turn(ref string, steps ...map[string]any) {
	h.Helper()
	sent, err := h.e.Send(h.ctx, ref, script(append(steps, map[string]any{"text": "ok"})...))
	if err != nil {
		h.Fatal(err)
	}
	r, err := h.e.Receipt(h.ctx, sent.MessageID)
	if err != nil {
		h.Fatal(err)
	}
	if r.Turn == nil || r.Turn.Outcome != substrat.Completed {
		h.Fatalf("the turn of %s: %+v, %s", ref, r.Turn, r.Message.Detail)
	}
}

func shell(line string) map[string]any { return map[string]any{"shell": line} }

// told waits for a message of the system's with these words, and counts them.
func (h *house) told(words ...string) (n int) {
	h.Helper()
	for {
		changed := h.e.changedNow()
		if n = h.count(words...); n > 0 {
			return n
		}
		select {
		case <-changed:
		case <-h.ctx.Done():
			h.Fatalf("nobody was told %q", words)
		}
	}
}

func (h *house) count(words ...string) (n int) {
	h.Helper()
	list, _, err := h.e.Messages(h.ctx, MessageQuery{Limit: 1000})
	if err != nil {
		h.Fatal(err)
	}
	for _, m := range list {
		if m.From == substrat.System && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.Text, w) }) {
			n++
		}
	}
	return n
}

func (h *house) find(ref string) (substrat.Workspace, bool) {
	h.Helper()
	list, err := h.e.Workspaces(h.ctx, "")
	if err != nil {
		h.Fatal(err)
	}
	i := slices.IndexFunc(list, func(w substrat.Workspace) bool { return w.Ref == ref || w.ID == ref })
	if i < 0 {
		return substrat.Workspace{}, false
	}
	return list[i], true
}

func (h *house) refused(err error, words ...string) {
	h.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			h.Errorf("%v, want a refusal that says %q", err, w)
		}
	}
}

// What is refused is as it was: the record does not go before it is known whether the files may.
func TestDeleteWorkspaceKeepsWhatIsOnlyThere(t *testing.T) {
	h := newHouse(t)
	h.agent(substrat.NewAgent{Name: "lead", Dir: h.repo})
	w, err := h.e.CreateWorkspace(h.ctx, substrat.NewWorkspace{Name: "data", Agent: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	h.write(w.Dir, "only.txt", "here\n")
	_, err = h.e.DeleteWorkspace(h.ctx, "lead/../data", false)
	h.refused(err, "not empty")
	if _, ok := h.find("lead/../data"); !ok || !exists(filepath.Join(w.Dir, "only.txt")) {
		t.Error("the workspace, or its file, is gone")
	}
	if _, err = h.e.DeleteWorkspace(h.ctx, "lead/../data", true); err != nil || exists(w.Dir) {
		t.Errorf("forced: %v, there: %v", err, exists(w.Dir))
	}

	h.agent(substrat.NewAgent{Name: "coder", Parent: "lead", Worktree: true})
	h.turn("lead/coder", shell("echo more >> main.txt"))
	// Whoever lives there goes before what is not saved, because force does not help against it.
	_, err = h.e.DeleteWorkspace(h.ctx, "lead/../lead.coder", true)
	h.refused(err, "lead/coder lives in it")
	if err := h.e.Terminate(h.ctx, "lead/coder", ""); err != nil {
		t.Fatal(err)
	}
	tree, _ := h.find("lead/../lead.coder")
	_, err = h.e.DeleteWorkspace(h.ctx, "lead/../lead.coder", false)
	h.refused(err, "main.txt")
	h.git(tree.Dir, "checkout", "-q", "--detach")
	h.git(tree.Dir, "commit", "-qam", "on no branch")
	_, err = h.e.DeleteWorkspace(h.ctx, "lead/../lead.coder", false)
	h.refused(err, "on no branch")
	if _, ok := h.find("lead/../lead.coder"); !ok || !exists(tree.Dir) {
		t.Fatal("the worktree is gone, or its record")
	}
	h.git(tree.Dir, "branch", "-f", tree.Branch)
	h.git(tree.Dir, "checkout", "-q", tree.Branch)
	kept, err := h.e.DeleteWorkspace(h.ctx, "lead/../lead.coder", false)
	if err != nil || kept != tree.Branch || exists(tree.Dir) {
		t.Errorf("kept %q, %v, there: %v", kept, err, exists(tree.Dir))
	}
	h.git(h.repo, "log", tree.Branch, "--") // its work is there
}

// What an agent deletes is cleared up, but not what is nowhere else: that stays, is told of and listed.
func TestAgentDeletesWorkspace(t *testing.T) {
	h := newHouse(t)
	h.agent(substrat.NewAgent{Name: "lead", Dir: h.repo})
	h.turn("lead",
		map[string]any{"mcp": "create_workspace", "args": map[string]any{"name": "tree", "worktree": true}},
		map[string]any{"mcp": "create_workspace", "args": map[string]any{"name": "plain"}})
	tree, _ := h.find("lead/tree")
	plain, _ := h.find("lead/plain")
	h.agent(substrat.NewAgent{Name: "one", Parent: "lead", Workspace: "tree"})
	h.agent(substrat.NewAgent{Name: "two", Parent: "lead", Workspace: "plain"})
	h.turn("lead/one", shell("echo x > loose.txt"))
	h.turn("lead/two", shell("echo x > loose.txt"))
	for _, ref := range []string{"lead/one", "lead/two"} {
		if err := h.e.Terminate(h.ctx, ref, ""); err != nil {
			t.Fatal(err)
		}
	}
	h.turn("lead",
		map[string]any{"mcp": "delete_workspace", "args": map[string]any{"name": "tree"}},
		map[string]any{"mcp": "delete_workspace", "args": map[string]any{"name": "plain"}})
	h.told("its files stay", tree.Dir, "loose.txt")
	w, ok := h.find(tree.ID)
	if !ok || !w.Left || !exists(filepath.Join(tree.Dir, "loose.txt")) {
		t.Errorf("what stays: %+v, %v", w, ok)
	}
	for exists(plain.Dir) && h.ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond) // there is no signal of what happens on the disk
	}
	if _, ok := h.find(plain.ID); ok {
		t.Error("the plain directory is still listed")
	}
	_, err := h.e.DeleteWorkspace(h.ctx, tree.ID, false)
	h.refused(err, "belongs to no workspace")
	if _, err := h.e.DeleteWorkspace(h.ctx, tree.ID, true); err != nil || exists(tree.Dir) {
		t.Errorf("forced: %v", err)
	}
}

// An agent in a worktree commits, in a worktree of a worktree too, and reaches nothing that git would run on the host.
func TestWorktreeInSandbox(t *testing.T) {
	h := newHouse(t)
	if err := os.RemoveAll(filepath.Join(h.repo, ".git", "hooks")); err != nil {
		t.Fatal(err)
	}
	// Before the lead had a turn, its worktree is not there yet.
	h.agent(substrat.NewAgent{Name: "lead", Dir: h.repo, Worktree: true})
	h.agent(substrat.NewAgent{Name: "sub", Parent: "lead", Worktree: true})
	h.turn("lead/sub", shell("git status --short && echo sub > main.txt && git -c user.name=s -c user.email=s@example.org commit -qam sub"))
	if got := h.git(h.repo, "log", "-1", "--format=%s", "substrat/lead-sub"); got != "sub" {
		t.Errorf("the branch has %q", got)
	}
	config, err := os.ReadFile(filepath.Join(h.repo, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	h.turn("lead", shell(`G=$(git rev-parse --git-common-dir); git config core.pager evil; echo evil >> $G/config
		for f in hooks/pre-commit info/attributes modules/m/hooks/post-checkout worktrees/evil/commondir; do mkdir -p $(dirname $G/$f); echo evil > $G/$f; done
		echo evil > $(git rev-parse --git-dir)/commondir; mv $G/hooks $G/h2; rm -rf $G/config; true`))
	if now, err := os.ReadFile(filepath.Join(h.repo, ".git", "config")); err != nil || string(now) != string(config) {
		t.Errorf("the configuration is %q, %v", now, err)
	}
	for _, f := range []string{"hooks/pre-commit", "info/attributes", "modules/m", "worktrees/evil"} {
		if exists(filepath.Join(h.repo, ".git", f)) {
			t.Errorf("the agent made %s", f)
		}
	}
	h.turn("lead", shell("echo /elsewhere > $(git rev-parse --git-common-dir)/commondir"))
	h.told("commondir", "lead tried")
	if exists(filepath.Join(h.repo, ".git", "commondir")) {
		t.Error("the foreign configuration is still named")
	}
	h.git(h.repo, "status")
}

// A script runs where the agents of the workspace do: in its worktree with git, with its links, and with their search path.
func TestCaptureEnv(t *testing.T) {
	h := newHouse(t)
	h.agent(substrat.NewAgent{Name: "lead", Dir: h.repo})
	tree, err := h.e.CreateWorkspace(h.ctx, substrat.NewWorkspace{Name: "tree", Agent: "lead", Worktree: h.repo})
	if err != nil {
		t.Fatal(err)
	}
	host := t.TempDir()
	h.write(host, "shown.txt", "shown\n")
	if _, err := h.e.LinkWorkspace(h.ctx, "lead/../tree", substrat.NewLink{At: "deps/host", Host: host, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	w, err := h.e.CaptureEnv(h.ctx, "lead/../tree", `mkdir -p tools && export PATH="$PWD/tools:$PATH" COLOUR="$(cat deps/host/shown.txt) $(git branch --show-current)" && cd tools`)
	if err != nil {
		t.Fatal(err)
	}
	if w.Env == nil || w.Env.Set["COLOUR"] != "shown substrat/tree" || w.Env.Dir != "tools" {
		t.Fatalf("captured: %+v", w.Env)
	}
	if exists(filepath.Join(tree.Dir, "deps")) {
		t.Error("the place of the link is still there")
	}
	h.agent(substrat.NewAgent{Name: "tenant", Parent: "lead", Workspace: "../tree"})
	h.turn("lead/tenant", shell("command -v substrat > found && echo $COLOUR > colour"))
	for name, want := range map[string]string{"found": insideBin + "/substrat", "colour": "shown substrat/tree"} {
		if got, err := os.ReadFile(filepath.Join(tree.Dir, name)); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	_, err = h.e.CaptureEnv(h.ctx, "lead/../tree", "echo why >&2; false")
	h.refused(err, "the script failed", "why")
	if w, err = h.e.CaptureEnv(h.ctx, "lead/../tree", ""); err != nil || w.Env != nil {
		t.Errorf("cleared: %+v, %v", w.Env, err)
	}
	// What outlives its time is ended, and says so; nothing of it stays.
	ctx, cancel := context.WithTimeout(h.ctx, 300*time.Millisecond)
	defer cancel()
	_, err = h.e.capture(ctx, team.Living{Base: tree.Dir}, "sleep 1000")
	h.refused(err, "took too long")
	if left, _ := filepath.Glob(filepath.Join(h.e.cfg.Home, "capture-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What a dead daemon left of a capture goes with the next one's start, the places of links too.
func TestSweepCaptures(t *testing.T) {
	home, at := t.TempDir(), filepath.Join(t.TempDir(), "place")
	dir := filepath.Join(home, "capture-1")
	for _, d := range []string{filepath.Join(dir, "home"), at} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, madeFile), []byte(at+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &Engine{cfg: Config{Home: home, Log: slog.New(slog.DiscardHandler)}, dirs: map[spot]*sharedDir{}}
	e.sweepCaptures()
	if exists(dir) || exists(at) {
		t.Errorf("still there: %v, %v", exists(dir), exists(at))
	}
}
