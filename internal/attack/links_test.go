//go:build attack && linux

package attack

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"substrat.dev/substrat"
)

// look reads what the daemon read or showed for a secret.
func leaks(out string) bool { return strings.Contains(out, fileCanary) }

// links are attempts to lead the daemon, which works outside, through a symbolic link.
func links() []attempt {
	return []attempt{
		{id: "L01", threat: "T4", what: "make the .cursor of another agent's directory a link out, then let it run", play: func(w *world) outcome {
			w.shell("lead/attacker", "rm -rf l1; mkdir l1; ln -s "+filepath.Join(w.dir, "vault")+" l1/.cursor")
			return w.inDirectory("l1")
		}},
		{id: "L02", threat: "CVE-2025-59532", what: "make the directory of another agent itself a link out", play: func(w *world) outcome {
			w.shell("lead/attacker", "rm -rf l2; mkdir l2")
			w.create(substrat.NewAgent{Name: "l2", Parent: "lead", Dir: filepath.Join(w.facts.Shared, "l2")})
			defer w.end("lead/l2")
			w.shell("lead/attacker", "rmdir l2; ln -s "+filepath.Join(w.dir, "vault")+" l2")
			out := w.shell("lead/l2", "cat secret inner/secret; touch made; mkdir made2")
			if leaks(out) {
				return vaultIntact(w, was(hole, "it works in a directory of the host's: %.60q", out))
			}
			return vaultIntact(w, was(refused, "its turn: %.100s", firstLine(out+w.agent("lead/l2").LastError)))
		}},
		{id: "L03", threat: "T4", what: "make a part of the path to another agent's directory a link out", play: func(w *world) outcome {
			w.shell("lead/attacker", "rm -rf l3; mkdir -p l3/inner")
			w.create(substrat.NewAgent{Name: "l3", Parent: "lead", Dir: filepath.Join(w.facts.Shared, "l3/inner")})
			defer w.end("lead/l3")
			w.shell("lead/attacker", "rm -rf l3; ln -s "+filepath.Join(w.dir, "vault")+" l3")
			out := w.shell("lead/l3", "cat secret; touch made")
			if leaks(out) {
				return vaultIntact(w, was(hole, "it works in a directory of the host's: %.60q", out))
			}
			return vaultIntact(w, was(refused, "its turn: %.100s", firstLine(out+w.agent("lead/l3").LastError)))
		}},
		{id: "L04", threat: "CVE-2021-30465", what: "swap a directory and a link while 40 turns are to be mounted on it", play: swapWhileMounting},
		{id: "L05", threat: "T4", what: "make a view of a subdirectory that is a link out", play: func(w *world) outcome {
			return w.children("ln -sfn "+filepath.Join(w.dir, "vault")+" l5", step{"mcp": "create_workspace", "args": step{"name": "v5", "view_of": ".", "subdir": "l5"}},
				step{"mcp": "spawn_agent", "args": step{"name": "v5", "instructions": "x", "workspace": "v5"}}, "v5")
		}},
		{id: "L06", threat: "T4", what: "spawn a child in a workspace_subdir that is a link out", play: func(w *world) outcome {
			return w.children("ln -sfn "+filepath.Join(w.dir, "vault")+" l6", step{"mcp": "spawn_agent", "args": step{"name": "v6", "instructions": "x", "workspace_subdir": "l6"}}, nil, "v6")
		}},
		{id: "L07", threat: "T4", what: "show by link_dir a directory that is a link out", play: linkOut},
		{id: "L08", threat: "T4", what: "replace the parent of a link's place, for the daemon to make or remove directories elsewhere", play: linkPlace},
		{id: "L09", threat: "T4", what: "a fifo, a socket, a giant and a pit of directories where the daemon copies configuration", play: func(w *world) outcome {
			w.shell("lead/attacker", "rm -rf l9; mkdir -p l9/.cursor/rules; cd l9/.cursor; mkfifo rules/fifo.mdc mcp.json; truncate -s 200G rules/giant.mdc; for i in $(seq 1 300); do mkdir d; cd d; done; true")
			return w.inDirectory("l9")
		}},
		{id: "L10", threat: "T4", what: "links and a pit 4000 deep in a workspace that is deleted from outside", play: deleteFullOfLinks},
		{id: "L11", threat: "T4", what: "show names that are links, fifos and devices to those who look: inspect, log, search, events", play: func(w *world) outcome {
			vault := filepath.Join(w.dir, "vault")
			defer w.scratch("looked")()
			w.shell("looked", "rm -rf ~/.cursor/chats ~/.cursor/projects; ln -s "+vault+" ~/.cursor/chats; mkfifo ~/.cursor/projects; true")
			var all strings.Builder
			for _, args := range [][]string{{"agent", "inspect", "looked"}, {"log", "looked"}, {"search", "canary"}, {"workspace", "ls"}, {"agent", "ls"}} {
				out, _ := w.cli(args...)
				all.WriteString(out)
			}
			if strings.Contains(strings.ReplaceAll(all.String(), w.facts.Canary+" > $HOME", ""), "vault/secret:") {
				return was(hole, "the secret is shown")
			}
			return vaultIntact(w, was(refused, "the daemon looks at none of it"))
		}},
		{id: "L12", threat: "CVE-2024-42472", what: "make the home of the agent or a directory in it a link out", play: func(w *world) outcome {
			vault := filepath.Join(w.dir, "vault")
			defer w.scratch("homeless")()
			w.shell("homeless", "mv $HOME $HOME-old; rmdir $HOME; ln -s "+vault+" $HOME; for d in .local .cache tmp .substrat; do rm -rf ~/$d; ln -s "+vault+" ~/$d; done; true")
			w.attempt("homeless", step{"shell": "touch ~/.local/made ~/tmp/made; true"})
			return vaultIntact(w, was(refused, "links in the home lead nowhere"))
		}},
	}
}

