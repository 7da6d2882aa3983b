package cursor

import (
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
	cmd.Argv = append(cmd.Argv, "--print", "--output-format", "stream-json", "--stream-partial-output", "--trust")
	if !req.Bare || len(req.MCP) > 0 {
		// It approves whatever servers the workspace names: in a sandbox those of the request, in a user's own tree also
		// those that the tree brings.
		cmd.Argv = append(cmd.Argv, "--approve-mcps")
	}
	switch req.Mode {
	case agentcli.ModeForce:
		cmd.Argv = append(cmd.Argv, "--force")
	case agentcli.ModePlan, agentcli.ModeAsk:
		cmd.Argv = append(cmd.Argv, "--mode", string(req.Mode))
	}
	if req.Model != "" {
		cmd.Argv = append(cmd.Argv, "--model", req.Model)
	}
	cmd.Argv = append(cmd.Argv, "--workspace", req.Dir)
	if req.Session != "" {
		cmd.Argv = append(cmd.Argv, "--resume", req.Session)
	}
	cmd.Argv = append(cmd.Argv, req.Args...)
	prompt := req.Prompt
	if req.Bare && req.Instructions != "" {
		prompt = req.Instructions + "\n\n" + prompt
	}
	if len(prompt) > argvMost || req.Secret {
		cmd.Stdin = []byte(prompt)
		return cmd, nil
	}
	cmd.Argv = append(cmd.Argv, "--", prompt)
	return cmd, nil
}

// NewSession implements agentcli.SessionCreator.
func (p *Provider) NewSession(req agentcli.Request) (agentcli.Command, error) {
	cmd, err := p.base(req)
	cmd.Argv = append(cmd.Argv, "create-chat")
	return cmd, err
}

// base is what every turn has in common: the program, and the files it obeys.
func (p *Provider) base(req agentcli.Request) (agentcli.Command, error) {
	cmd, err := p.program(req)
	if err != nil {
		return cmd, err
	}
	if req.Bare {
		cmd.Files, err = bareConfig(req)
	} else {
		cmd.Files, err = config(req)
	}
	return cmd, err
}

// program is the program with its credentials, and what it needs to see.
func (p *Provider) program(req agentcli.Request) (agentcli.Command, error) {
	cmd := agentcli.Command{Env: map[string]string{}, Network: p.opts.Network, Hosts: hosts}
	for k, v := range p.opts.Env {
		cmd.Env[k] = v
	}
	if len(p.opts.Command) > 0 {
		cmd.Argv = append(cmd.Argv, p.opts.Command...)
		return cmd, nil
	}
	found, err := detect()
	if err != nil {
		return cmd, err
	}
	cmd.Argv = []string{found.path}
	cmd.Exposes = found.exposes()
	if req.Bare {
		cmd.Exposes = append(cmd.Exposes, found.own()...)
	}
	return cmd, nil
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

// own is what of the user's a run without a sandbox goes on with when it needs a home of its own: the conversations, so that
// they can be resumed from either side, and the settings. The CLI replaces its settings when it writes them, so that a model
// chosen for one run does not become the user's default.
func (f installed) own() []agentcli.Expose {
	if f.home == "" {
		return nil
	}
	var out []agentcli.Expose
	for _, name := range []string{".cursor/chats", ".cursor/cli-config.json"} {
		out = append(out, agentcli.Expose{Host: filepath.Join(f.home, name), At: "~/" + name, Optional: true})
	}
	return out
}

// hosts are Cursor's API, with its streams on hosts of their own, logins and downloads.
var hosts = []string{"*.cursor.sh", "cursor.com", "*.cursor.com"}
