package claude

import (
	"encoding/json"
	"maps"
	"os"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// instructionsMost is how long instructions may be to stand in argv: the kernel takes 128 KiB for one word.
const instructionsMost = 96 << 10

// Command implements agentcli.Provider. The prompt always goes by stdin: everybody on the machine can read argv.
func (p *Provider) Command(req agentcli.Request) (agentcli.Command, error) {
	p = p.with(req.Env)
	found, err := program.Find(p.opts.Command)
	if err != nil {
		return agentcli.Command{}, err
	}
	cmd := agentcli.Command{Argv: found.Argv, Exposes: found.Exposes, Env: maps.Clone(p.opts.Env), Network: !p.opts.Offline, Hosts: hosts, Stdin: []byte(req.Prompt)}
	if cmd.Env == nil {
		cmd.Env = map[string]string{}
	}
	cmd.Env["DISABLE_AUTOUPDATER"] = "1"
	if file := p.credentials(); file != "" && !headless.HasAny(p.opts.Env, keys...) {
		cmd.Exposes = append(cmd.Exposes, agentcli.Expose{Host: file, At: "~/" + credentials, Optional: true})
	}
	cmd.Argv = append(cmd.Argv, "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages")
	if err := mode(&cmd, req); err != nil {
		return cmd, err
	}
	if err := servers(&cmd, req); err != nil {
		return cmd, err
	}
	keepOut(&cmd, req)
	if req.Model != "" {
		cmd.Argv = append(cmd.Argv, "--model", req.Model)
	}
	instruct(&cmd, req)
	if req.Session != "" {
		cmd.Argv = append(cmd.Argv, "--resume", req.Session)
	}
	cmd.Argv = append(cmd.Argv, p.opts.Args...)
	cmd.Argv = append(cmd.Argv, req.Args...)
	if !req.Bare || len(cmd.Files) > 0 {
		delete(cmd.Env, "CLAUDE_CONFIG_DIR") // the agent has a home of its own
	}
	return cmd, nil
}

// mode says what the agent may do. Rules of denial hold in every mode; the servers that come with the request were chosen
// by who made it, so that their tools need no approval.
func mode(cmd *agentcli.Command, req agentcli.Request) error {
	var allow, deny []string
	for _, s := range req.MCP {
		allow = append(allow, "mcp__"+s.Name)
	}
	switch req.Mode {
	case agentcli.ModeForce:
		cmd.Argv = append(cmd.Argv, "--permission-mode", "bypassPermissions")
		if !req.Bare {
			// As root the CLI works without asking only in a sandbox, and cannot know that it is in one.
			cmd.Env["IS_SANDBOX"] = "1"
		} else if os.Geteuid() == 0 && cmd.Env["IS_SANDBOX"] == "" {
			return substrat.Errorf(substrat.CodeUnsupported, "cannot let Claude Code work without asking: it refuses to as root").
				WithHint("run it as another user, in a sandbox, or set IS_SANDBOX=1 where the machine is one")
		}
	case agentcli.ModePlan:
		cmd.Argv = append(cmd.Argv, "--permission-mode", "plan")
	case agentcli.ModeAsk:
		deny = append(deny, "Bash", "Edit", "Write", "NotebookEdit")
	}
	for _, d := range req.Deny {
		if d.Command != "" {
			deny = append(deny, "Bash("+d.Command+")")
		}
		if d.Path != "" {
			// A rule for Edit holds for every tool that writes. An absolute path is told by two slashes.
			at := d.Path
			if strings.HasPrefix(at, "/") {
				at = "/" + at
			}
			deny = append(deny, "Read("+at+")", "Edit("+at+")")
		}
	}
	if len(allow) > 0 {
		cmd.Argv = append(append(cmd.Argv, "--allowedTools"), allow...)
	}
	if len(deny) > 0 {
		cmd.Argv = append(append(cmd.Argv, "--disallowedTools"), deny...)
	}
	return nil
}

// server is one as the CLI's configuration has it.
type server struct {
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// servers gives the agent its MCP servers: by a file, which keeps their variables out of argv, or where the home is the
// user's own and there is nothing to keep, in argv. In a private home no others are wanted: a workspace's own would be
// started without anybody's approval.
func servers(cmd *agentcli.Command, req agentcli.Request) error {
	if !req.Bare {
		defer func() { cmd.Argv = append(cmd.Argv, "--strict-mcp-config") }()
	}
	if len(req.MCP) == 0 {
		return nil
	}
	list, secret := map[string]server{}, false
	for _, s := range req.MCP {
		list[s.Name] = server{Type: "stdio", Command: s.Command, Args: s.Args, Env: s.Env}
		if s.URL != "" {
			list[s.Name] = server{Type: "http", URL: s.URL, Headers: s.Headers}
		}
		secret = secret || len(s.Env) > 0 || len(s.Headers) > 0
	}
	data, err := json.Marshal(map[string]any{"mcpServers": list})
	if err != nil {
		return err
	}
	if req.Bare && !secret {
		cmd.Argv = append(cmd.Argv, "--mcp-config", string(data))
		return nil
	}
	cmd.Argv = append(cmd.Argv, "--mcp-config", headless.Generated(cmd, req, "claude-mcp", "json", data))
	return nil
}

// keepOut has the CLI disregard the settings that the workspace brings: their hooks and helpers run before anybody approved
// of them, and their variables can send the key elsewhere. Instructions in its CLAUDE.md are read all the same.
func keepOut(cmd *agentcli.Command, req agentcli.Request) {
	if req.Bare {
		return
	}
	if req.Dir != "" {
		cmd.Argv = append(cmd.Argv, "--add-dir", req.Dir)
		cmd.Env["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"] = "1"
	}
	cmd.Argv = append(cmd.Argv, "--setting-sources", "user")
}

// instruct gives the agent its standing instructions.
func instruct(cmd *agentcli.Command, req agentcli.Request) {
	switch {
	case req.Instructions == "":
	case len(req.Instructions) > instructionsMost:
		cmd.Argv = append(cmd.Argv, "--append-system-prompt-file", headless.Generated(cmd, req, "claude-instructions", "md", []byte(req.Instructions)))
	default:
		cmd.Argv = append(cmd.Argv, "--append-system-prompt", req.Instructions)
	}
}

// hosts are Anthropic's API, logins and settings.
var hosts = []string{"*.anthropic.com", "claude.ai", "*.claude.ai", "*.claude.com"}
