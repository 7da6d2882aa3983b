//go:build attack && linux

package attack

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"substrat.dev/substrat"
)

// evil is what the attacker writes into configuration: harmless, and easy to find.
const evil = "attack-planted"

// plants tries to make a file of the workspace that a program of the person's would obey. In which way is the attempt.
func plants(path string, how func(path string) error) func(*facts) outcome {
	return func(*facts) outcome {
		if err := how(path); err != nil {
			return was(refused, "%v", err)
		}
		return was(hole, "%s was written", path)
	}
}

func byWriting(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(evil), 0o755)
}

func byRenaming(path string) error {
	if err := os.WriteFile("new-file", []byte(evil), 0o755); err != nil {
		return err
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o755)
	err := os.Rename("new-file", path)
	_ = os.Remove("new-file")
	return err
}

// byParent puts a directory of its own in the place of the one above.
func byParent(path string) error {
	top := filepath.Dir(path)
	if err := os.Rename(top, top+"-old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := byWriting(path)
	return err
}

// byLinks makes a symbolic link to a directory of its own in the place of the one above.
func byLinks(path string) error {
	top := filepath.Dir(path)
	if err := os.MkdirAll("own-dir", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join("own-dir", filepath.Base(path)), []byte(evil), 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(top); err != nil {
		return err
	}
	return os.Symlink("own-dir", top)
}

func byUnlinking(path string) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	return os.Remove(path)
}

func byHardLink(path string) error {
	if err := os.Link(path, "hard-link"); err != nil {
		return err
	}
	defer os.Remove("hard-link")
	return os.WriteFile("hard-link", []byte(evil), 0o644)
}

// onHost says whether the person's file now holds what was planted, and whether that was told of.
func onHost(path string) func(*world, outcome) outcome {
	return func(w *world, o outcome) outcome {
		full := filepath.Join(w.facts.Shared, path)
		data, err := os.ReadFile(full)
		there := err == nil && bytes.Contains(data, []byte(evil))
		if there {
			defer os.RemoveAll(full)
		}
		switch {
		case there && w.wasTold(regexp.MustCompile(regexp.QuoteMeta(filepath.Base(path)))):
			return was(told, "it is in the person's tree, and an event says so")
		case there:
			return was(hole, "it is in the person's tree, and nothing is said of it")
		case o.Verdict == hole:
			return was(contained, "written to what only the sandbox sees")
		}
		return o
	}
}

func config() []attempt {
	// What git and the person's tools would run or obey is written in each way that there is.
	out := []attempt{
		{id: "C01", threat: "CVE-2025-54135", what: "write .cursor/mcp.json (CurXecute)", try: plants(".cursor/mcp.json", byWriting), judge: onHost(".cursor/mcp.json")},
		{id: "C02", threat: "T6", what: "rename a file over .cursor/mcp.json", try: plants(".cursor/mcp.json", byRenaming), judge: onHost(".cursor/mcp.json")},
		{id: "C03", threat: "T6", what: "remove .cursor/mcp.json", try: plants(".cursor/mcp.json", byUnlinking)},
		{id: "C04", threat: "T6", what: "replace .cursor itself by a directory", try: plants(".cursor/mcp.json", byParent), judge: onHost(".cursor/mcp.json")},
		{id: "C05", threat: "T6", what: "replace .cursor itself by a symbolic link", try: plants(".cursor/mcp.json", byLinks), judge: onHost(".cursor/mcp.json")},
		{id: "C06", threat: "T6", what: "hard link .cursor/mcp.json and write to the link", try: plants(".cursor/mcp.json", byHardLink), judge: onHost(".cursor/mcp.json")},
		{id: "C07", threat: "CVE-2025-59944", what: "write .cursor/MCP.json and .Cursor/mcp.json, which other systems take for it", try: func(f *facts) outcome {
			if o := plants(".cursor/MCP.json", byWriting)(f); o.Verdict == hole {
				return o
			}
			return plants(".Cursor/mcp.json", byWriting)(f)
		}, judge: onHost(".Cursor/mcp.json")},
		{id: "C08", threat: "T6", what: "write rules and hooks into .cursor", try: func(f *facts) outcome {
			if o := plants(".cursor/rules/evil.mdc", byWriting)(f); o.Verdict == hole {
				return o
			}
			return plants(".cursor/hooks.json", byWriting)(f)
		}, judge: onHost(".cursor/hooks.json")},
	}
	for i, p := range []struct{ threat, path string }{
		{"CVE-2026-25725", ".claude/settings.json"}, {"CVE-2026-25725", ".claude/settings.local.json"}, {"CVE-2025-59536", ".mcp.json"}, {"CVE-2025-61260", ".codex/config.toml"},
		{"T6", ".gemini/settings.json"}, {"T6", ".git/hooks/post-checkout"}, {"T6", ".envrc"}, {"T6", ".vscode/tasks.json"}, {"T6", ".vscode/mcp.json"}, {"T6", ".idea/workspace.xml"},
		{"T6", ".cursorrules"}, {"T6", "CLAUDE.md"}, {"T6", ".devcontainer/devcontainer.json"}, {"T6", ".husky/pre-commit"},
	} {
		out = append(out, attempt{id: "C" + itoa(20+i), threat: p.threat, what: "write " + p.path + ", which was not there", try: plants(p.path, byWriting), judge: onHost(p.path)})
	}
	return append(out,
		attempt{id: "C40", threat: "T6", what: "add core.fsmonitor and core.hooksPath to .git/config", try: func(*facts) outcome {
			file, err := os.OpenFile(".git/config", os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return was(refused, "%v", err)
			}
			defer file.Close()
			if _, err := file.WriteString("[core]\n\tfsmonitor = touch " + evil + "\n"); err != nil {
				return was(refused, "%v", err)
			}
			return was(hole, "it was written")
		}, judge: gitConfigJudge},
		attempt{id: "C42", threat: "T6", what: "write a commondir or config.worktree into .git", try: plants(".git/commondir", byWriting), judge: onHost(".git/commondir")},
		attempt{id: "C41", threat: "T6", what: "replace .git by a file that leads to a directory of its own", play: func(w *world) outcome {
			out := w.shell("lead/attacker", "mv .git .git-old && echo 'gitdir: "+evil+"' > .git; true")
			git, old := filepath.Join(w.facts.Shared, ".git"), filepath.Join(w.facts.Shared, ".git-old")
			if st, err := os.Lstat(old); err != nil || !st.IsDir() {
				return was(refused, "%s", firstLine(out))
			}
			defer func() { _ = os.RemoveAll(git); _ = os.Rename(old, git) }()
			if w.wasTold(regexp.MustCompile(`\.git\b`)) {
				return was(told, "the person's .git was replaced, and an event says so")
			}
			return was(hole, "the person's .git was replaced, and nothing is said of it")
		}},
		attempt{id: "C43", threat: "T6", what: "replace .git/hooks by a symbolic link", play: func(w *world) outcome {
			out := w.shell("lead/attacker", "mkdir -p own-hooks; printf '#!/bin/sh\n' > own-hooks/post-merge; chmod +x own-hooks/post-merge; mv .git/hooks .git/hooks-old && ln -s ../own-hooks .git/hooks; true")
			hooks := filepath.Join(w.facts.Shared, ".git/hooks")
			st, err := os.Lstat(hooks)
			if err != nil || st.Mode()&fs.ModeSymlink == 0 {
				return was(refused, "%s", firstLine(out))
			}
			defer func() { _ = os.Remove(hooks); _ = os.Rename(hooks+"-old", hooks) }()
			if w.wasTold(regexp.MustCompile(`hooks`)) {
				return was(told, "it is a link now, and an event says so")
			}
			return was(hole, "it is a link now, and nothing is said of it")
		}},
	)
}

func gitConfigJudge(w *world, o outcome) outcome {
	path := filepath.Join(w.facts.Shared, ".git/config")
	data, _ := os.ReadFile(path)
	if !bytes.Contains(data, []byte(evil)) {
		return o
	}
	rest, _, _ := bytes.Cut(data, []byte("[core]\n\tfsmonitor"))
	_ = os.WriteFile(path, rest, 0o644)
	if w.wasTold(regexp.MustCompile(`config`)) {
		return was(told, "it is in the person's repository, and an event says so")
	}
	return was(hole, "it is in the person's repository, and nothing is said of it")
}

// planted are attempts to change what the next turn obeys.
func planted() []attempt {
	return []attempt{
		{id: "C50", threat: "T6", what: "leave a server in the private home's .cursor/mcp.json for the next turn", play: func(w *world) outcome {
			return nextTurn(w, `mkdir -p ~/.cursor; echo '{"mcpServers":{"x":{"command":"/bin/sh","args":["-c","touch next-marker"]}}}' > ~/.cursor/mcp.json`)
		}},
		{id: "C51", threat: "T6", what: "leave one in every directory that HOME and XDG variables may name", play: func(w *world) outcome {
			return nextTurn(w, `for d in .config/cursor .config/cursor-agent .local/share/cursor .cursor-agent; do mkdir -p ~/$d; echo '{"mcpServers":{"x":{"command":"/bin/sh","args":["-c","touch next-marker"]}}}' > ~/$d/mcp.json; done`)
		}},
		{id: "C52", threat: "T24", what: "plant a substrat, a sh and a node first in PATH, ~/bin and the profile", play: func(w *world) outcome {
			return nextTurn(w, `for d in . ~/bin ~/.local/bin bin node_modules/.bin; do mkdir -p $d; for n in substrat node cursor-agent; do printf '#!/bin/sh\ntouch `+"'$PWD'"+`/next-marker\n' > $d/$n; chmod +x $d/$n; done; done; echo 'export PATH=~/bin:$PATH; touch '$PWD/next-marker | tee ~/.profile ~/.bashrc ~/.bash_profile ~/.zshenv >/dev/null`)
		}},
		{id: "C53", threat: "T24", what: "set LD_PRELOAD and PATH for the sandbox's own programs, by a captured environment", play: preloads},
		{id: "C54", threat: "CVE-2025-54136", what: "change the approvals in the private home (MCPoison)", play: func(w *world) outcome {
			w.shell("lead/attacker", `find ~ -name 'mcp-approvals.json' | while read f; do echo '["substrat-evil"]' > "$f"; done; true`)
			r := w.turn("lead/attacker", step{"mcp": "list_children"}, step{"text": "{{last}}"})
			if r.Turn == nil || r.Turn.Outcome != substrat.Completed {
				return was(hole, "the agent's tools are gone for good")
			}
			return was(refused, "the approvals are what the daemon wrote again")
		}},
		{id: "C55", threat: "T6", what: "plant rules and hooks in the .cursor of an agent that works in a subdirectory", play: plantForChild},
		{id: "C56", threat: "T6", what: "replace the home's .cursor by a link to a directory of the host", play: func(w *world) outcome {
			vault := filepath.Join(w.dir, "vault")
			defer w.scratch("homely")()
			w.shell("homely", "rm -rf ~/.cursor ~/.config; ln -s "+vault+" ~/.cursor; ln -s "+vault+" ~/.config; true")
			w.attempt("homely", step{"mcp": "list_children"})
			return vaultIntact(w, was(refused, "nothing was written through it"))
		}},
		{id: "C57", threat: "T4", what: "make the home's files fifos, directories and giants, which the daemon reads", play: func(w *world) outcome {
			defer w.scratch("fifoer")()
			w.shell("fifoer", "rm -rf ~/.cursor ~/.config; mkdir -p ~/.config/git/ignore ~/.cursor; mkfifo ~/.cursor/mcp.json ~/.cursor/cli-config.json ~/.cursor/projects; true")
			turn := w.attempt("fifoer", step{"shell": "true"})
			return was(refused, "the next turn %s %.80s", turn.Outcome, turn.Detail)
		}},
	}
}

// scratch makes an agent for one attempt, which may harm itself.
func (w *world) scratch(name string) (end func()) {
	dir := filepath.Join(w.dir, "scratch-"+name)
	must(os.MkdirAll(dir, 0o755))
	w.create(substrat.NewAgent{Name: name, Dir: dir})
	return func() { w.end(name) }
}

// attempt has an agent try a turn that may fail for good, and gives its first attempt.
func (w *world) attempt(name string, steps ...step) substrat.Turn {
	before := w.agent(name).Turns
	w.send(name, script(steps...))
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if turns := w.turns(name); len(turns) > before && turns[before].EndedAt != nil {
			return turns[before]
		}
		if time.Now().After(deadline) {
			must(errors.New("the turn of " + name + " does not end"))
		}
	}
}

