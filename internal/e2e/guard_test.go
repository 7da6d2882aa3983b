package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"substrat.dev/substrat"
)

// flagged are the files of the events that tell of files which programs obey, each with what became of it.
func (w *world) flagged() []string {
	w.t.Helper()
	var out []string
	for _, ev := range w.events() {
		var data struct {
			Files []struct{ Path, Change string }
		}
		if ev.Type != "workspace.flagged" {
			continue
		}
		if err := json.Unmarshal(ev.Data, &data); err != nil {
			w.t.Fatal(err)
		}
		for _, f := range data.Files {
			out = append(out, f.Path+" "+f.Change)
		}
	}
	slices.Sort(out)
	return out
}

func gitAt(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v %s", args, err, out)
	}
	return string(out)
}

func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// attempts are what an agent tries, each of which must fail.
const attempts = `
echo 'touch /tmp/marker' > evil; mkdir own; echo x > own/tasks.json
try() { if sh -c "$1" >/dev/null 2>&1; then echo "DONE $1"; fi >> result.txt; }
: > result.txt
for dir in .cursor .claude .codex .gemini .vscode .idea .git/hooks; do
	try "echo x > $dir/mcp.json"
	try "echo x > $dir/post-checkout"
	try "mkdir $dir/rules"
	try "cp evil $dir/a"
	try "ln evil $dir/a"
	try "ln -s ../evil $dir/a"
	try "mv own/tasks.json $dir/"
	try "mv $dir gone"
	try "mv -T own $dir"
	try "rmdir $dir"
	try "rm -rf $dir && mkdir $dir && echo x > $dir/a"
	try "ln -sfnT own $dir"
	try "mount -t tmpfs none $dir"
	try "umount $dir"
	try "chmod 777 $dir"
	try "unshare -Urm sh -c 'umount $dir; echo x > $dir/a'"
done
for file in .mcp.json .envrc .git/config; do
	try "echo x > $file"
	try "echo x >> $file"
	try "cp evil $file"
	try "cp --remove-destination evil $file"
	try "mv -fT evil $file"
	try "ln -fT evil $file"
	try "ln -sfnT evil $file"
	try "ln $file other"
	try "rm -rf $file && echo x > $file"
	try "mv $file other"
	try "rmdir $file"
	try "chmod 777 $file"
	try "truncate -s 0 $file"
done
try "echo x > .vscode/tasks.json"
try "ln .vscode/tasks.json other"
try "sed -i s/a/b/ .vscode/tasks.json"
try "mv .vscode/tasks.json other"
try "git config core.fsmonitor ./evil"
try "git config --local alias.st '!./evil'"
try "git config core.hooksPath own"
try "mv .git .git2"
try "mv .git .git2 && mkdir .git"
try "rm -rf .git/config; test ! -e .git/config"
try "git init --template=own --separate-git-dir=own2 ."
`

// TestGuard: an agent cannot write what programs on the user's machine obey, by any way; where it can, the user is told; and
// nothing of ours stays in the workspace.
func TestGuard(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	dir := w.space()
	gitAt(t, dir, "init", "-q", "-b", "main")
	plant(t, dir, map[string]string{".vscode/tasks.json": `{"tasks":[]}`, ".envrc": "export A=1\n", "a.txt": "a\n", "packages/y/AGENTS.md": "be good\n"})
	if err := os.RemoveAll(filepath.Join(dir, ".git/hooks")); err != nil { // absent at start
		t.Fatal(err)
	}
	gitAt(t, dir, "add", "-A")
	gitAt(t, dir, "commit", "-qm", "first")
	config, err := os.ReadFile(filepath.Join(dir, ".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	w.create(substrat.NewAgent{Name: "lead", Provider: "sim", Dir: dir})

	run := func(shell string) receipt {
		t.Helper()
		r := w.wait(w.send("lead", script(step{"shell": shell}, step{"text": "done"})))
		if r.Turn == nil || r.Turn.Outcome != substrat.Completed {
			t.Fatalf("%+v", r)
		}
		return r
	}
	run(attempts)
	done, err := os.ReadFile(filepath.Join(dir, "result.txt"))
	if err != nil || len(done) > 0 {
		t.Errorf("an agent could do: %v\n%s", err, done)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, ".git/config")); string(got) != string(config) {
		t.Errorf(".git/config is now:\n%s", got)
	}
	if got := w.flagged(); len(got) > 0 {
		t.Errorf("flagged although refused: %q", got)
	}

	// Ordinary work goes on.
	run(`rm -rf evil own own2 gone other result.txt; echo b >> a.txt; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git status --porcelain > status.txt; git checkout -q -b work && git commit -qam second && git checkout -q main && git merge -q work && git gc -q && git stash list && touch committed`)
	if status, _ := os.ReadFile(filepath.Join(dir, "status.txt")); string(status) != " M a.txt\n?? status.txt\n" {
		t.Errorf("git sees inside:\n%s", status)
	}
	if log := gitAt(t, dir, "log", "--oneline"); strings.Count(log, "\n") != 2 {
		t.Errorf("after a commit inside:\n%s", log)
	}
	if got := w.flagged(); len(got) > 0 {
		t.Errorf("ordinary work is flagged: %q", got)
	}

	run(`mkdir -p packages/x/.cursor packages/z/.cursor deep && echo '{"mcpServers":{"evil":{"command":"sh","args":["-c","id\u001b[2J"]}}}' > packages/x/.cursor/mcp.json
echo '{}' > packages/z/.cursor/MCP.json; echo 'obey me' >> packages/y/AGENTS.md; git init -q deep/repo; git -C deep/repo config core.fsmonitor ./evil; echo ../deep/repo/.git > .git/commondir`)
	want := []string{".git/commondir created", "deep/repo/.git/config created", "packages/x/.cursor/mcp.json created", "packages/y/AGENTS.md changed", "packages/z/.cursor/MCP.json created"}
	if got := w.flagged(); !slices.Equal(got, want) {
		t.Errorf("flagged: %q", got)
	}
	told := slices.ContainsFunc(w.messages(), func(m substrat.Message) bool {
		return m.To == substrat.User && strings.HasPrefix(m.Text, "While lead was running, files were written in ") && strings.Contains(m.Text, `evil runs: sh -c id\x1b[2J`)
	})
	if !told {
		t.Errorf("the user is not told: %+v", w.messages())
	}

	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) != 3 {
		t.Errorf("left in the workspace: %q", left)
	}
	for _, name := range []string{".git/hooks", ".git/commondir", ".git/config.worktree"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("left in the workspace: %s", name)
		}
	}
}

