//go:build attack && linux

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// worktrees are attempts to have git on the host, called by the daemon, run something of the agent's.
func worktrees() []attempt {
	try := func(plant string) func(w *world) outcome {
		return func(w *world) outcome { return diffAndMerge(w, plant) }
	}
	return []attempt{
		{id: "W01", threat: "T6", what: "git hooks in the repository of a worktree, then substrat workspace diff and merge", play: try(
			`H=$(git rev-parse --git-common-dir)/hooks; for h in post-checkout pre-commit post-merge pre-merge-commit post-index-change reference-transaction fsmonitor-watchman; do printf '#!/bin/sh\ntouch MARKER\n' > $H/$h; chmod +x $H/$h; done; true`)},
		{id: "W02", threat: "T6", what: "core.fsmonitor, core.hooksPath, diff.external, textconv and aliases in the configuration", play: try(
			`for k in core.fsmonitor core.sshCommand diff.external diff.x.textconv diff.x.command merge.x.driver filter.x.clean filter.x.smudge filter.x.process gpg.program core.pager core.editor credential.helper; do git config $k 'touch MARKER'; git config --worktree $k 'touch MARKER'; done; git config core.hooksPath $PWD/h; mkdir h; printf '#!/bin/sh\ntouch MARKER\n' | tee h/post-checkout h/pre-merge-commit h/post-merge > /dev/null; chmod +x h/*; echo '* filter=x diff=x merge=x' > .gitattributes; true`)},
		{id: "W03", threat: "T6", what: "replace the worktree's .git file by a repository of its own with a configuration", play: try(
			`rm .git; git init -q .; for k in core.fsmonitor diff.external filter.x.clean; do git config $k 'touch MARKER'; done; echo '* filter=x diff=x' > .gitattributes; true`)},
		{id: "W04", threat: "T6", what: "lead the worktree's .git file to a directory of its own, absolute and by a link", play: try(
			`mkdir -p $PWD/g; cp -r $(git rev-parse --git-common-dir)/. g/ 2>/dev/null; printf '[core]\n\tfsmonitor = touch MARKER\n\tworktree = %s\n' $PWD >> g/config; rm .git; echo "gitdir: $PWD/g" > .git; true`)},
		{id: "W05", threat: "T6", what: "a repository inside the worktree, with a fsmonitor and hooks, that git status would enter", play: try(
			`git init -q mod; git -C mod config core.fsmonitor 'touch MARKER'; git -C mod config core.hooksPath $PWD/h; (cd mod; echo x > x; git add x; git -c user.name=a -c user.email=a commit -qm x); printf '[submodule "mod"]\n\tpath = mod\n\turl = ./mod\n\tupdate = !touch MARKER\n' > .gitmodules; git add mod .gitmodules; true`)},
		{id: "W06", threat: "T6", what: "a commondir, config.worktree and modules in the git directory", play: try(
			`D=$(git rev-parse --git-dir); C=$(git rev-parse --git-common-dir); mkdir -p x/hooks x/objects x/refs; printf '[core]\n\tfsmonitor = touch MARKER\n' > x/config; echo $PWD/x > $C/commondir; echo $PWD/x > $D/commondir; cp x/config $D/config.worktree; cp x/config $C/config.worktree; mkdir -p $C/modules/m; cp x/config $C/modules/m/; true`)},
		{id: "W07", threat: "T4", what: "links in the worktree's git directory: index, HEAD, objects, refs", play: try(
			`D=$(git rev-parse --git-dir); for f in index HEAD ORIG_HEAD FETCH_HEAD logs; do rm -rf $D/$f; ln -s VAULT/secret $D/$f; done; true`)},
		{id: "W08", threat: "T4", what: "commit links that lead out, then have the branch merged and more written through them", play: try(
			`ln -s VAULT out; ln -s VAULT/inner/new.txt file; git add -A; git commit -qm one; git rm -q --cached out file; rm -f out file; mkdir out; echo x > out/made; echo y > file; git add -A; git commit -qm two; true`)},
		{id: "W09", threat: "CVE-2018-11235", what: "commit names that leave the tree or reach .git: .., .GIT, git~1", play: try(
			`B=$(echo x | git hash-object -w --stdin); for n in '../evil' '.GIT/hooks/post-merge' '.git/hooks/post-merge' 'git~1/hooks/post-merge' '.g\342\200\214it/config'; do git update-index --add --cacheinfo 100755,$B,"$(printf $n)"; done; T=$(printf '100755 blob %s\t..\n' $B | git mktree 2>/dev/null); git commit -qm x; true`)},
		{id: "W10", threat: "T21", what: "branches and files whose names are options", play: try(
			`touch -- '--output=VAULT/made' '-O' '--upload-pack=touch MARKER' '--exec=touch MARKER'; git add -A; git commit -qm x; git branch -m -- '--help' ; true`)},
	}
}

