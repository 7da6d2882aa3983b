package cursor

import (
	"slices"
	"strings"

	"substrat.dev/substrat/agentcli"
)

// status gives what a member of a result means for the call. Success is not a field: the member's name is it.
func status(name []byte) agentcli.ToolStatus {
	switch string(name) {
	case "success":
		return agentcli.ToolOK
	case "failure", "error", "spawnError", "fileNotFound", "invalidFile", "notFile", "notDirectory", "fileBusy", "noSpace", "failed",
		"cancelled", "aborted", "partialSuccess":
		return agentcli.ToolFailed
	case "rejected", "permissionDenied", "readPermissionDenied", "writePermissionDenied", "denied":
		return agentcli.ToolRejected
	case "timeout":
		return agentcli.ToolTimeout
	}
	return ""
}

// reasons say in words what an outcome means that brings no text of its own.
var reasons = map[string]string{
	"rejected": "rejected", "timeout": "timed out", "spawnError": "the command could not be started",
	"fileNotFound": "file not found", "invalidFile": "not a file that can be read", "notFile": "not a file", "fileBusy": "the file is busy",
	"noSpace": "no space left", "permissionDenied": "permission denied", "readPermissionDenied": "permission to read denied",
	"writePermissionDenied": "permission to write denied",
}

// settle says how a call ended, from its outcome.
func (c *call) settle(env *envelope) {
	if env.outcome == nil {
		c.Status, c.Error = agentcli.ToolFailed, "the result names no outcome"
		return
	}
	if c.Status = status(env.outcome); c.Status == "" {
		c.Status = agentcli.ToolFailed
	}
	if len(env.body) > 0 && env.body[0] == '"' {
		if c.Status == agentcli.ToolOK {
			c.Output = str(env.body)
		} else {
			c.Error = str(env.body)
		}
	}
	c.fill(string(env.outcome), env.said, env.body)
}

// fill fills in what a result says, in the shapes of all variants.
func (c *call) fill(name string, r fields, body value) {
	if c.Title == "" {
		c.Title = r.str("command", "path", "filePath", "url", "pattern")
	}
	if p := r.raw("path", "filePath", "deletedFile"); p != nil && len(c.Paths) == 0 {
		c.Paths = append(c.path[:0], str(p))
	} else if s := str(p); s != "" && !slices.Contains(c.Paths, s) && c.Kind != "search" {
		c.Paths = append(c.Paths, s)
	}
	if d := r.get("diffString"); d != nil {
		c.Diff, c.Line = hunks(str(d))
	}
	if v := r.get("readRange"); v != nil {
		c.Line = int(integer(in(v, "startLine")))
	}
	if c.Output == "" {
		c.Output = output(c.Native, r, body)
	}
	if v := r.get("exitCode"); v != nil {
		c.exit = int(integer(v))
		c.ExitCode = &c.exit
	}
	c.doubt(r)
	if c.Status != agentcli.ToolOK && c.Error == "" {
		c.Error = c.reason(name, r)
	}
}

// doubt takes a success back that says itself that it is none.
func (c *call) doubt(r fields) {
	if c.Status != agentcli.ToolOK {
		return
	}
	switch {
	case c.ExitCode != nil && *c.ExitCode != 0, len(r.get("signal")) > 2, boolean(r.get("aborted")):
		c.Status = agentcli.ToolFailed
	case boolean(r.get("isError")):
		c.Status, c.Error = agentcli.ToolFailed, c.Output
	}
}

// reason says why a call did not succeed.
func (c *call) reason(name string, r fields) string {
	if s := r.str("errorMessage", "error", "reason", "message", "clientVisibleErrorMessage"); s != "" {
		return s
	}
	switch {
	case len(r.get("signal")) > 2:
		return "ended by " + r.str("signal")
	case boolean(r.get("aborted")):
		return "aborted"
	case c.ExitCode != nil && c.Status == agentcli.ToolFailed:
		return "exit code " + itoa(int64(*c.ExitCode))
	case r.get("timeoutMs") != nil:
		return "timed out after " + itoa(integer(r.get("timeoutMs"))) + " ms"
	case reasons[name] != "":
		return reasons[name]
	}
	return name
}

// hunks takes the lines that name the file from a diff, and tells where its first hunk begins in the new file.
func hunks(diff string) (string, int) {
	if strings.HasPrefix(diff, "--- /dev/null\n") || strings.HasPrefix(diff, "--- a/") {
		if _, rest, ok := strings.Cut(diff, "\n"); ok && strings.HasPrefix(rest, "+++ ") {
			_, diff, _ = strings.Cut(rest, "\n")
		}
	}
	if !strings.HasPrefix(diff, "@@ ") {
		return diff, 0
	}
	head, _, _ := strings.Cut(diff, "\n")
	_, at, ok := strings.Cut(head, " +")
	if !ok {
		return diff, 0
	}
	return diff, int(integer(value(at)))
}
