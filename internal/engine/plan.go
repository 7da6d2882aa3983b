package engine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/redact"
	"substrat.dev/substrat/internal/confine"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/turn"
)

// Where things are inside a sandbox. They are the same for every agent, so that nothing in a prompt or a configuration
// tells one host from another.
const (
	insideHome = "/home/agent"
	insideBin  = "/run/substrat/bin"
	insideSock = "/run/substrat/sock"
)

// place is where a turn's process finds things: inside its sandbox, or on the host when it has none.
type place struct {
	home, bin, sock, tmp string
}

func (r *runner) place(a *attempt) place {
	if a.agent.Sandbox == substrat.Bubblewrap {
		return place{home: insideHome, bin: insideBin, sock: insideSock, tmp: "/tmp"}
	}
	home := r.e.homeDir(a.agent.ID)
	return place{home: home, bin: filepath.Join(r.e.cfg.Home, "bin"), sock: r.sockDir(a), tmp: filepath.Join(home, "tmp")}
}

// sockDir is where the agent's socket is: a live process keeps its place from turn to turn.
func (r *runner) sockDir(a *attempt) string {
	if r.aside != "" {
		return r.aside
	}
	if _, live := a.provider.(agentcli.LiveProvider); live {
		return filepath.Join(r.e.liveDir(r.agent), "sock")
	}
	return filepath.Join(r.dir, "sock")
}

// holdsFrom is the directory that notes what was made in the workspace for mounts: they last as long as the process.
func (r *runner) holdsFrom(a *attempt) string {
	if r.aside != "" {
		return r.dir
	}
	return filepath.Dir(r.sockDir(a))
}

// configDir is where the configuration directories are built that lie over the workspace's. A turn that runs has its own mounted.
func (r *runner) configDir(a *attempt) string {
	if r.aside != "" {
		return filepath.Join(r.dir, "config")
	}
	return filepath.Join(r.e.cfg.Home, "agents", a.agent.ID, "config")
}

// homeDir is an agent's private home on the host. It holds the CLI's own sessions and configuration.
func (e *Engine) homeDir(agent string) string {
	return filepath.Join(e.cfg.Home, "agents", agent, "home")
}

// fillRequest says what the turn asks of its provider.
func (r *runner) fillRequest(a *attempt) {
	p := r.place(a)
	a.request = agentcli.Request{
		Program: a.agent.Command, Agent: a.request.Agent, Mode: agentcli.ModeForce, Secret: true,
		Prompt: a.prompt, Session: a.agent.Session, Model: r.e.model(&a.agent), Dir: a.agent.Dir, Home: p.home, Instructions: a.instructions,
		Deny:     r.e.cfg.Rules.Denials(a.path, a.agent.Role, a.provider.Info().Asks),
		AskFirst: r.e.cfg.Rules.AskFirst(a.path, a.agent.Role, ownTools()),
		MCP: []agentcli.MCPServer{{
			Name: "substrat", Command: filepath.Join(p.bin, "substrat-shim"), Args: []string{"mcp", "--agent-id", a.agent.ID},
			// The token itself is not here: the configuration of an agent stays the same from turn to turn.
			Env: map[string]string{"SUBSTRAT_SOCKET": filepath.Join(p.sock, "agent.sock"), "SUBSTRAT_TOKEN_FILE": filepath.Join(p.sock, tokenFile)},
		}},
	}
	a.request.Turn, a.request.Tools, a.request.Env = r.turn, teamTools{r, a}, a.keys.env
	if _, live := a.provider.(agentcli.LiveProvider); live {
		a.request.Live = a.live
	}
	if raceOptions != "" {
		a.request.MCP[0].Env["GORACE"] = raceOptions
	}
	if a.agent.Sandbox != substrat.Bubblewrap && a.agent.Turns == 1 && !a.provider.Info().NeedsProgram {
		// Nothing may be written into the user's tree, and without mounts nothing can be shown over it.
		a.request.Prompt = a.instructions + "\n\n" + a.prompt
	}
}

// model is what an agent's provider is told: its own, or the provider's, with aliases resolved.
func (e *Engine) model(a *team.Agent) string {
	name := a.Model
	if name == "" {
		name = e.cfg.Rules.DefaultModel(a.Provider)
	}
	if name == "" {
		return ""
	}
	return e.cfg.Rules.Model(name)
}

