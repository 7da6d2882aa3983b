package workspace

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"substrat.dev/substrat"
)

const (
	captureBegins = "\x00substrat captured environment, version 1\x00"
	captureEnds   = "\x00substrat captured environment ends\x00"
	// mostCapture bounds the output of a capture, mostEnv what is kept of it: it is part of the state.
	mostCapture = 1 << 20
	mostEnv     = 64 << 10
	mostEnvVars = 256
)

// volatile variables describe the shell that ran and not what it prepared.
var volatile = []string{"PWD", "OLDPWD", "SHLVL", "_"}

// CaptureScript gives a script for sh (or bash, for scripts written for it) that runs another one in the same shell and
// prints the environment and directory that it left, for ParseCapture. What the script itself prints goes to standard
// error. If the script fails, nothing is captured and its exit status is the shell's.
//
// The script is foreign code: it belongs into the sandbox of the agents that will use what it prepares.
func CaptureScript(script string) string {
	return `substrat_env=$(command -v env) || exit 127
exec 3>&1 1>&2
eval ` + shellQuote(script) + ` || exit
set +eux
command printf '\0substrat captured environment, version 1\0%s\0' "$(command pwd; echo x)" >&3
"$substrat_env" -0 >&3 3>&- 2>/dev/null || exit
command printf '\0substrat captured environment ends\0' >&3
`
}

// shellQuote makes one word of a text.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ParseCapture reads the standard output of a CaptureScript and gives what it changed: against before, the environment
// that the shell was started with, and dir, the workspace as that shell saw it. Variables whose names a shell could not
// set are left out, and so are those that describe the shell itself.
//
// Whoever starts a process with it sets the variables inside the sandbox and not around it: they were chosen in there.
func ParseCapture(out []byte, before map[string]string, dir string) (*substrat.WorkspaceEnv, error) {
	if len(out) > mostCapture {
		return nil, substrat.Errorf(substrat.CodeTooLarge, "cannot capture the environment: it is larger than %d KiB", mostCapture>>10)
	}
	_, rest, ok := bytes.Cut(out, []byte(captureBegins))
	rest, _, ended := bytes.Cut(rest, []byte(captureEnds))
	if !ok || !ended {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot capture the environment: the script did not run to its end").
			WithHint("it must not end the shell (exit, exec), and its last command must succeed")
	}
	where, list, _ := strings.Cut(string(rest), "\x00")
	// The x keeps a newline at the end of a directory's name; the newline before it is pwd's.
	where, ok = strings.CutSuffix(where, "\nx")
	env := &substrat.WorkspaceEnv{}
	var below bool
	if env.Dir, below = relative(dir, where); !ok || !below {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot capture the environment: the script ended in %q, outside of the workspace", where).
			WithHint("end it in a directory of the workspace")
	}
	after := map[string]string{}
	for _, entry := range strings.Split(list, "\x00") {
		if name, value, ok := strings.Cut(entry, "="); ok && isName(name) && !slices.Contains(volatile, name) {
			after[name] = value
		}
	}
	return env, difference(env, before, after)
}

// difference fills in what to set and to unset.
func difference(env *substrat.WorkspaceEnv, before, after map[string]string) error {
	size := 0
	for name, value := range after {
		if old, had := before[name]; had && old == value {
			continue
		}
		if !utf8.ValidString(value) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot capture the environment: the variable %s is not text in UTF-8", name).
				WithHint("unset it at the end of the script")
		}
		if env.Set == nil {
			env.Set = map[string]string{}
		}
		env.Set[name] = value
		size += len(name) + len(value)
	}
	for name := range before {
		if _, has := after[name]; !has && isName(name) && !slices.Contains(volatile, name) {
			env.Unset = append(env.Unset, name)
			size += len(name)
		}
	}
	slices.Sort(env.Unset)
	if size > mostEnv || len(env.Set)+len(env.Unset) > mostEnvVars {
		return substrat.Errorf(substrat.CodeTooLarge, "cannot capture the environment: it changes more than %d variables or %d KiB", mostEnvVars, mostEnv>>10).
			WithHint("unset what the agents do not need at the end of the script")
	}
	return nil
}

// relative gives path relative to dir, empty for dir itself. Paths are those of the sandbox, so no link is resolved.
func relative(dir, at string) (string, bool) {
	if !path.IsAbs(dir) || !path.IsAbs(at) || !utf8.ValidString(at) || strings.ContainsAny(at, "\x00\n") {
		return "", false
	}
	dir, at = path.Clean(dir), path.Clean(at)
	if at == dir {
		return "", true
	}
	return strings.CutPrefix(at, strings.TrimSuffix(dir, "/")+"/")
}

// isName says whether a shell could set a variable of that name.
func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}
