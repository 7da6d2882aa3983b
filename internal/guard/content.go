package guard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

const (
	// tellsMost and tellMost bound what is kept of one file for a person to read.
	tellsMost = 20
	tellMost  = 200
)

// Escape makes a text from a workspace safe to show: on one line, without what a terminal would obey and without marks that
// reorder or hide text, and not longer than most bytes.
func Escape(text string, most int) string {
	var b strings.Builder
	for _, r := range text {
		piece := string(r)
		if r == unicode.ReplacementChar || r != ' ' && !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) {
			piece = strings.Trim(fmt.Sprintf("%+q", piece), `"`)
		}
		if b.Len()+len(piece) > most {
			b.WriteString("…")
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}

// teller collects lines for a person, a bounded number of them.
type teller struct{ lines []string }

func (t *teller) add(text string) {
	if text = Escape(text, tellMost); len(t.lines) < tellsMost && !slices.Contains(t.lines, text) {
		t.lines = append(t.lines, text)
	}
}

// tellJSON tells of the commands and addresses in a configuration file: servers, hooks and tasks of all CLIs name them by
// the same few keys.
func tellJSON(data []byte) []string {
	var v any
	if json.Unmarshal(withoutComments(data), &v) != nil {
		return nil
	}
	var t teller
	t.walk("", v, 0)
	return t.lines
}

func tellTOML(data []byte) []string {
	var v map[string]any
	if toml.Unmarshal(data, &v) != nil {
		return tellJSON(data)
	}
	var t teller
	t.walk("", v, 0)
	return t.lines
}

// depthMost bounds how deep a configuration is looked into.
const depthMost = 12

func (t *teller) walk(name string, v any, depth int) {
	if depth > depthMost || len(t.lines) >= tellsMost {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			t.key(name, k, v)
			t.walk(k, v[k], depth+1)
		}
	case []any:
		for _, x := range v {
			t.walk(name, x, depth+1)
		}
	}
}

// key tells of one setting, if it is one that matters.
func (t *teller) key(name, key string, in map[string]any) {
	low := strings.ToLower(key)
	text, isText := in[key].(string)
	switch {
	case low == "command" && isText:
		for _, a := range list(in["args"]) {
			text += " " + a
		}
		t.add(called(name) + "runs: " + text)
	case low == "command" && len(list(in[key])) > 0:
		t.add(called(name) + "runs: " + strings.Join(list(in[key]), " "))
	case !isText:
	case low == "url" || low == "httpurl" || low == "serverurl":
		t.add(called(name) + "connects to: " + text)
	case low == "apikeyhelper" || strings.HasSuffix(low, "command") || low == "notify":
		t.add(key + " runs: " + text)
	case strings.HasSuffix(low, "base_url") || strings.HasSuffix(low, "baseurl") || strings.HasSuffix(low, "api_endpoint"):
		t.add(key + " leads to: " + text)
	}
}

func called(name string) string {
	if name == "" {
		return ""
	}
	return name + " "
}

func list(v any) []string {
	var out []string
	all, _ := v.([]any)
	for _, x := range all {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// withoutComments takes out the comments and trailing commas that editors allow in their JSON.
func withoutComments(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(data)-1)
			out = append(out, data[i:end+1]...)
			i = end
		case bytes.HasPrefix(data[i:], []byte("//")):
			for i < len(data) && data[i] != '\n' {
				i++
			}
		case bytes.HasPrefix(data[i:], []byte("/*")):
			end := bytes.Index(data[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			i += end + 3
		case c == '}' || c == ']':
			out = append(bytes.TrimSuffix(bytes.TrimRight(out, " \t\r\n"), []byte(",")), c)
		default:
			out = append(out, c)
		}
	}
	return out
}

func tellLine(data []byte) []string {
	line, _, _ := strings.Cut(string(data), "\n")
	return []string{"leads to: " + Escape(line, tellMost)}
}

// gitRuns are the settings of git that name a program or a file that names one, as the section and the end of the key.
var gitRuns = []string{
	"core.fsmonitor", "core.hookspath", "core.sshcommand", "core.pager", "core.editor", "core.askpass", "core.gitproxy",
	"core.alternaterefscommand", "core.attributesfile", "sequence.editor",
	"include.path", "includeif.path", "alias.", "filter.", "diff.external", "diff.command", "diff.textconv", "merge.driver",
	"mergetool.", "difftool.", "browser.", "man.", "web.browser", "gpg.", "credential.helper", "pager.", "interactive.difffilter",
	"uploadpack.packobjectshook", "remote.uploadpack", "remote.receivepack", "remote.vcs", "remote.proxy", "http.proxy",
	"protocol.allow", "submodule.update", "url.insteadof", "url.pushinsteadof", "sendemail.", "trailer.command", "trailer.cmd",
	"extensions.worktreeconfig", "hook.", "instaweb.", "init.templatedir", "imap.tunnel", "gui.", "guitool.", "http.sslverify",
	"http.extraheader", "tar.command",
}

// siftGit gives the settings of a git configuration that make git run something, or look for what to run elsewhere.
func siftGit(data []byte) []string {
	var t teller
	section := ""
	text := strings.ReplaceAll(string(data), "\\\n", " ")
	scan := bufio.NewScanner(strings.NewReader(text))
	scan.Buffer(nil, len(text)+1)
	for scan.Scan() {
		line := strings.TrimSpace(scan.Text())
		if rest, ok := strings.CutPrefix(line, "["); ok {
			var key string
			section, key = header(rest)
			line = strings.TrimSpace(key)
		}
		key, value, _ := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if key == "" || key[0] == '#' || key[0] == ';' || section == "" {
			continue
		}
		name := section + "." + key
		if slices.ContainsFunc(gitRuns, func(r string) bool { return name == r || strings.HasSuffix(r, ".") && strings.HasPrefix(name, r) }) {
			t.add(name + " = " + strings.TrimSpace(value))
		}
	}
	return t.lines
}

// header splits what follows the bracket of a section: its name without the subsection, and what stands behind it.
func header(text string) (section, rest string) {
	quoted := false
	for i, c := range text {
		if c == '"' && (i == 0 || text[i-1] != '\\') {
			quoted = !quoted
		}
		if c == ']' && !quoted {
			section, _, _ = strings.Cut(text[:i], " ")
			section, _, _ = strings.Cut(section, "\t")
			section, _, _ = strings.Cut(section, ".")
			return strings.ToLower(section), text[i+1:]
		}
	}
	return "", ""
}

// envRuns are variables by which a loaded file takes over whoever loads it. Where an address of a service of models is
// set, keys go there.
var envRuns = []string{"NODE_OPTIONS", "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "BASH_ENV", "ENV", "PYTHONSTARTUP", "PYTHONPATH", "GIT_SSH_COMMAND", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"}

// siftEnv gives the lines of a file of variables that redirect a key or run something. Values are not told of others: such
// files hold secrets.
func siftEnv(data []byte) []string {
	var t teller
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		name = strings.ToUpper(strings.TrimSpace(name))
		leads := strings.HasSuffix(name, "_BASE_URL") || strings.HasSuffix(name, "_API_ENDPOINT") || strings.HasSuffix(name, "_API_BASE")
		if ok && (leads || slices.Contains(envRuns, name)) {
			t.add(name + "=" + strings.TrimSpace(value))
		}
	}
	return t.lines
}