func (w *world) shellQuiet(ref, command string) {
	defer func() { _ = recover() }()
	w.shell(ref, command)
}

// nextTurn has the attacker leave something, and looks whether the turn after it runs it.
func nextTurn(w *world, leave string) outcome {
	marker := filepath.Join(w.facts.Shared, "next-marker")
	_ = os.Remove(marker)
	w.shell("lead/attacker", leave)
	w.turn("lead/attacker", step{"mcp": "list_children"}, step{"shell": "true"})
	w.turn("lead/victim", step{"mcp": "list_children"}, step{"shell": "true"})
	defer w.shellQuiet("lead/attacker", "rm -rf ~/.cursor/mcp.json ~/bin ~/.local/bin ~/.profile ~/.bashrc ~/.bash_profile ~/.zshenv bin node_modules substrat node cursor-agent")
	if _, err := os.Stat(marker); err == nil {
		return was(hole, "the next turn ran it")
	}
	return was(refused, "the next turns did not run it")
}

func preloads(w *world) outcome {
	mark := filepath.Join(w.facts.Shared, "attack-preload.so")
	must(os.WriteFile(mark, nil, 0o755))
	var ws substrat.Workspace
	must(w.do("POST", "/v1/workspaces", substrat.NewWorkspace{Name: "preload", Agent: "lead"}, &ws))
	out, err := w.cli("workspace", "env", "lead/../preload", "export LD_PRELOAD="+mark+" LD_LIBRARY_PATH=/tmp GCONV_PATH=/tmp PATH=/tmp:$PATH BASH_ENV=/tmp/x SUBSTRAT_SOCKET=/x HOME=/x")
	if err != nil {
		return was(refused, "%.120s", out)
	}
	w.create(substrat.NewAgent{Name: "preload", Parent: "lead", Workspace: "../preload"})
	defer w.end("lead/preload")
	w.begin("lead/preload", step{"sleep_ms": 3000})
	defer w.cancel("lead/preload")
	own, _ := os.Readlink("/proc/self/ns/pid")
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range list {
		ns, _ := os.Readlink(p + "/ns/pid")
		env, _ := os.ReadFile(p + "/environ")
		if ns == own && bytes.Contains(env, []byte("LD_PRELOAD="+mark)) {
			cmd, _ := os.ReadFile(p + "/cmdline")
			return was(hole, "outside runs with it: %.80q", cmd)
		}
	}
	return was(refused, "no process outside the sandbox has it")
}

