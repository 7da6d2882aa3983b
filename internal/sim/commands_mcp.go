package sim

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
)

func (a *app) cmdMCP(ctx context.Context, args []string) error {
	verb, name := "", ""
	if len(args) > 0 {
		verb = args[0]
	}
	if len(args) > 1 {
		name = args[1]
	}
	servers, err := a.openServers()
	if err != nil {
		return err
	}
	defer servers.close()
	if verb == "list" {
		return a.mcpList(servers.config)
	}
	at := slices.IndexFunc(servers.config, func(s mcpServer) bool { return s.name == name })
	switch {
	case verb != "list-tools" && verb != "enable" && verb != "disable":
		return refuse("Usage: agent mcp list | list-tools <name> | enable <name> | disable <name>")
	case name == "":
		return refuse("error: missing required argument 'identifier'")
	case at < 0:
		return refuse("Error: MCP server '%s' not found in configuration", name)
	}
	server := servers.config[at]
	switch verb {
	case "list-tools":
		return a.mcpTools(ctx, servers, server)
	case "enable":
		return a.mcpEnable(server)
	default:
		return a.mcpDisable(server)
	}
}

func (a *app) mcpList(config []mcpServer) error {
	if len(config) == 0 {
		return a.say("No MCP servers configured\n")
	}
	text := ""
	for _, s := range config {
		ok, err := a.approved(s)
		if err != nil {
			return err
		}
		state := "ready"
		if !ok {
			state = "not loaded (needs approval)"
		}
		text += s.name + ": " + state + "\n"
	}
	return a.say(text)
}

func (a *app) mcpTools(ctx context.Context, servers *mcpServers, s mcpServer) error {
	if ok, err := a.approved(s); err != nil || !ok {
		if err == nil {
			err = refuse("Error: MCP server '%s' has not been approved. Run 'agent mcp enable %s' first.", s.name, s.name)
		}
		return err
	}
	live := servers.session(ctx, s)
	if live.err != nil {
		return live.err
	}
	text := "Tools for " + s.name + ":\n"
	for _, tool := range live.tools {
		line, _, _ := strings.Cut(tool.Description, "\n")
		text += "- " + tool.Name + ": " + line + "\n"
	}
	return a.say(text)
}

func (a *app) mcpEnable(s mcpServer) error {
	id, err := s.approvalID(a.space.root())
	if err != nil {
		return err
	}
	list := a.approvals()
	if !slices.Contains(list, id) {
		list = append(list, id)
	}
	if err := a.saveApprovals(list); err != nil {
		return err
	}
	return a.say("✓ Enabled and approved MCP server: " + s.name + "\n")
}

// mcpDisable forgets every approval of the server, older definitions' too.
func (a *app) mcpDisable(s mcpServer) error {
	list := slices.DeleteFunc(a.approvals(), func(id string) bool {
		rest, ok := strings.CutPrefix(id, s.name+"-")
		return ok && len(rest) == 16 && strings.Trim(rest, "0123456789abcdef") == ""
	})
	if err := a.saveApprovals(list); err != nil {
		return err
	}
	return a.say("✓ Disabled MCP server: " + s.name + "\n")
}

func (a *app) saveApprovals(list []string) error {
	if list == nil {
		list = []string{}
	}
	data := appendJSON(nil, slices.Compact(list))
	return writeFile(filepath.Join(a.conf.project(a.space), approvalsName), data)
}
