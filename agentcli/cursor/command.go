package cursor

import (
	"bytes"
	"encoding/json"
	"path"
	"path/filepath"

	"substrat.dev/substrat/agentcli"
)

// argvMost is how long a prompt may be to stand in argv: the kernel takes 128 KiB for one word, and everybody on the
// machine can read it there.
const argvMost = 32 << 10

// Command implements agentcli.Provider.
func (p *Provider) Command(req agentcli.Request) (agentcli.Command, error) {
	cmd, err := p.base(req)
	if err != nil {
		return cmd, err
	}
	cmd.Argv = append(cmd.Argv, "--print", "--output-format", "stream-json", "--stream-partial-output", "--trust", "--approve-mcps")
	if req.Mode == agentcli.ModeForce {
		cmd.Argv = append(cmd.Argv, "--force")
	}
	if req.Model != "" {
		cmd.Argv = append(cmd.Argv, "--model", req.Model)
	}
	cmd.Argv = append(cmd.Argv, "--workspace", req.Dir)
	if req.Session != "" {
		cmd.Argv = append(cmd.Argv, "--resume", req.Session)
	}
	if len(req.Prompt) > argvMost || req.Secret {
		cmd.Stdin = []byte(req.Prompt)
		return cmd, nil
	}
	cmd.Argv = append(cmd.Argv, "--", req.Prompt)
	return cmd, nil
}

// NewSession implements agentcli.SessionCreator.
func (p *Provider) NewSession(req agentcli.Request) (agentcli.Command, error) {
	cmd, err := p.base(req)
	cmd.Argv = append(cmd.Argv, "create-chat")
	return cmd, err
}

// base is what every call has in common: the program, its credentials, and the files it obeys.
func (p *Provider) base(req agentcli.Request) (agentcli.Command, error) {
	cmd := agentcli.Command{Env: map[string]string{}, Network: p.opts.Network}
	for k, v := range p.opts.Env {
		cmd.Env[k] = v
	}
	if len(p.opts.Command) > 0 {
		cmd.Argv = append(cmd.Argv, p.opts.Command...)
	} else {
		found, err := detect()
		if err != nil {
			return cmd, err
		}
		cmd.Argv = []string{found.path}
		cmd.Exposes = found.exposes()
	}
	files, err := config(req)
	cmd.Files = files
	return cmd, err
}

// config writes the files that the CLI obeys: its MCP servers and rules in the workspace, and, in the private home, the
// approval of these servers and the trust in this workspace. --approve-mcps and --trust say the same; some builds listen
// to one and not the other.
func config(req agentcli.Request) ([]agentcli.File, error) {
	servers, err := mcpJSON(req.MCP)
	if err != nil {
		return nil, err
	}
	approvals, err := approvalsJSON(req.Dir, req.MCP)
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
	project := path.Join(".cursor/projects", Slug(req.Dir))
	files := []agentcli.File{
		{Root: agentcli.InWorkspaceConfig, Path: ".cursor/mcp.json", Data: servers},
		{Root: agentcli.InHome, Path: project + "/mcp-approvals.json", Data: approvals},
		{Root: agentcli.InHome, Path: project + "/.workspace-trusted", Data: trust},
		{Root: agentcli.InHome, Path: ".cursor/cli-config.json", Data: []byte(`{"version":1,"permissions":{"allow":[],"deny":[]}}` + "\n"), KeepExisting: true},
	}
	if len(req.Deny) > 0 {
		denied, err := denyJSON(req.Deny)
		if err != nil {
			return nil, err
		}
		files = append(files, agentcli.File{Root: agentcli.InWorkspaceConfig, Path: ".cursor/cli.json", Data: denied})
	}
	if req.Instructions != "" {
		rule := "---\ndescription: Standing instructions\nalwaysApply: true\n---\n\n" + req.Instructions
		files = append(files, agentcli.File{Root: agentcli.InWorkspaceConfig, Path: ".cursor/rules/substrat.mdc", Data: []byte(rule)})
	}
	return files, nil
}

// denyJSON writes the project's cli.json, whose denials hold whatever else is allowed: Shell(command), Read(path),
// Write(path). The agent sees it read-only.
func denyJSON(list []agentcli.Denial) ([]byte, error) {
	type permissions struct {
		Allow []string `json:"allow"`
		Deny  []string `json:"deny"`
	}
	p := permissions{Allow: []string{}, Deny: []string{}}
	for _, d := range list {
		if d.Command != "" {
			p.Deny = append(p.Deny, "Shell("+d.Command+")")
		}
		if d.Path != "" {
			p.Deny = append(p.Deny, "Read("+d.Path+")", "Write("+d.Path+")")
		}
	}
	return encode(map[string]permissions{"permissions": p})
}

// server is a stdio server as mcp.json has it. The order of the members is the one the approval is computed over.
type server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

func mcpJSON(list []agentcli.MCPServer) ([]byte, error) {
	servers := map[string]server{}
	for _, s := range list {
		servers[s.Name] = server{s.Command, s.Args, s.Env}
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

// HostEnv picks what the CLI may take from its user's environment. A variable that is set but empty is left out: an
// empty key hides a login that would work.
func HostEnv(getenv func(string) string) map[string]string {
	env := map[string]string{}
	for _, name := range []string{"CURSOR_API_KEY", "CURSOR_AUTH_TOKEN", "CURSOR_API_ENDPOINT"} {
		if v := getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

// exposes is what of the host an installed program needs to see.
func (f installed) exposes() []agentcli.Expose {
	out := []agentcli.Expose{{Host: f.path}}
	if f.real != f.path {
		out = append(out, agentcli.Expose{Host: filepath.Dir(f.real)})
	}
	if f.home != "" {
		out = append(out, agentcli.Expose{Host: filepath.Join(f.home, ".config/cursor/auth.json"), At: "~/.config/cursor/auth.json", Optional: true})
	}
	return out
}