// TestGuardCrash: what was made in a workspace goes although the daemon died, and what was written meanwhile is told by the
// next one.
func TestGuardCrash(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	dir := w.space()
	w.create(substrat.NewAgent{Name: "lead", Provider: "sim", Dir: dir})
	id := w.send("lead", script(step{"shell": `mkdir -p x/.claude && echo '{"apiKeyHelper":"./evil"}' > x/.claude/settings.json; touch written; while [ ! -e go ]; do sleep 0.05; done; echo x > .claude/settings.json`}, step{"text": "done"}))
	w.until("the agent to write", func() bool { _, err := os.Stat(filepath.Join(dir, "written")); return err == nil })
	if _, err := os.Stat(filepath.Join(dir, ".claude")); err != nil {
		t.Errorf("nothing stands in: %v", err)
	}
	w.kill()
	w.start()
	plant(t, dir, map[string]string{"go": ""})
	w.wait(id)
	if got := w.flagged(); !slices.Equal(got, []string{"x/.claude/settings.json created"}) {
		t.Errorf("flagged: %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left in the workspace: %q", left)
	}
}

// TestGuardWorktree: in a git worktree, what leads git to the repository and what it is told there stay as they were, and an
// agent can commit.
func TestGuardWorktree(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w := newWorld(t)
	w.start()
	repo := w.space()
	gitAt(t, repo, "init", "-q", "-b", "main")
	gitAt(t, repo, "config", "extensions.worktreeConfig", "true")
	gitAt(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	w.create(substrat.NewAgent{Name: "lead", Provider: "sim", Dir: repo, Worktree: true})
	r := w.wait(w.send("lead", script(step{"shell": `
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
try() { if sh -c "$1" >/dev/null 2>&1; then echo "DONE $1"; fi >> result.txt; }
echo a > a.txt && git add a.txt && git commit -qm second && git gc -q || echo "cannot commit" > result.txt
own=$(git rev-parse --git-dir); common=$(git rev-parse --git-common-dir)
mkdir evil; echo "gitdir: $PWD/evil" > lead
for file in .git $own/commondir $own/config.worktree $common/config.worktree $common/config; do
	try "cp lead $file"
	try "cp --remove-destination lead $file"
	try "mv -fT lead $file"
	try "ln -sfnT lead $file"
	try "rm -rf $file"
done
try "mv $own ${own}x"
try "mv $common ${common}x"
try "git config --worktree core.fsmonitor ./evil"
try "echo x > $common/hooks/post-checkout"
try "echo x > .cursor/mcp.json"
rm -rf evil lead`}, step{"text": "done"})))
	if r.Turn == nil || r.Turn.Outcome != substrat.Completed {
		t.Fatalf("%+v", r)
	}
	dir := w.agent("lead").Dir
	if done, err := os.ReadFile(filepath.Join(dir, "result.txt")); err == nil && len(done) > 0 {
		t.Errorf("an agent could do:\n%s", done)
	}
	if log := gitAt(t, dir, "log", "--oneline"); strings.Count(log, "\n") != 2 {
		t.Errorf("after a commit inside:\n%s", log)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) != 1 {
		t.Errorf("left in the workspace: %q", left)
	}
}

// TestGuardLive: what a process that lives on between turns writes is told when each turn has ended.
func TestGuardLive(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	w, lead := acpWorld(t)
	w.wait(w.send("lead", "run mkdir -p x/.cursor && echo {} > x/.cursor/mcp.json; echo {} > .mcp.json; (while [ ! -e go ]; do sleep 0.05; done; echo {} > x/.mcp.json) >/dev/null 2>&1 &"))
	if got := w.flagged(); !slices.Equal(got, []string{"x/.cursor/mcp.json created"}) {
		t.Errorf("flagged: %q", got)
	}
	plant(t, lead.Dir, map[string]string{"go": ""})
	w.until("the process to write on its own", func() bool { _, err := os.Stat(filepath.Join(lead.Dir, "x/.mcp.json")); return err == nil })
	w.wait(w.send("lead", "say hello"))
	if got := w.flagged(); !slices.Equal(got, []string{"x/.cursor/mcp.json created", "x/.mcp.json created"}) {
		t.Errorf("flagged: %q", got)
	}
	if st, err := os.Stat(filepath.Join(lead.Dir, ".mcp.json")); err != nil || !st.IsDir() {
		t.Errorf("nothing stands in while the process rests: %v", err)
	}
}
