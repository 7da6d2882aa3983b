package cursor

import (
	"bytes"
	"encoding/json"
	"path"

	"substrat.dev/substrat/agentcli"
)

// config writes the files that the CLI obeys: its MCP servers and rules in the workspace, and, in the private home, the
// approval of these servers and the trust in this workspace. --approve-mcps and --trust say the same; some builds listen
// to one and not the other.
func config(req agentcli.Request) ([]agentcli.File, error) {
	files, err := servers(req)
	if err != nil {
		return nil, err
	}
	trust, err := encode(struct {
		WorkspacePath string `json:"workspacePath"`
		TrustMethod   string `json:"trustMethod"`
	}{req.Dir, "cli-flag"})
	if err != nil {
		return nil, err
	}
	files = append(files,
		agentcli.File{Root: agentcli.InHome, Path: project(req.Dir) + "/.workspace-trusted", Data: trust},
		agentcli.File{Root: agentcli.InHome, Path: ".cursor/cli-config.json", Data: []byte(`{"version":1,"permissions":{"allow":[],"deny":[]}}` + "\n"), KeepExisting: true},
	)
	if p := rules(req); len(p.Allow)+len(p.Deny) > 0 {
		data, err := encode(map[string]Permissions{"permissions": p})
		if err != nil {
			return nil, err
		}
		files = append(files, agentcli.File{Root: agentcli.InWorkspaceConfig, Path: ".cursor/cli.json", Data: data})
	}
	if req.Instructions != "" {
		rule := "---\ndescription: Standing instructions\nalwaysApply: true\n---\n\n" + req.Instructions
		files = append(files, agentcli.File{Root: agentcli.InWorkspaceConfig, Path: ".cursor/rules/substrat.mdc", Data: []byte(rule)})
	}
	return files, nil
}

// bareConfig writes nothing unless the request cannot do without: then its host makes a private home, where the files of
// the workspace's configuration stand for those of the user. The CLI reads its servers there, but rules of a project only
// in the project, so that instructions go before the prompt, and what is forbidden into the configuration of the user.
func bareConfig(req agentcli.Request) ([]agentcli.File, error) {
	var files []agentcli.File
	if len(req.MCP) > 0 {
		var err error
		if files, err = servers(req); err != nil {
			return nil, err
		}
	}
	p := rules(req)
	if len(req.Deny) == 0 && (len(req.MCP) == 0 || len(p.Allow) == 0) {
		return files, nil
	}
	data, err := encode(struct {
		Version     int         `json:"version"`
		Permissions Permissions `json:"permissions"`
	}{1, p})
	if err != nil {
		return nil, err
	}
	return append(files, agentcli.File{Root: agentcli.InHome, Path: ".cursor/cli-config.json", Data: data}), nil
}

// project is where the CLI keeps what it knows of a workspace, in the home.
func project(dir string) string { return path.Join(".cursor/projects", Slug(dir)) }

// servers writes the MCP servers and their approval.
func servers(req agentcli.Request) ([]agentcli.File, error) {
	list, err := mcpJSON(req.MCP)
	if err != nil {
		return nil, err
	}
	approvals, err := approvalsJSON(req.Dir, req.MCP)
	if err != nil {
		return nil, err
	}
	return []agentcli.File{
		{Root: agentcli.InWorkspaceConfig, Path: ".cursor/mcp.json", Data: list},
		{Root: agentcli.InHome, Path: project(req.Dir) + "/mcp-approvals.json", Data: approvals},
	}, nil
}

// rules are the permissions of a turn. Denials hold whatever else is allowed. A server that is approved still needs a rule
// that lets its tools be called, unless everything is allowed.
func rules(req agentcli.Request) Permissions {
	p := Permissions{Allow: []string{}, Deny: []string{}}
	for _, d := range req.Deny {
		if d.Command != "" {
			p.Deny = append(p.Deny, ShellRule(d.Command))
		}
		if d.Path != "" {
			p.Deny = append(p.Deny, ReadRule(d.Path), WriteRule(d.Path))
		}
	}
	if req.Mode != agentcli.ModeForce {
		for _, s := range req.MCP {
			p.Allow = append(p.Allow, MCPRule(s.Name, "*"))
		}
	}
	return p
}

// server is a server as mcp.json has it. The order of the members is the one the approval is computed over.
type server struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

func serverOf(s agentcli.MCPServer) server {
	if s.URL != "" {
		return server{URL: s.URL, Headers: s.Headers}
	}
	return server{Command: s.Command, Args: s.Args, Env: s.Env}
}

func mcpJSON(list []agentcli.MCPServer) ([]byte, error) {
	servers := map[string]server{}
	for _, s := range list {
		servers[s.Name] = serverOf(s)
	}
	return encode(map[string]any{"mcpServers": servers})
}

// encode writes JSON as the CLI itself does: compact, without HTML escaping, maps in order.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
