package sim

import (
	"path"
	"regexp"
	"strings"
)

// rules say what may be done without asking, which in print mode means: at all.
type rules struct {
	force       bool
	mode        string
	allow, deny []string
}

// shell says whether a command line may run: every simple command of it must.
func (r rules) shell(commands []simpleCommand) bool {
	if r.mode == "plan" {
		return false
	}
	for _, c := range commands {
		if !r.may("Shell", c.name(), c.text) {
			return false
		}
	}
	return r.force || len(commands) > 0
}

// mcp says whether an MCP tool may be called; this is the second gate, after the server's approval.
func (r rules) mcp(server, tool string) bool {
	return r.mode != "plan" && r.may("Mcp", server+":"+tool)
}

// edits says whether a file may be changed, reads whether it may be read.
func (r rules) edits(path string) bool {
	return r.mode != "ask" && !matches(r.deny, "Write", []string{path})
}

func (r rules) reads(path string) bool { return !matches(r.deny, "Read", []string{path}) }

func (r rules) may(kind string, subjects ...string) bool {
	if matches(r.deny, kind, subjects) {
		return false
	}
	return r.force || matches(r.allow, kind, subjects)
}

func matches(list []string, kind string, subjects []string) bool {
	for _, rule := range list {
		pattern, ok := strings.CutPrefix(rule, kind+"(")
		if !ok {
			continue
		}
		pattern = strings.TrimSuffix(pattern, ")")
		for _, subject := range subjects {
			if hit, err := path.Match(pattern, subject); err == nil && hit || pattern == "**" || deep(pattern, subject) {
				return true
			}
		}
	}
	return false
}

// deep matches a pattern of files in which ** stands for any number of directories.
func deep(pattern, name string) bool {
	if !strings.Contains(pattern, "**") {
		return false
	}
	text := regexp.QuoteMeta(pattern)
	text = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, `\*\*`, "\x00"), `\*`, "[^/]*"), "\x00", ".*")
	re, err := regexp.Compile("^" + text + "$")
	return err == nil && re.MatchString(name)
}
