package cursor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"substrat.dev/substrat"
)

// Permissions are what cli-config.json in the user's configuration, and cli.json in a project's .cursor directory, say
// about tools. A denial wins over what is allowed, also over --force.
type Permissions struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// The rules that the CLI knows. In each, * stands for any text.

// ShellRule is about a command: its first word, or its first words.
func ShellRule(command string) string { return "Shell(" + command + ")" }

// ReadRule is about reading files.
func ReadRule(glob string) string { return "Read(" + glob + ")" }

// WriteRule is about writing files.
func WriteRule(glob string) string { return "Write(" + glob + ")" }

// WebFetchRule is about fetching from a host.
func WebFetchRule(domain string) string { return "WebFetch(" + domain + ")" }

// MCPRule is about a tool of an MCP server.
func MCPRule(server, tool string) string { return "Mcp(" + server + ":" + tool + ")" }

// ruleForm is a rule: its kind, and what it is about.
var ruleForm = regexp.MustCompile(`(?s)^(Shell|Read|Write|WebFetch|Mcp)\((.+)\)$`)

// ParseRule takes a rule apart: its kind, Shell, Read, Write, WebFetch or Mcp, and what it is about.
func ParseRule(rule string) (kind, about string, err error) {
	m := ruleForm.FindStringSubmatch(rule)
	if m == nil {
		return "", "", substrat.Errorf(substrat.CodeInvalid, "cannot use the rule %q: it has no form that Cursor knows", rule).
			WithHint("write Shell(command), Read(path), Write(path), WebFetch(host) or Mcp(server:tool)")
	}
	return m[1], m[2], nil
}

// ConfigDir is where the CLI keeps its configuration and conversations, below the home unless its environment says
// otherwise.
func ConfigDir(home string, getenv func(string) string) string {
	if dir := getenv("CURSOR_CONFIG_DIR"); dir != "" {
		return dir
	}
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "cursor")
	}
	return filepath.Join(home, ".cursor")
}

// ConfigFile is the user's configuration in that directory.
func ConfigFile(configDir string) string { return filepath.Join(configDir, "cli-config.json") }

// ProjectConfigFile is a project's configuration, which holds permissions only.
func ProjectConfigFile(project string) string { return filepath.Join(project, ".cursor", "cli.json") }

// ReadPermissions reads the permissions of a configuration file. One that does not exist says nothing.
func ReadPermissions(file string) (Permissions, error) {
	_, p, err := readConfig(file)
	return p, err
}

// editTries is how often an edit is done again when somebody else wrote the file meanwhile.
const editTries = 5

// EditPermissions changes the permissions of a configuration file, which is made if it does not exist. Everything else in
// it stays as it is, also what is not known here. The file is replaced as a whole, under a temporary name of its own: two
// CLIs that write at once trip over the name they share. What another program wrote since it was read is read again and the
// edit repeated, without a lock; edit must be ready for that.
func EditPermissions(file string, edit func(*Permissions)) error {
	for range editTries {
		before, p, err := readConfig(file)
		if err != nil {
			return err
		}
		had := slices.Concat(p.Allow, p.Deny)
		edit(&p)
		for _, rule := range slices.Concat(p.Allow, p.Deny) {
			if _, _, err := ParseRule(rule); err != nil && !slices.Contains(had, rule) {
				return err
			}
		}
		after, err := withPermissions(before, p)
		if err != nil {
			return err
		}
		if done, err := replaceUnchanged(file, before, after); done || err != nil {
			return err
		}
	}
	return substrat.Errorf(substrat.CodeConflict, "cannot change %s: something else keeps writing it", file).WithHint("stop the other agents and try again")
}

// readConfig reads a file and the permissions in it; no file is nil.
func readConfig(file string) ([]byte, Permissions, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Permissions{}, nil
	}
	if err != nil {
		return nil, Permissions{}, substrat.Errorf(substrat.CodeStorage, "cannot read %s: %v", file, err)
	}
	var c struct{ Permissions Permissions }
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, Permissions{}, substrat.Errorf(substrat.CodeInvalid, "cannot read %s: it is not the JSON that Cursor writes: %v", file, err).
			WithHint("mend the file by hand; it was not changed")
	}
	return data, c.Permissions, nil
}

// withPermissions gives a configuration with other permissions. Members keep their order and their values as they are
// written.
func withPermissions(config []byte, p Permissions) ([]byte, error) {
	if config == nil {
		config = []byte(`{"version":1}`)
	}
	lists := [2][]byte{}
	for i, list := range [2][]string{p.Allow, p.Deny} {
		if list == nil {
			list = []string{}
		}
		data, err := encode(list)
		if err != nil {
			return nil, err
		}
		lists[i] = bytes.TrimSpace(data)
	}
	config = bytes.TrimSpace(config)
	permissions := setMember(setMember(in(config, "permissions"), "allow", lists[0]), "deny", lists[1])
	var out bytes.Buffer
	if err := json.Indent(&out, setMember(config, "permissions", permissions), "", "  "); err != nil {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot write a configuration: %v", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// setMember gives an object with one member set, where it stands or at the end.
func setMember(object value, name string, to []byte) value {
	out := value{'{'}
	add := func(name string, v []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, _ := encode(name)
		out = append(append(append(out, bytes.TrimSpace(quoted)...), ':'), v...)
	}
	set := false
	for w := members(object); ; {
		n, v, ok := w.member()
		switch {
		case !ok && !set:
			add(name, to)
			return append(out, '}')
		case !ok:
			return append(out, '}')
		case string(n) != name:
			add(string(n), v)
		case !set:
			set = true
			add(name, to)
		}
	}
}

// replaceUnchanged puts new contents in the place of a file, unless it is no longer as it was read.
func replaceUnchanged(file string, before, after []byte) (done bool, err error) {
	fail := func(err error) (bool, error) {
		return false, substrat.Errorf(substrat.CodeStorage, "cannot write %s: %v", file, err)
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".substrat-*.json")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(after)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return fail(err)
	}
	now, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if !bytes.Equal(now, before) {
		return false, nil
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fail(err)
	}
	return true, nil
}
