package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpStep calls an MCP tool, after the lookup that the real model makes before its first call to a server.
func (t *turn) mcpStep(ctx context.Context, s step) error {
	tool := plainText(s.value)
	if t.servers == nil {
		servers, err := t.openServers()
		if err != nil {
			return err
		}
		t.servers = servers
	}
	server, found, err := t.pick(ctx, s.text("server"), tool)
	if err != nil {
		return err
	}
	if !found {
		return t.callMCP(ctx, server.name, tool, s, func() outcome {
			return mcpError(fmt.Sprintf("MCP server does not exist: %s", server.name))
		})
	}
	approved, err := t.approved(server)
	if err != nil {
		return err
	}
	if !approved || !t.choice.rules.mcp(server.name, tool) {
		return t.callMCP(ctx, server.name, tool, s, func() outcome { return rejectedMCP(server.name + "-" + tool) })
	}
	live := t.servers.session(ctx, server)
	if err := t.lookUp(live, server.name, tool); err != nil {
		return err
	}
	return t.callMCP(ctx, server.name, tool, s, func() outcome { return t.reach(ctx, live, tool, s) })
}

// pick decides on the server: the one named, the only one, or the first approved one that has the tool.
func (t *turn) pick(ctx context.Context, name, tool string) (s mcpServer, found bool, err error) {
	config := t.servers.config
	for _, s := range config {
		if s.name == name {
			return s, true, nil
		}
	}
	if name != "" || len(config) == 0 {
		return mcpServer{name: name}, false, nil
	}
	if len(config) == 1 {
		return config[0], true, nil
	}
	for _, s := range config {
		ok, err := t.approved(s)
		if err != nil {
			return s, false, err
		}
		if ok && t.servers.session(ctx, s).tool(tool) != nil {
			return s, true, nil
		}
	}
	return config[0], true, nil
}

// lookUp shows the tool's description being read, once per server.
func (t *turn) lookUp(live *mcpSession, server, tool string) error {
	if live.told {
		return nil
	}
	live.told = true
	return t.simple("getMcpTools", "GetMcpTools",
		func(id string) object { return object{{"server", server}, {"toolName", tool}, {"toolCallId", id}} },
		func() outcome {
			def := live.tool(tool)
			switch {
			case live.err != nil:
				return mcpLookupError(live.err.Error())
			case def == nil:
				return mcpLookupError(fmt.Sprintf("Tool %s not found on server %s", tool, server))
			}
			text, err := toolText(def.Name, def.Description, def.InputSchema)
			if err != nil {
				return mcpLookupError(err.Error())
			}
			return succeeded(text, field{"content", text})
		})
}

// mcpLookupError does not count as a failed step: the call that follows will.
func mcpLookupError(text string) outcome {
	o := mcpError(text)
	o.failed = false
	return o
}

func (t *turn) callMCP(ctx context.Context, server, tool string, s step, do func() outcome) error {
	c, err := t.open("mcp", "CallMcpTool")
	if err != nil {
		return err
	}
	c.description = s.text("description")
	if c.description == "" {
		c.description = "Call " + tool
	}
	args := get(s.members, "args")
	if args.Kind() != '{' {
		args = jsontext.Value("{}")
	}
	err = t.toolStarted(c, object{
		{"name", server + "-" + tool}, {"args", args}, {"toolCallId", c.id}, {"providerIdentifier", server},
		{"toolName", tool}, {"smartModeApprovalOnly", false}, {"skipApproval", false}, {"serverIdentifier", server},
	})
	if err != nil {
		return err
	}
	t.memory.lastJSON = nil
	o := do()
	if ctx.Err() != nil {
		return context.Cause(ctx) // the stream stops where it is; nobody answered the call
	}
	return t.finish(c, o)
}

// reach makes the call. What the tool itself calls an error is a success with isError.
func (t *turn) reach(ctx context.Context, live *mcpSession, tool string, s step) outcome {
	switch {
	case live.err != nil:
		return mcpError(live.err.Error())
	case live.tool(tool) == nil:
		return mcpError(fmt.Sprintf("Tool %s not found", tool))
	}
	params := &mcp.CallToolParams{Name: tool}
	if args := get(s.members, "args"); args.Kind() == '{' {
		params.Arguments = json.RawMessage(args)
	}
	ctx, cancel := context.WithTimeout(ctx, mcpCall)
	defer cancel()
	res, err := live.session.CallTool(ctx, params)
	if err != nil {
		return mcpError(err.Error())
	}
	return t.mcpResult(res)
}

func (t *turn) mcpResult(res *mcp.CallToolResult) outcome {
	parts, texts := []object{}, []string{}
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, object{{"text", object{{"text", text.Text}}}})
			texts = append(texts, text.Text)
			continue
		}
		raw, err := c.MarshalJSON()
		if err == nil {
			parts = append(parts, object{{"other", jsontext.Value(raw)}})
		}
	}
	text := strings.Join(texts, "\n")
	t.memory.lastJSON = mcpJSON(res, text)
	o := succeeded(text, field{"content", parts}, field{"isError", res.IsError}, field{"systemReminders", []any{}})
	o.failed = res.IsError
	return o
}

// mcpJSON gives the result as JSON: its structured form, or its text if that is JSON.
func mcpJSON(res *mcp.CallToolResult, text string) jsontext.Value {
	if res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil {
			return raw
		}
	}
	if raw := jsontext.Value(strings.TrimSpace(text)); raw.IsValid() {
		return raw
	}
	return nil
}

func rejectedMCP(name string) outcome {
	reason := "User rejected MCP: " + name
	o := failure("rejected", reason, field{"reason", reason})
	o.rejected = true
	return o
}

func mcpError(text string) outcome { return failure("error", text, field{"error", text}) }
