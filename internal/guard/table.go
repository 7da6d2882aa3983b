package guard

import (
	"path"
	"strings"
	"unicode"
)

// Does says what a file can do on the machine of whoever opens the workspace with the program that obeys it.
type Does string

const (
	// Runs means that it names commands, which the program runs.
	Runs Does = "runs commands"
	// Instructs means that an agent takes it for instructions.
	Instructs Does = "instructs an agent"
	// Redirects means that it names where requests go, and keys with them.
	Redirects Does = "redirects a key"
)

// hold says how a file at the top of the workspace is held while an agent runs.
type hold int

const (
	// flagged files are watched only.
	flagged hold = iota
	// kept files are shown read-only if they exist. Whether one is made is watched.
	kept
	// shut files are shown read-only, and where there is none, nothing can be made.
	shut
)

// rule is one line of the table. Names are in lower case: a file system may not tell cases apart, and the CLIs that read
// them run on such systems. A name that ends in a slash is a directory with everything below it, one that begins with * is
// the end of a name.
type rule struct {
	name string
	by   string
	does Does
	hold hold
	// if set, sift gives from the content of a file what can do harm; only what is new in it is told.
	sift func([]byte) []string
	// tell gives from the content what a person wants to know of it.
	tell func([]byte) []string
}

// table is the literal list. A place is shut if the CLIs that run here obey it, or if it has run commands for somebody in a
// published attack; each shut place that does not exist costs a directory in the user's tree for as long as the turn runs.
var table = []rule{
	{name: ".cursor/", by: "Cursor", does: Runs, hold: shut, tell: tellJSON},
	{name: ".claude/", by: "Claude Code", does: Runs, hold: shut, tell: tellJSON},
	{name: ".codex/", by: "Codex", does: Runs, hold: shut, tell: tellTOML},
	{name: ".gemini/", by: "Gemini CLI", does: Runs, hold: shut, tell: tellJSON},
	{name: ".mcp.json", by: "Claude Code and other agent CLIs", does: Runs, hold: shut, tell: tellJSON},
	{name: ".vscode/", by: "VS Code and Cursor", does: Runs, hold: shut, tell: tellJSON},
	{name: ".idea/", by: "JetBrains editors", does: Runs, hold: shut},
	{name: ".envrc", by: "direnv", does: Runs, hold: shut},

	{name: ".agents/", by: "agent CLIs", does: Instructs, hold: kept},
	{name: ".amazonq/", by: "Amazon Q", does: Runs, hold: kept, tell: tellJSON},
	{name: ".augment/", by: "Augment", does: Runs, hold: kept, tell: tellJSON},
	{name: ".cline/", by: "Cline", does: Runs, hold: kept, tell: tellJSON},
	{name: ".continue/", by: "Continue", does: Runs, hold: kept, tell: tellJSON},
	{name: ".copilot/", by: "Copilot", does: Runs, hold: kept, tell: tellJSON},
	{name: ".crush/", by: "Crush", does: Runs, hold: kept, tell: tellJSON},
	{name: ".factory/", by: "Factory", does: Runs, hold: kept, tell: tellJSON},
	{name: ".goose/", by: "Goose", does: Runs, hold: kept, tell: tellJSON},
	{name: ".husky/", by: "git, through husky", does: Runs, hold: kept},
	{name: ".junie/", by: "Junie", does: Runs, hold: kept, tell: tellJSON},
	{name: ".kilocode/", by: "Kilo Code", does: Runs, hold: kept, tell: tellJSON},
	{name: ".kiro/", by: "Kiro", does: Runs, hold: kept, tell: tellJSON},
	{name: ".opencode/", by: "opencode", does: Runs, hold: kept, tell: tellJSON},
	{name: ".qwen/", by: "Qwen Code", does: Runs, hold: kept, tell: tellJSON},
	{name: ".roo/", by: "Roo Code", does: Runs, hold: kept, tell: tellJSON},
	{name: ".trae/", by: "Trae", does: Runs, hold: kept, tell: tellJSON},
	{name: ".windsurf/", by: "Windsurf", does: Runs, hold: kept, tell: tellJSON},
	{name: ".zed/", by: "Zed", does: Runs, hold: kept, tell: tellJSON},
	{name: ".aider.conf.yml", by: "Aider", does: Runs, hold: kept},
	{name: ".crush.json", by: "Crush", does: Runs, hold: kept, tell: tellJSON},
	{name: "crush.json", by: "Crush", does: Runs, hold: kept, tell: tellJSON},
	{name: "opencode.json", by: "opencode", does: Runs, hold: kept, tell: tellJSON},
	{name: "opencode.jsonc", by: "opencode", does: Runs, hold: kept, tell: tellJSON},
	{name: ".exrc", by: "vi", does: Runs, hold: kept},
	{name: ".vimrc", by: "vim", does: Runs, hold: kept},
	{name: ".nvimrc", by: "Neovim", does: Runs, hold: kept},
	{name: ".nvim.lua", by: "Neovim", does: Runs, hold: kept},
	{name: ".dir-locals.el", by: "Emacs", does: Runs, hold: kept},
	{name: ".autoenv.zsh", by: "the shell, through autoenv", does: Runs, hold: kept},

	{name: "agents.md", by: "agent CLIs", does: Instructs},
	{name: "agents.override.md", by: "Codex", does: Instructs},
	{name: "claude.md", by: "Claude Code", does: Instructs},
	{name: "claude.local.md", by: "Claude Code", does: Instructs},
	{name: "gemini.md", by: "Gemini CLI", does: Instructs},
	{name: ".cursorrules", by: "Cursor", does: Instructs},
	{name: ".windsurfrules", by: "Windsurf", does: Instructs},
	{name: ".clinerules", by: "Cline", does: Instructs},
	{name: ".clinerules/", by: "Cline", does: Instructs},
	{name: ".goosehints", by: "Goose", does: Instructs},
	{name: ".roomodes", by: "Roo Code", does: Instructs},
	{name: ".github/copilot-instructions.md", by: "Copilot", does: Instructs},
	{name: ".github/instructions/", by: "Copilot", does: Instructs},
	{name: ".github/hooks/", by: "Copilot", does: Runs, tell: tellJSON},
	{name: ".github/workflows/", by: "GitHub Actions", does: Runs},
	{name: ".gitlab-ci.yml", by: "GitLab", does: Runs},
	{name: ".devcontainer/", by: "editors, for a container", does: Runs, tell: tellJSON},
	{name: ".devcontainer.json", by: "editors, for a container", does: Runs, tell: tellJSON},
	{name: "*.code-workspace", by: "VS Code and Cursor", does: Runs, tell: tellJSON},
	{name: "*.sublime-project", by: "Sublime Text", does: Runs},
	{name: ".run/", by: "JetBrains editors", does: Runs},
	{name: ".pre-commit-config.yaml", by: "git, through pre-commit", does: Runs},
	{name: "lefthook.yml", by: "git, through lefthook", does: Runs},
	{name: ".gitconfig", by: "git, where it is included", does: Runs, sift: siftGit},
	{name: "mise.toml", by: "the shell, through mise", does: Runs},
	{name: ".mise.toml", by: "the shell, through mise", does: Runs},
	{name: ".env", by: "agent CLIs and tools that load it", does: Redirects, sift: siftEnv},
	{name: ".env.local", by: "tools that load it", does: Redirects, sift: siftEnv},
}

