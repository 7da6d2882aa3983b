package cursor

import (
	"context"
	"regexp"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
)

// MCPStatus is how a configured MCP server stands with the CLI.
type MCPStatus struct {
	Name string `json:"name"`
	// State is in the CLI's words.
	State string `json:"state"`
	Ready bool   `json:"ready"`
	// NeedsApproval: it is loaded after EnableMCP.
	NeedsApproval bool `json:"needs_approval,omitempty"`
}

// MCPServers lists the servers that the CLI finds for a workspace.
func (p *Provider) MCPServers(ctx context.Context, run Runner, dir string) ([]MCPStatus, error) {
	exit, err := p.call(ctx, run, dir, "mcp", "list")
	if err != nil {
		return nil, err
	}
	return ParseMCPServers(exit)
}

var (
	mcpLine   = regexp.MustCompile(`^\s*(?:[●○✓✗✔✖•*-]\s+)?([^\s:][^:]*):\s+(\S.*)$`)
	mcpErrors = regexp.MustCompile(`(?i)^(error|warning|usage|tip)$`)
)

// ParseMCPServers reads what `mcp list` printed: "name: state" lines.
func ParseMCPServers(exit agentcli.Exit) ([]MCPStatus, error) {
	if exit.Code != 0 || exit.Signal != "" {
		return nil, refused("cannot list the MCP servers", exit)
	}
	list := []MCPStatus{}
	for line := range strings.Lines(plain(agentcli.Exit{Stdout: exit.Stdout})) {
		m := mcpLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || mcpErrors.MatchString(m[1]) {
			continue
		}
		state := strings.ToLower(m[2])
		list = append(list, MCPStatus{
			Name: m[1], State: m[2], Ready: strings.HasPrefix(state, "ready") || strings.HasPrefix(state, "connected"),
			NeedsApproval: strings.Contains(state, "approval"),
		})
	}
	return list, nil
}

// EnableMCP approves a server of a workspace, for the definition that it has now: a change of it needs a new approval.
func (p *Provider) EnableMCP(ctx context.Context, run Runner, dir, name string) error {
	return p.mcp(ctx, run, dir, "enable", name)
}

// DisableMCP takes an approval back.
func (p *Provider) DisableMCP(ctx context.Context, run Runner, dir, name string) error {
	return p.mcp(ctx, run, dir, "disable", name)
}

func (p *Provider) mcp(ctx context.Context, run Runner, dir, verb, name string) error {
	if name == "" || name[0] == '-' {
		return substrat.Errorf(substrat.CodeInvalid, "cannot %s the MCP server %q: that is no name", verb, name)
	}
	exit, err := p.call(ctx, run, dir, "mcp", verb, name)
	if err != nil {
		return err
	}
	return ParseMCPChange(verb, name, exit)
}

// ParseMCPChange reads what `mcp enable` and `mcp disable` printed.
func ParseMCPChange(verb, name string, exit agentcli.Exit) error {
	said := plain(exit)
	if exit.Code != 0 || exit.Signal != "" || strings.Contains(said, "not found in configuration") {
		return refused("cannot "+verb+" the MCP server "+name, exit)
	}
	return nil
}
