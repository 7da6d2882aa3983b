package gemini

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"strconv"
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
	cmd := agentcli.Command{Argv: found.Argv, Exposes: found.Exposes, Env: maps.Clone(p.opts.Env), Network: !p.opts.Offline, Hosts: hosts, Stdin: []byte(req.Prompt)}
	if cmd.Env == nil {
		cmd.Env = map[string]string{}
	}
	// In a directory that is not trusted it ends with exit code 55 and prints nothing.
	cmd.Env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
	rules := policy(req)
	home := p.home(&cmd, req, rules != "")
	p.login(&cmd, home)
	cmd.Argv = append(cmd.Argv, "--output-format", "stream-json", "--approval-mode", approval(req.Mode))
	if req.Model != "" {
		cmd.Argv = append(cmd.Argv, "--model", req.Model)
	}
	if home != "" {
		if err := p.settings(&cmd, home, req.MCP); err != nil {
			return cmd, err
		}
	}
	keepOut(&cmd, req)
	if rules != "" {
		cmd.Argv = append(cmd.Argv, "--policy", headless.Generated(&cmd, req, "gemini-policy", "toml", []byte(rules)))
	}
	instruct(&cmd, req, home)
	if req.Session != "" {
		cmd.Argv = append(cmd.Argv, "--resume", req.Session)
	}
	cmd.Argv = append(cmd.Argv, p.opts.Args...)
	cmd.Argv = append(cmd.Argv, req.Args...)
	return cmd, nil
}

// home is the directory of the CLI's own files below the home, for a turn that needs files of ours; empty if it needs none
// and the home is the user's own: the CLI then obeys its user's settings. There, files of ours are kept apart from theirs.
func (p *Provider) home(cmd *agentcli.Command, req agentcli.Request, rules bool) string {
	if !req.Bare {
		return ".gemini"
	}
	// An endpoint is only taken with settings that name the kind of account.
	endpoint := p.opts.Env["GOOGLE_GEMINI_BASE_URL"] != "" && headless.UserFile(".gemini/settings.json") == ""
	if len(req.MCP) == 0 && !rules && !endpoint {
		return ""
	}
	const apart = ".config/substrat/gemini"
	cmd.Env["GEMINI_CLI_HOME"] = path.Join(req.Home, apart)
	return apart + "/.gemini"
}

// keepOut has the CLI disregard servers and extensions that the workspace brings, and addresses in its .env: a variable that
// is set, if only to nothing, is not taken from there, so that the key is not sent elsewhere. The hooks in the workspace's
// settings no flag keeps out.
func keepOut(cmd *agentcli.Command, req agentcli.Request) {
	if req.Bare {
		return
	}
	for _, name := range []string{"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"} {
		if _, set := cmd.Env[name]; !set {
			cmd.Env[name] = ""
		}
	}
	cmd.Argv = append(cmd.Argv, "--extensions", "none")
	// The flag takes one name.
	for _, s := range req.MCP {
		cmd.Argv = append(cmd.Argv, "--allowed-mcp-server-names", s.Name)
	}
	if len(req.MCP) == 0 {
		cmd.Argv = append(cmd.Argv, "--allowed-mcp-server-names", "none")
	}
}

// login gives the CLI what its user logged in with, unless a key is given.
func (p *Provider) login(cmd *agentcli.Command, home string) {
	if file := p.opts.Env["GOOGLE_APPLICATION_CREDENTIALS"]; file != "" && strings.HasPrefix(file, "/") {
		cmd.Exposes = append(cmd.Exposes, agentcli.Expose{Host: file, Optional: true})
	}
	file := headless.UserFile(credentials)
	if file == "" || home == "" || headless.HasAny(p.opts.Env, keys...) {
		return
	}
	cmd.Exposes = append(cmd.Exposes, agentcli.Expose{Host: file, At: "~/" + path.Join(home, path.Base(credentials)), Optional: true})
	if file := headless.UserFile(accounts); file != "" {
		cmd.Exposes = append(cmd.Exposes, agentcli.Expose{Host: file, At: "~/" + path.Join(home, path.Base(accounts)), Optional: true})
	}
}

// method is the kind of account the agent has. It has to be said where an endpoint is given: the CLI then finds none in its
// variables.
func (p *Provider) method() string {
	env := p.opts.Env
	switch {
	case env["GOOGLE_GENAI_USE_VERTEXAI"] == "true":
		return "vertex-ai"
	case env["GEMINI_API_KEY"] != "":
		return "gemini-api-key"
	case env["GOOGLE_API_KEY"] != "":
		return "vertex-ai"
	case headless.UserFile(credentials) != "":
		return "oauth-personal"
	}
	return ""
}