// workspaceOf is the id of the worktree that an agent lives in.
func (w *world) workspaceOf(ref string) string {
	var list struct {
		Workspaces []substrat.Workspace `json:"workspaces"`
	}
	must(w.do("GET", "/v1/workspaces", nil, &list))
	for _, ws := range list.Workspaces {
		if slices.Contains(ws.Residents, ref) {
			return ws.ID
		}
	}
	must(fmt.Errorf("%s lives in no workspace: %+v", ref, list.Workspaces))
	return ""
}

// diffAndMerge gives an agent a worktree, has it plant something, and does all that the daemon does with a worktree.
func diffAndMerge(w *world, plant string) outcome {
	repo, err := os.MkdirTemp(w.dir, "repo-")
	must(err)
	marker := filepath.Join(repo, "marker-ran")
	outer := filepath.Join(w.dir, "marker-outside")
	w.git(repo, "init", "-q", "-b", "main")
	must(os.WriteFile(filepath.Join(repo, "a.txt"), []byte("one\n"), 0o644))
	w.git(repo, "add", "-A")
	w.git(repo, "commit", "-qm", "one")
	name := "tree-" + strings.TrimPrefix(filepath.Base(repo), "repo-")
	ref := name
	w.create(substrat.NewAgent{Name: name, Dir: repo, Worktree: true})
	defer w.end(ref)
	plant = strings.NewReplacer("MARKER", outer, "VAULT", filepath.Join(w.dir, "vault")).Replace(plant)
	setup := "git config --global user.name a; git config --global user.email a@example.com; echo two > b.txt; echo three >> a.txt; git add -A; git commit -qm work; "
	out := w.shell(ref, setup+plant+"; git add -A >/dev/null 2>&1; git commit -qm planted >/dev/null 2>&1; rm -f "+outer)
	var said []string
	ws := w.workspaceOf(ref)
	for _, args := range [][]string{{"workspace", "show", ws}, {"workspace", "diff", ws}, {"workspace", "merge", ws}, {"workspace", "diff", ws}, {"agent", "inspect", ref}} {
		text, err := w.cli(args...)
		if err != nil {
			said = append(said, args[1]+": "+firstLine(text))
		}
		if leaks(text) {
			return was(hole, "%v shows a file of the host", args)
		}
	}
	w.shellQuiet(ref, "git status; true")
	w.end(ref)
	_, _ = w.cli("workspace", "rm", ws, "--force")
	for _, m := range []string{marker, outer} {
		if os.Remove(m) == nil {
			return was(hole, "git on the host ran what the agent planted")
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "evil")); err == nil {
		return was(hole, "a file was written outside the repository")
	}
	// What a person does next.
	cmd := fmt.Sprintf("git -C %s status; git -C %s diff; git -C %s log -1", repo, repo, repo)
	text, _ := runToolIn(w.hostHome, cmd)
	if os.Remove(outer) == nil {
		return was(hole, "the person's next git status ran what the agent planted: %.60s", text)
	}
	return vaultIntact(w, was(refused, "%.60s %.100s", firstLine(out), strings.Join(said, "; ")))
}