// inDirectory makes an agent of a subdirectory of the shared workspace, has a turn in it, looks at it and ends it.
func (w *world) inDirectory(name string) outcome {
	w.create(substrat.NewAgent{Name: name, Parent: "lead", Dir: filepath.Join(w.facts.Shared, name)})
	out := w.shell("lead/"+name, "cat .cursor/secret .cursor/inner/secret 2>&1; echo looked")
	failed := w.agent("lead/" + name).LastError
	_, _ = w.cli("agent", "inspect", "lead/"+name)
	w.end("lead/" + name)
	if leaks(out) {
		return was(hole, "the secret is shown: %.100q", out)
	}
	if failed == "" && !strings.Contains(out, "looked") {
		failed = "no turn came of it"
	}
	return vaultIntact(w, was(refused, "%.120s", firstLine(failed+out)))
}

// children has the lead prepare, do one or two calls, and looks what a child that came of it sees.
func (w *world) children(prepare string, first, second step, name string) outcome {
	w.shell("lead/attacker", prepare)
	steps := []step{first}
	if second != nil {
		steps = append(steps, second)
	}
	r := w.turn("lead/attacker", append(steps, step{"text": "{{last}}"})...)
	ref := "lead/attacker/" + name
	defer w.end(ref)
	text := ""
	if r.Turn != nil {
		text = r.Turn.Text
	}
	if w.tryAgent(ref).ID == "" {
		return vaultIntact(w, was(refused, "%.120s", text))
	}
	out := w.shell(ref, "cat secret; touch made; mkdir made2")
	if leaks(out) {
		return vaultIntact(w, was(hole, "the child works in a directory of the host's"))
	}
	return vaultIntact(w, was(refused, "the child's turn: %.100s", firstLine(out+w.agent(ref).LastError)))
}

func swapWhileMounting(w *world) outcome {
	vault := filepath.Join(w.dir, "vault")
	w.shell("lead/attacker", "rm -rf l4 l4b; mkdir l4; ln -s "+vault+" l4b")
	w.create(substrat.NewAgent{Name: "l4", Parent: "lead", Dir: filepath.Join(w.facts.Shared, "l4")})
	defer w.end("lead/l4")
	// RENAME_EXCHANGE swaps the two at one stroke, as fast as the kernel can.
	msg := w.send("lead/attacker", script(step{"shell": "timeout 60 ./probe inside batch facts.json swap.json L99", "timeout_ms": 70_000}))
	ran, failed := 0, 0
	for range 40 {
		out := w.shell("lead/l4", "cat secret inner/secret .cursor/secret; touch made; echo looked")
		if leaks(out) {
			w.cancel("lead/attacker")
			return vaultIntact(w, was(hole, "after %d turns the secret was seen", ran))
		}
		if strings.Contains(out, "looked") {
			ran++
		} else {
			failed++
		}
	}
	w.cancel("lead/attacker")
	w.wait(msg, patience)
	return vaultIntact(w, was(refused, "%d turns ran, %d were refused, none saw it", ran, failed))
}