// tokenFile holds the turn's secret, beside the agent's socket.
const tokenFile = "token"

// token is the turn's secret, made once and kept for the daemon that comes after.
func (r *runner) token() (string, error) {
	path := filepath.Join(r.dir, "sock", tokenFile)
	data, err := os.ReadFile(path)
	if err == nil && len(data) > 0 {
		return string(data), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", wrapIO("read the turn's token", err)
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "sock"), 0o700); err != nil {
		return "", wrapIO("make the turn's directory", err)
	}
	token := make([]byte, 16)
	_, _ = rand.Read(token)
	text := hex.EncodeToString(token)
	return text, wrapIO("write the turn's token", os.WriteFile(path, []byte(text), 0o600))
}

// wrapIO says what could not be done with a file of ours.
func wrapIO(what string, err error) error {
	if err == nil {
		return nil
	}
	return substrat.Errorf(substrat.CodeStorage, "cannot %s: %v", what, err)
}

// spec turns a provider's plan into what the shim runs: files in place, the argv wrapped, the environment complete.
func (r *runner) spec(a *attempt, cmd agentcli.Command) (turn.Spec, error) {
	if a.keys.missing != nil {
		return turn.Spec{}, a.keys.missing
	}
	if err := ensureDir(a.agent.Dir); err != nil {
		return turn.Spec{}, err
	}
	config, err := r.placeFiles(a, cmd.Files)
	if err != nil {
		return turn.Spec{}, err
	}
	if err := r.holdLinks(a); err != nil {
		return turn.Spec{}, err
	}
	spec := turn.Spec{
		ID: r.turn, Argv: cmd.Argv, Env: r.environment(a, cmd.Env, a.keys.env), Dir: a.agent.Dir, Stdin: cmd.Stdin, KeepStdin: cmd.KeepStdin,
		Sandboxed: a.agent.Sandbox == substrat.Bubblewrap, Limits: turnLimits(a.agent.Limits), Bounds: r.bounds(a, r.turn),
	}
	r.e.learn(spec.Env)
	if !spec.Sandboxed {
		if len(a.links) > 0 {
			return spec, substrat.Errorf(substrat.CodeUnsupported, "cannot show links of the workspace: the agent's sandbox has no mounts").
				WithHint("create it with sandbox bwrap, or unlink them")
		}
		set, _, dir := captured(a.agent.Dir, r.place(a).bin, a.living.Env)
		for k, v := range set {
			spec.Env = append(spec.Env, k+"="+v)
		}
		spec.Secrets = r.secrets(a)
		if dir != "" {
			spec.Dir = dir
		}
		if a.agent.Sandbox == substrat.Landlock {
			if err := r.alone(a, cmd, &spec); err != nil {
				return spec, err
			}
		}
		return spec, wrapIO("make a directory for temporary files", os.MkdirAll(r.place(a).tmp, 0o700))
	}
	spec.Net = r.door(a, cmd, spec.Env)
	profile := r.profile(a, cmd, config)
	if !a.walls.FlagOnly {
		if err := r.e.guard(&profile, a.living, a.links, r.holdsFrom(a)); err != nil {
			return spec, err
		}
	}
	for k, v := range profile.Set {
		r.e.secrets.Add(redact.Within(k, v)...)
	}
	if spec.Options, err = sandbox.Options(profile); err != nil {
		return spec, err
	}
	if spec.Argv, err = sandbox.Wrap(profile, cmd.Argv); err == nil {
		spec.Argv, spec.Options = hideOptions(spec.Argv, spec.Options)
		if r.e.pins {
			spec.Pinned = []string{a.agent.Dir}
		}
	}
	spec.Dir, spec.Secrets = "/", r.secrets(a)
	return spec, err
}

// secrets are the values that must not be in what the turn's process leaves behind.
func (r *runner) secrets(a *attempt) []string { return append(r.e.secrets.Values(), a.token) }

// hideOptions moves bwrap's options from argv to those that go by a descriptor: they name paths of the host, and the first process
// inside has the same argv.
func hideOptions(argv, options []string) (short, all []string) {
	end := slices.Index(argv, "--")
	return append([]string{argv[0]}, argv[end:]...), slices.Concat(argv[1:end], options)
}