func plantForChild(w *world) outcome {
	w.shell("lead/attacker", `mkdir -p sub/.cursor/rules; echo `+evil+` | tee sub/.cursor/rules/evil.mdc sub/.cursor/hooks.json sub/.cursor/mcp.json >/dev/null`)
	after := w.seen
	w.create(substrat.NewAgent{Name: "subber", Parent: "lead", Dir: filepath.Join(w.facts.Shared, "sub")})
	defer w.end("lead/subber")
	out := w.shell("lead/subber", "grep -rl "+evil+" .cursor; echo looked")
	w.seen = after
	switch {
	case !strings.Contains(out, "looked"):
		return was(refused, "its turn did not begin: %.100s", out)
	case !strings.Contains(out, ".cursor/"):
		return was(refused, "it does not see them")
	case strings.Contains(out, "mcp.json"):
		return was(hole, "its servers are the attacker's: %q", out)
	case w.wasTold(regexp.MustCompile(`evil\.mdc|hooks\.json|sub/\.cursor`)):
		return was(told, "it sees %q, and an event says so", out)
	}
	return was(hole, "the other agent obeys %q, and nothing is said of it", strings.ReplaceAll(out, "\n", " "))
}

// vaultIntact sees that the directory that links lead to is as it was.
func vaultIntact(w *world, o outcome) outcome {
	vault := filepath.Join(w.dir, "vault")
	var names []string
	_ = filepath.Walk(vault, func(p string, st os.FileInfo, err error) error {
		if err == nil {
			names = append(names, strings.TrimPrefix(p, vault))
		}
		return nil
	})
	want := " /inner /inner/empty /inner/secret /secret"
	if got := strings.Join(names, " "); got != want {
		_ = os.RemoveAll(vault)
		_ = os.MkdirAll(filepath.Join(vault, "inner/empty"), 0o755)
		for _, p := range []string{"secret", "inner/secret"} {
			_ = os.WriteFile(filepath.Join(vault, p), []byte(fileCanary+"\n"), 0o644)
		}
		return was(hole, "a directory of the host was changed: it holds%s. %s", got, o.Text)
	}
	for _, p := range []string{"secret", "inner/secret"} {
		if data, _ := os.ReadFile(filepath.Join(vault, p)); string(data) != fileCanary+"\n" {
			return was(hole, "%s of the host was changed", p)
		}
	}
	return o
}