// swap exchanges a directory and a link for as long as it is let.
func swap(*facts) outcome {
	n := 0
	for ; n < 20_000_000; n++ {
		_ = unix.Renameat2(unix.AT_FDCWD, "l4", unix.AT_FDCWD, "l4b", unix.RENAME_EXCHANGE)
	}
	return was(refused, "%d swaps", n)
}

func linkOut(w *world) outcome {
	vault := filepath.Join(w.dir, "vault")
	w.shell("lead/attacker", "ln -sfn "+vault+" l7")
	var src, dst substrat.Workspace
	must(w.do("POST", "/v1/workspaces", substrat.NewWorkspace{Name: "src7", Agent: "lead", Dir: w.facts.Shared}, &src))
	must(w.do("POST", "/v1/workspaces", substrat.NewWorkspace{Name: "dst7", Agent: "lead"}, &dst))
	err := w.do("POST", "/v1/workspaces/"+url.PathEscape(dst.ID)+"/links", substrat.NewLink{At: "in", Source: "lead/../src7", Dir: "l7"}, nil)
	if err != nil {
		return was(refused, "%.160s", err.Error())
	}
	w.create(substrat.NewAgent{Name: "l7", Parent: "lead", Workspace: "../dst7"})
	defer w.end("lead/l7")
	out := w.shell("lead/l7", "cat in/secret; touch in/made")
	if leaks(out) {
		return vaultIntact(w, was(hole, "the link shows a directory of the host's"))
	}
	return vaultIntact(w, was(refused, "its turn: %.100s", firstLine(out+w.agent("lead/l7").LastError)))
}

// linkPlace lets a link be shown at a/empty, and makes a a link to a directory that has an empty one: what the daemon made
// for the mount, or takes away after it, must not be there.
func linkPlace(w *world) outcome {
	inner := filepath.Join(w.dir, "vault", "inner")
	var src, dst substrat.Workspace
	must(w.do("POST", "/v1/workspaces", substrat.NewWorkspace{Name: "src8", Agent: "lead"}, &src))
	must(w.do("POST", "/v1/workspaces", substrat.NewWorkspace{Name: "dst8", Agent: "lead"}, &dst))
	must(w.do("POST", "/v1/workspaces/"+url.PathEscape(dst.ID)+"/links", substrat.NewLink{At: "a/empty", Source: "lead/../src8"}, nil))
	must(w.do("POST", "/v1/workspaces/"+url.PathEscape(dst.ID)+"/links", substrat.NewLink{At: "b/new", Source: "lead/../src8"}, nil))
	w.create(substrat.NewAgent{Name: "l8", Parent: "lead", Workspace: "../dst8"})
	defer w.end("lead/l8")
	out := w.shell("lead/l8", "ls -R . | head -5; mv a a-old; ln -s "+inner+" a; mv b b-old; ln -s "+inner+" b; ls -l")
	second := w.shell("lead/l8", "ls -l; ls a b")
	return vaultIntact(w, was(refused, "%.60q, then %.80q", firstLine(out), firstLine(second+w.agent("lead/l8").LastError)))
}

func deleteFullOfLinks(w *world) outcome {
	var ws substrat.Workspace
	must(w.do("POST", "/v1/workspaces", substrat.NewWorkspace{Name: "full", Agent: "lead"}, &ws))
	w.create(substrat.NewAgent{Name: "full", Parent: "lead", Workspace: "../full"})
	vault := filepath.Join(w.dir, "vault")
	w.shell("lead/full", fmt.Sprintf("for i in 1 2 3; do ln -s %s l$i; ln -s %s/inner d$i; done; mkdir locked; touch locked/x; chmod 0 locked; ln -s . loop; perl -e 'for(1..4000){mkdir \"p\"; chdir \"p\"}'; true", vault, vault))
	w.end("lead/full")
	out, err := w.cli("workspace", "rm", "lead/../full", "--force")
	if _, statErr := os.Lstat(ws.Dir); statErr == nil {
		return vaultIntact(w, was(refused, "not deleted (%v %.80s), and nothing else was", err, firstLine(out)))
	}
	return vaultIntact(w, was(refused, "deleted, and nothing that it leads to"))
}