// Rules for what is found in a git directory, wherever that is.
var (
	gitConfig = rule{by: "git", does: Runs, sift: siftGit}
	gitHook   = rule{by: "git", does: Runs}
	gitLead   = rule{by: "git", does: Runs, tell: tellLine}
	gitAttrs  = rule{by: "git", does: Runs}
)

// rulesByName finds a rule by a name, or by the last two names of a path; rulesByEnd by the end of a name.
var (
	rulesByName = map[string]*rule{}
	rulesByEnd  []*rule
	// seconds are the first names of rules that have two.
	seconds = map[string]bool{}
)

func init() {
	for i := range table {
		r := &table[i]
		if strings.HasPrefix(r.name, "*") {
			rulesByEnd = append(rulesByEnd, r)
			continue
		}
		rulesByName[r.name] = r
		if first, second, two := strings.Cut(strings.TrimSuffix(r.name, "/"), "/"); two && second != "" {
			seconds[first] = true
		}
	}
}

// match finds the rule for an entry by its name and that of the directory it is in. A directory may be in place of a file
// that would be obeyed, and a link of anything.
func match(dir, name string) *rule {
	name = fold(name)
	keys := []string{name, name + "/"}
	if dir = fold(path.Base(dir)); seconds[dir] {
		keys = append(keys, dir+"/"+name, dir+"/"+name+"/")
	}
	for _, k := range keys {
		if r := rulesByName[k]; r != nil {
			return r
		}
	}
	for _, r := range rulesByEnd {
		if strings.HasSuffix(name, r.name[1:]) {
			return r
		}
	}
	return nil
}

// fold makes one name of all those that some file system takes for the same: case does not count, nor do marks without a
// width.
func fold(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, name)
}
