package codex

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/internal/headless"
)

// Command implements agentcli.Provider. The prompt always goes by stdin: everybody on the machine can read argv.
func (p *Provider) Command(req agentcli.Request) (agentcli.Command, error) {
	p = p.with(req.Env)
	found, err := program.Find(p.opts.Command)
	if err != nil {
		return agentcli.Command{}, err
	}
	cmd := command{Command: agentcli.Command{Argv: found.Argv, Exposes: found.Exposes, Env: maps.Clone(p.opts.Env), Network: !p.opts.Offline, Hosts: hosts, Stdin: []byte(req.Prompt)}}
	if cmd.Env == nil {
		cmd.Env = map[string]string{}
	}
	cmd.Argv = append(cmd.Argv, "exec", "--json", "--skip-git-repo-check", "--sandbox", sandboxMode(req.Mode))
	if req.Dir != "" {
		cmd.Argv = append(cmd.Argv, "-C", req.Dir)
	}
	if req.Model != "" {
		cmd.Argv = append(cmd.Argv, "-m", req.Model)
	}
	p.account(&cmd)
	if told := deny(&cmd, req); told != "" {
		cmd.set("developer_instructions", told)
	}
	for _, s := range req.MCP {
		cmd.server(s)
	}
	cmd.Argv = append(cmd.Argv, p.opts.Args...)
	cmd.Argv = append(cmd.Argv, req.Args...)
	if req.Session != "" {
		cmd.Argv = append(cmd.Argv, "resume", req.Session)
	}
	cmd.Argv = append(cmd.Argv, "-")
	if !req.Bare || len(cmd.Files) > 0 {
		delete(cmd.Env, "CODEX_HOME") // the agent has a home of its own
	}
	return cmd.Command, nil
}

// sandboxMode is what the commands of the CLI may do. Nobody is there to be asked: what is not allowed fails.
func sandboxMode(m agentcli.Mode) string {
	switch m {
	case agentcli.ModeForce:
		return "danger-full-access"
	case agentcli.ModePlan, agentcli.ModeAsk:
		return "read-only"
	default:
		return "workspace-write"
	}
}

// command is one that is being put together.
type command struct {
	agentcli.Command
	hidden int // how many variables hold what argv must not
}

// set adds a setting, whose value is TOML.
func (c *command) set(key string, value any) {
	c.Argv = append(c.Argv, "-c", key+"="+toml(value))
}

// localProvider is how an endpoint of the user's is called in the CLI's settings. A conversation can only be resumed with
// the provider it was begun with.
const localProvider = "substrat"

// account gives the CLI its login or its key, and the endpoint.
func (p *Provider) account(c *command) {
	login, env := p.credentials(), c.Env
	hasKey := headless.HasAny(env, "CODEX_API_KEY", "OPENAI_API_KEY")
	if login != "" && env["CODEX_API_KEY"] == "" {
		c.Exposes = append(c.Exposes, agentcli.Expose{Host: login, At: "~/.codex/auth.json", Optional: true})
	}
	if login == "" && hasKey && env["CODEX_API_KEY"] == "" {
		// It takes its own variable only; without a login there is nothing this could take the place of.
		env["CODEX_API_KEY"] = env["OPENAI_API_KEY"]
	}
	if url := env["OPENAI_BASE_URL"]; url != "" {
		c.set("model_provider", localProvider)
		provider := map[string]any{"name": localProvider, "base_url": url, "wire_api": "responses"}
		if hasKey {
			provider["env_key"] = "OPENAI_API_KEY"
			if env["CODEX_API_KEY"] != "" {
				provider["env_key"] = "CODEX_API_KEY"
			}
		}
		c.set("model_providers."+localProvider, provider)
	}
}

// hide puts values into variables and names these: everybody on the machine can read argv. The CLI keeps variables of such names
// from the agent's commands.
func (c *command) hide(values map[string]string) map[string]string {
	vars := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		name := fmt.Sprintf("SUBSTRAT_MCP_SECRET_%d", c.hidden)
		c.hidden++
		vars[k], c.Env[name] = name, values[k]
	}
	return vars
}

// server adds an MCP server. Without approval by the settings its calls fail, while the turn succeeds.
func (c *command) server(s agentcli.MCPServer) {
	v := map[string]any{"default_tools_approval_mode": "approve"}
	if s.URL != "" {
		v["url"] = s.URL
		if vars := c.hide(s.Headers); len(vars) > 0 {
			v["env_http_headers"] = vars
		}
	} else {
		v["command"], v["args"] = s.Command, s.Args
		if len(s.Env) > 0 {
			v["env"] = s.Env
		}
	}
	c.set("mcp_servers."+key(s.Name), v)
}

// deny gives the agent its rules, and what it is to be told in words beside its instructions: its rules know the first
// words of a command and no files.
func deny(c *command, req agentcli.Request) string {
	if req.Bare && len(req.Deny) == 0 {
		return req.Instructions
	}
	// The file is there without rules, too: those of an earlier turn must not stay.
	var rules, words strings.Builder
	rules.WriteString("# what this agent must not run\n")
	for _, d := range req.Deny {
		if prefix := prefixOf(d.Command); len(prefix) > 0 {
			rules.WriteString("prefix_rule(pattern=" + toml(prefix) + ", decision=\"forbidden\", justification=\"denied to this agent\")\n")
		} else if d.Command != "" {
			words.WriteString("\n- run a command like: " + d.Command)
		}
		if d.Path != "" {
			words.WriteString("\n- read or write: " + d.Path)
		}
	}
	c.Files = append(c.Files, agentcli.File{Root: agentcli.InHome, Path: ".codex/rules/substrat.rules", Data: []byte(rules.String())})
	if words.Len() == 0 {
		return req.Instructions
	}
	return strings.TrimSpace(req.Instructions + "\n\nYou must not:" + words.String())
}

// prefixOf gives the words that a denied command begins with, none if it cannot be said so.
func prefixOf(denied string) []string {
	words := strings.Fields(denied)
	if n := len(words); n > 0 && words[n-1] == "*" {
		words = words[:n-1]
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, "*\"'`$|&;<>()") }) {
		return nil
	}
	return words
}

// toml writes a value on one line. A basic string is written as JSON writes it, but for DEL.
func toml(v any) string {
	switch v := v.(type) {
	case string:
		data, _ := json.Marshal(strings.ToValidUTF8(v, "\uFFFD"))
		return strings.ReplaceAll(string(data), "\x7f", `\u007f`)
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = toml(s)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case map[string]string:
		out := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, key(k)+"="+toml(v[k]))
		}
		return "{" + strings.Join(out, ", ") + "}"
	case map[string]any:
		out := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, key(k)+"="+toml(v[k]))
		}
		return "{" + strings.Join(out, ", ") + "}"
	default:
		return "false"
	}
}

// key writes a key: bare where that can be.
func key(k string) string {
	bare := k != "" && !strings.ContainsFunc(k, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
	if bare {
		return k
	}
	return toml(k)
}

// hosts are OpenAI's API and logins.
var hosts = []string{"api.openai.com", "auth.openai.com", "chatgpt.com", "*.chatgpt.com"}