// profile says what the turn's sandbox shows.
func (r *runner) profile(a *attempt, cmd agentcli.Command, config []sandbox.Bind) sandbox.Profile {
	p := sandbox.Profile{
		Workspace: a.agent.Dir, WorkspaceReadOnly: a.living.ReadOnly, WorkspaceConfig: config,
		Home:        sandbox.Bind{Host: r.e.homeDir(a.agent.ID), At: insideHome, Write: true},
		HostNetwork: a.living.Network == substrat.NetworkHost, Door: a.living.Network == substrat.NetworkDoor, Etc: r.e.etc,
		Binds: []sandbox.Bind{
			{Host: r.e.cfg.Exe, At: insideBin + "/substrat"},
			{Host: r.e.cfg.Shim, At: insideBin + "/substrat-shim"},
			{Host: r.sockDir(a), At: insideSock},
		},
		Links:  []sandbox.Link{{Target: "substrat", At: insideBin + "/cursor-agent"}},
		Nested: a.walls.Nested || cmd.Nested, TmpBytes: a.walls.Turn.Tmp, Terminal: r.aside != "",
	}
	p.LastStep = func(mounts []sandbox.Mounted, write, argv []string) ([]string, error) {
		plan := confine.Plan{
			Write: write, Landlock: confine.LandlockBest, Nested: p.Nested, Debug: a.walls.Debug, Limits: a.walls.Turn.rlimits(r.e.cfg.Resources.Mode),
		}
		for _, m := range mounts {
			plan.Mounts = append(plan.Mounts, confine.Mount(m))
		}
		return confine.Argv(insideBin+"/substrat-shim", plan, argv)
	}
	p.Binds = append(p.Binds, r.linked(a)...)
	p.Set, p.Unset, p.Dir = captured(a.agent.Dir, r.place(a).bin, a.living.Env)
	for _, x := range cmd.Exposes {
		at := x.At
		if rest, ok := strings.CutPrefix(at, "~/"); ok {
			at = insideHome + "/" + rest
		}
		p.Binds = append(p.Binds, sandbox.Bind{Host: x.Host, At: at, Optional: x.Optional})
	}
	_, paths := r.e.cfg.Rules.Surroundings(a.agent.Provider)
	for _, path := range paths {
		p.Binds = append(p.Binds, sandbox.Bind{Host: path, Optional: true})
	}
	a.walls.surround(&p)
	return p
}

// environment is everything the process gets. Nothing of the daemon's own environment passes but the search path and
// the locale.
func (r *runner) environment(a *attempt, further ...map[string]string) []string {
	p := r.place(a)
	env := map[string]string{
		"PATH": a.walls.searchPath(p.bin), "HOME": p.home, "TMPDIR": p.tmp, "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/sh",
		// For "substrat tool" in a shell of the agent's.
		"SUBSTRAT_SOCKET": filepath.Join(p.sock, "agent.sock"), "SUBSTRAT_TOKEN_FILE": filepath.Join(p.sock, tokenFile),
		"USER": "agent", "LOGNAME": "agent", "NO_COLOR": "1", "GIT_TERMINAL_PROMPT": "0",
	}
	if raceOptions != "" {
		env["GORACE"] = raceOptions
	}
	for _, more := range append([]map[string]string{a.walls.Env}, further...) {
		maps.Copy(env, more)
	}
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// searchPath keeps the directories of the daemon's PATH that a sandbox shows too.
func searchPath() string {
	var dirs []string
	for _, d := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/bin", "/usr/bin", "/bin") {
		visible := strings.HasPrefix(d, "/usr/") || strings.HasPrefix(d, "/opt/") || d == "/bin"
		if visible && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return strings.Join(dirs, ":")
}

// turnLimits fills in what an agent's limits leave open.
func turnLimits(l *substrat.TurnLimits) turn.Limits {
	if l == nil {
		l = &substrat.TurnLimits{}
	}
	seconds := func(n, or int) time.Duration {
		if n <= 0 {
			n = or
		}
		return time.Duration(n) * time.Second
	}
	out := turn.Limits{
		Wall: seconds(l.WallSeconds, 7200), Silence: seconds(l.SilenceSeconds, 1800),
		ResultGrace: 2 * time.Second, InterruptGrace: 2 * time.Second, TermGrace: 2 * time.Second, DrainGrace: 500 * time.Millisecond,
		OutputBytes: l.OutputBytes, StderrBytes: 1 << 20,
	}
	if out.OutputBytes <= 0 {
		out.OutputBytes = 256 << 20
	}
	return out
}
