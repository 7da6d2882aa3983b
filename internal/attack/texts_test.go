//go:build attack && linux

package attack

import (
	"os"
	"path/filepath"
	"strings"

	"substrat.dev/substrat"
)

// hostile is text that a terminal, or a reader, would obey: a title, the clipboard, a question that it answers, a link, bells,
// C1 controls, reversed and invisible text.
const hostile = "A\x1b]0;title\x07B\x1b]52;c;ZXZpbA==\x07C\x1bP$qm\x1b\\D\x1b[2J\x1b[31mE\x9b31mF\u009b31mG\u202eH\u2066I\U000E0041J\x08K\rL\x1b]8;;http://x\x1b\\M\x00N\u200bO"

// obeyed finds what a terminal would obey in what was printed.
func obeyed(out string) string {
	for i, r := range out {
		bad := r == 0x1b || r == 0x07 || r == 0x08 || r == 0 || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0x2066 || r >= 0xe0000 && r < 0xe0080
		if bad {
			return strings.ToValidUTF8(out[max(0, i-20):min(len(out), i+20)], "?")
		}
	}
	return ""
}

func texts() []attempt {
	shows := func(args ...string) func(w *world) outcome {
		return func(w *world) outcome {
			w.speakHostile()
			out, _ := w.cli(args...)
			if bad := obeyed(out); bad != "" {
				return was(hole, "substrat %s prints %q", strings.Join(args, " "), bad)
			}
			if len(out) < 10 {
				return was(untried, "substrat %s prints %q", strings.Join(args, " "), out)
			}
			return was(refused, "%d bytes, none that a terminal obeys", len(out))
		}
	}
	return []attempt{
		{id: "X01", threat: "T19", what: "escape codes in output, shown by substrat log", play: shows("log", "hostile", "--full")},
		{id: "X02", threat: "T19", what: "escape codes in metadata and errors, shown by agent inspect", play: shows("agent", "inspect", "hostile")},
		{id: "X03", threat: "T19", what: "escape codes in messages, shown by message ls and inbox", play: shows("message", "ls")},
		{id: "X04", threat: "T19", what: "escape codes in a question, shown by substrat queue", play: shows("queue")},
		{id: "X05", threat: "T19", what: "escape codes in events", play: shows("events")},
		{id: "X06", threat: "T19", what: "escape codes found by substrat search", play: shows("search", "title")},
		{id: "X07", threat: "T19", what: "escape codes in file names and content, shown by workspace diff", play: hostileDiff},
		{id: "X08", threat: "T19", what: "escape codes shown by why, tree, workspace ls", play: func(w *world) outcome {
			for _, args := range [][]string{{"why", "hostile"}, {"agent", "tree"}, {"agent", "ls"}, {"workspace", "ls"}, {"message", "list"}} {
				if o := shows(args...)(w); o.Verdict == hole {
					return o
				}
			}
			return was(refused, "none that a terminal obeys")
		}},
	}
}

// speakHostile has an agent say what a terminal would obey wherever it can.
func (w *world) speakHostile() {
	if w.tryAgent("hostile").ID != "" {
		return
	}
	dir := filepath.Join(w.dir, "hostile")
	must(os.MkdirAll(dir, 0o755))
	w.create(substrat.NewAgent{Name: "hostile", Dir: dir})
	w.turn("hostile", step{"think": hostile}, step{"shell": "printf '%s' '" + strings.ReplaceAll(hostile, "\x00", "") + "'; printf '\\033]0;t\\007'"},
		step{"write": "n\x1b[31mame", "content": hostile}, step{"mcp": "set_agent_metadata", "args": step{"metadata": step{"note": hostile}}},
		step{"mcp": "send_message", "args": step{"recipient": "USER", "text": "title " + hostile, "sync": false}},
		step{"mcp": "ask_user", "args": step{"question": "May I? " + hostile}}, step{"mcp": "create_workspace", "args": step{"name": "x\x1b[2J"}}, step{"text": "title " + hostile})
}

func hostileDiff(w *world) outcome {
	repo := filepath.Join(w.dir, "hostile-repo")
	must(os.MkdirAll(repo, 0o755))
	w.git(repo, "init", "-q", "-b", "main")
	must(os.WriteFile(filepath.Join(repo, "a.txt"), []byte("one\n"), 0o644))
	w.git(repo, "add", "-A")
	w.git(repo, "commit", "-qm", "one")
	w.create(substrat.NewAgent{Name: "differ", Dir: repo, Worktree: true})
	defer w.end("differ")
	w.turn("differ", step{"shell": "git config --global user.name a; git config --global user.email a@b; printf 'x\\033]0;t\\007\\233y\\n' > a.txt; printf x > \"$(printf 'n\\033[31mame')\"; git add -A; git commit -qm \"$(printf 'm\\033]0;x\\007')\"; printf 'more\\033[2J\\n' >> a.txt; touch \"$(printf 'u\\033[2J')\""})
	ws := w.workspaceOf("differ")
	all := ""
	for _, args := range [][]string{{"workspace", "diff", ws}, {"workspace", "merge", ws}, {"log", "differ"}} {
		out, _ := w.cli(args...)
		if bad := obeyed(out); bad != "" {
			return was(hole, "substrat %s prints %q", strings.Join(args, " "), bad)
		}
		all += out
	}
	return was(refused, "%d bytes, none that a terminal obeys", len(all))
}
