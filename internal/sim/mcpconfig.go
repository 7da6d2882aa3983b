package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// mcpServer is one entry of an mcp.json. Its fields are as written, before interpolation.
type mcpServer struct {
	name   string
	global bool // from the user's own configuration, which needs no approval
	fields []member
}

// mcpConfig reads the project's servers and the user's, in file order; the project's come first and hide the user's of
// the same name.
func (a *app) mcpConfig() ([]mcpServer, error) {
	project, err := readMCPFile(filepath.Join(string(a.space), ".cursor", "mcp.json"), false)
	if err != nil {
		return nil, err
	}
	user, err := readMCPFile(filepath.Join(a.conf.root, "mcp.json"), true)
	if err != nil {
		return nil, err
	}
	list := project
	for _, s := range user {
		if !slices.ContainsFunc(project, func(p mcpServer) bool { return p.name == s.name }) {
			list = append(list, s)
		}
	}
	return list, nil
}

func readMCPFile(name string, global bool) ([]mcpServer, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	top, ok := members(bytes.TrimSpace(data))
	if !ok {
		return nil, fmt.Errorf("cannot parse %s: it is no JSON object", name)
	}
	entries, _ := members(get(top, "mcpServers"))
	var list []mcpServer
	for _, e := range entries {
		if fields, ok := members(e.value); ok {
			list = append(list, mcpServer{e.name, global, fields})
		}
	}
	return list, nil
}

// remote says whether the server is reached by URL, which the simulator never does.
func (s mcpServer) remote() bool { return get(s.fields, "url") != nil }

// approvalID is the server's name and the start of a hash over the project's root and the definition, so that any
// change of the definition asks anew. The hash is over JSON.stringify({path, server}) with the known keys only, in a
// fixed order, and variables not expanded (as three independent programs compute it).
func (s mcpServer) approvalID(root workspace) (string, error) {
	keys := []string{"type", "command", "args", "env", "cwd"}
	if s.remote() {
		keys = []string{"type", "url", "headers"}
	}
	var server object
	for _, key := range keys {
		value := get(s.fields, key)
		if value == nil {
			continue
		}
		compact, err := mapStrings(value, nil)
		if err != nil {
			return "", fmt.Errorf("cannot hash the MCP server %s: %w", s.name, err)
		}
		server = append(server, field{key, compact})
	}
	sum := sha256.Sum256(appendJSON(nil, object{{"path", string(root)}, {"server", server}}))
	return s.name + "-" + hex.EncodeToString(sum[:])[:16], nil
}

const approvalsName = "mcp-approvals.json"

// approvals reads the approved ids. The file lies under the slug of the workspace; one under the project's root counts
// as well, since observers differ on which it is.
func (a *app) approvals() (list []string) {
	for _, w := range []workspace{a.space, a.space.root()} {
		data, err := os.ReadFile(filepath.Join(a.conf.project(w), approvalsName))
		if err != nil {
			continue
		}
		var ids []string
		if json.Unmarshal(data, &ids) == nil {
			list = append(list, ids...)
		}
	}
	return list
}

func (a *app) approved(s mcpServer) (bool, error) {
	if s.global || a.opts.approveMCPs {
		return true, nil
	}
	id, err := s.approvalID(a.space.root())
	return err == nil && slices.Contains(a.approvals(), id), err
}

// launch gives what to start for a server, with the variables in place.
func (s mcpServer) launch(env environ) (command string, args []string, vars environ, dir string) {
	vars = environ{"PATH": env["PATH"], "HOME": env["HOME"]}
	command = env.expand(getString(s.fields, "command"))
	for _, arg := range elements(get(s.fields, "args")) {
		args = append(args, env.expand(plainText(arg)))
	}
	entries, _ := members(get(s.fields, "env"))
	for _, e := range entries {
		vars[e.name] = env.expand(plainText(e.value))
	}
	return command, args, vars, env.expand(getString(s.fields, "cwd"))
}

// toolText is how the real program describes a tool to the model: pretty JSON.
func toolText(name, description string, schema any) (string, error) {
	raw, err := json.Marshal(schema)
	if err != nil {
		return "", fmt.Errorf("cannot describe the tool %s: %w", name, err)
	}
	text := jsontext.Value(appendJSON(nil, object{{"tool", name}, {"description", description}, {"inputSchema", jsontext.Value(raw)}}))
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", fmt.Errorf("cannot describe the tool %s: %w", name, err)
	}
	return string(text), nil
}