// approval is what the agent may do. Nobody is there to be asked: tools that need approval are not offered to the model.
func approval(m agentcli.Mode) string {
	switch m {
	case agentcli.ModeForce:
		return "yolo"
	case agentcli.ModePlan:
		return "plan"
	default:
		return "default"
	}
}

// server is one as the CLI's settings have it. One that is trusted needs no approval.
type server struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"httpUrl,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Trust   bool              `json:"trust"`
}

// settings gives the agent its MCP servers and its account. The file for the machine's settings would do without a home
// apart, but the CLI only takes one that is root's.
func (p *Provider) settings(cmd *agentcli.Command, home string, servers []agentcli.MCPServer) error {
	all := map[string]any{
		"general": map[string]bool{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy": map[string]bool{"usageStatisticsEnabled": false},
	}
	if method := p.method(); method != "" {
		all["security"] = map[string]any{"auth": map[string]string{"selectedType": method}}
	}
	if len(servers) > 0 {
		list := map[string]server{}
		for _, s := range servers {
			list[s.Name] = server{Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers, Trust: true}
		}
		all["mcpServers"] = list
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	cmd.Files = append(cmd.Files, agentcli.File{Root: agentcli.InHome, Path: home + "/settings.json", Data: data})
	return nil
}

// policy writes the rules of what the agent must not do, and lets it use its MCP servers where it only plans.
func policy(req agentcli.Request) string {
	var b strings.Builder
	rule := func(decision, tools, more string) {
		b.WriteString("[[rule]]\n" + tools + "\n" + more + "decision = \"" + decision + "\"\npriority = 900\n\n")
	}
	if req.Mode == agentcli.ModePlan {
		for _, s := range req.MCP {
			rule("allow", `toolName = "*"`, "mcpName = "+quote(s.Name)+"\nmodes = [\"plan\"]\n")
		}
	}
	if req.Mode == agentcli.ModeAsk {
		rule("deny", `toolName = ["run_shell_command", "write_file", "replace"]`, "")
	}
	for _, d := range req.Deny {
		if d.Command != "" {
			rule("deny", `toolName = "run_shell_command"`, "commandRegex = "+quote(pattern(d.Command))+"\n")
		}
		if d.Path != "" {
			rule("deny", `toolName = ["read_file", "write_file", "replace", "list_directory", "glob", "grep_search"]`,
				"argsPattern = "+quote(`"(file_path|dir_path|path|absolute_path)":"`+pattern(d.Path))+"\n")
		}
	}
	return b.String()
}

// pattern turns a denied command or path into a regular expression on the arguments as JSON has them: * is any text, and
// what does not end in it ends the string.
func pattern(denied string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // as the CLI writes them
	_ = e.Encode(denied)
	inner := strings.TrimSpace(b.String())
	text := regexp.QuoteMeta(inner[1 : len(inner)-1])
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\*\*`, `\*`), `\*`, `.*`)
	if strings.HasSuffix(denied, "/**") {
		return strings.TrimSuffix(text, `/.*`) + `(/|")`
	}
	if !strings.HasSuffix(denied, "*") {
		text += `"`
	}
	return text
}

// quote writes a string as TOML does.
func quote(s string) string { return strconv.Quote(s) }

// instruct gives the agent its standing instructions: by the memory of its private home, which takes them from a file of
// ours, since the agent writes into it what it wants to remember. In the user's own home they stand before the prompt: no
// flag takes them.
func instruct(cmd *agentcli.Command, req agentcli.Request, home string) {
	if home == "" {
		if req.Instructions != "" {
			cmd.Stdin = []byte(req.Instructions + "\n\n" + req.Prompt)
		}
		return
	}
	// Both are there without instructions, too: those of an earlier turn must not stay.
	cmd.Files = append(cmd.Files,
		agentcli.File{Root: agentcli.InHome, Path: home + "/GEMINI.md", Data: []byte("@./substrat.md\n"), KeepExisting: true},
		agentcli.File{Root: agentcli.InHome, Path: home + "/substrat.md", Data: []byte(req.Instructions + "\n")})
}

// hosts are Google's APIs and logins.
var hosts = []string{"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "aiplatform.googleapis.com", "oauth2.googleapis.com", "accounts.google.com"}
