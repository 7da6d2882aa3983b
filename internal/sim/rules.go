package sim

import (
	"path"
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

// edits says whether files may be changed.
func (r rules) edits() bool { return r.mode != "ask" }

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
			if hit, err := path.Match(pattern, subject); err == nil && hit || pattern == "**" {
				return true
			}
		}
	}
	return false
}
