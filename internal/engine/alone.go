package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/confine"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/team"
	"substrat.dev/substrat/internal/turn"
)

// A turn whose only wall is Landlock runs on the host, where bubblewrap cannot. Nothing can be mounted for it, and so it
// sees the host's paths: what it is to have is opened to it, and everything else is closed.

// alone completes the spec of such a turn.
func (r *runner) alone(a *attempt, cmd agentcli.Command, spec *turn.Spec) (err error) {
	if err := r.linkExposed(a, cmd.Exposes); err != nil {
		return err
	}
	// The system's configuration is not open, and git ends where it finds a file that it cannot read.
	spec.Env = append(spec.Env, "GIT_CONFIG_NOSYSTEM=1")
	spec.Argv, spec.Dir, err = r.confined(a, cmd, spec.Dir)
	return err
}

// confined is the argv of a command behind the step that gives up everything else, and where it works.
func (r *runner) confined(a *attempt, cmd agentcli.Command, dir string) (argv []string, at string, err error) {
	if abi := confine.LandlockABI(); abi < confine.MustABI {
		has := "this kernel has none, or was started without it"
		if abi > 0 {
			has = fmt.Sprintf("this kernel has version %d of it, and %d is needed (Linux 6.12)", abi, confine.MustABI)
		}
		return nil, "", substrat.Errorf(substrat.CodeUnsupported, "cannot hold the agent with Landlock: %s", has).
			WithHint("substrat doctor tells what this machine has; sandbox bwrap needs no Landlock")
	}
	p := r.openPlaces(a, cmd)
	if dir != a.agent.Dir {
		p.Dir = dir
	}
	places, err := sandbox.Alone(p, r.e.cfg.Home, filepath.Join(r.e.cfg.Home, "agents"), filepath.Join(r.e.cfg.Home, "turns"))
	if err != nil {
		return nil, "", err
	}
	plan := confine.Plan{
		Landlock: confine.LandlockMust, Read: places.Read, Write: append(places.Write, confine.PlainDevices...),
		NoUDP: !p.HostNetwork, AnyNet: p.HostNetwork, AnyUnix: confine.LandlockABI() < confine.UnixABI,
		Debug: a.walls.Debug, Limits: a.walls.Turn.rlimits(r.e.cfg.Resources.Mode),
	}
	argv, err = confine.Argv(r.e.cfg.Shim, plan, cmd.Argv)
	return argv, places.Dir, err
}

// openPlaces is what is open to such a turn, beside the system.
func (r *runner) openPlaces(a *attempt, cmd agentcli.Command) sandbox.Profile {
	at := r.place(a)
	p := sandbox.Profile{
		Workspace: a.agent.Dir, WorkspaceReadOnly: a.living.ReadOnly, Home: sandbox.Bind{Host: at.home},
		HostNetwork: a.living.Network == substrat.NetworkHost, Door: a.living.Network == substrat.NetworkDoor, Nested: a.walls.Nested || cmd.Nested,
		Binds: []sandbox.Bind{{Host: at.bin}, {Host: at.sock}, {Host: r.e.cfg.Exe}, {Host: r.e.cfg.Shim}},
	}
	for _, b := range a.git {
		p.Binds = append(p.Binds, gitPlaces(b, a.git[0].Host)...)
	}
	for _, x := range cmd.Exposes {
		b := sandbox.Bind{Host: x.Host, At: x.At, Optional: x.Optional}
		if strings.HasPrefix(x.At, "~/") {
			b.At = "" // the home has a link to it
		}
		p.Binds = append(p.Binds, b)
	}
	_, paths := r.e.cfg.Rules.Surroundings(a.agent.Provider)
	for _, path := range paths {
		p.Binds = append(p.Binds, sandbox.Bind{Host: path, Optional: true})
	}
	a.walls.surround(&p)
	return p
}

// gitPlaces opens of a worktree's repository what a commit writes. Its configuration and its hooks lie beside that and
// could not be closed if the repository were open.
func gitPlaces(b sandbox.Bind, repo string) []sandbox.Bind {
	if b.Host != repo || !b.Write {
		return []sandbox.Bind{b}
	}
	out := []sandbox.Bind{{Host: repo}}
	for _, name := range []string{"objects", "refs", "logs"} {
		out = append(out, sandbox.Bind{Host: filepath.Join(repo, name), Write: true, Optional: true})
	}
	return out
}

// linkExposed makes links in the private home to what a provider would show there. What the link leads to is opened by its
// own path, whatever the agent makes of the link.
func (r *runner) linkExposed(a *attempt, exposes []agentcli.Expose) error {
	home, err := os.OpenRoot(r.e.homeDir(a.agent.ID))
	if err != nil {
		return wrapIO("open the agent's home", err)
	}
	defer home.Close()
	for _, x := range exposes {
		at, ok := strings.CutPrefix(x.At, "~/")
		if !ok {
			continue
		}
		if _, err := os.Stat(x.Host); err != nil && x.Optional {
			continue
		}
		if to, err := home.Readlink(at); err == nil && to == x.Host {
			continue
		}
		if err := home.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return wrapIO("replace a file in the agent's home", err)
		}
		if dir := path.Dir(at); dir != "." {
			if err := home.MkdirAll(dir, 0o700); err != nil {
				return wrapIO("make a directory in the agent's home", err)
			}
		}
		if err := home.Symlink(x.Host, at); err != nil {
			return wrapIO("make a link in the agent's home", err)
		}
	}
	return nil
}

// tellWalls puts on record, before a process whose only wall is Landlock starts, what that does not hold.
func (r *runner) tellWalls(ctx context.Context, a *attempt) error {
	if a.agent.Sandbox != substrat.Landlock {
		return nil
	}
	open := LandlockLeaves(confine.LandlockABI())
	if a.living.Network == substrat.NetworkHost {
		open = append(open, "the host's network")
	}
	text := strings.Join(open, "; ")
	r.e.cfg.Log.Warn("an agent is held by Landlock alone", "agent", a.path, "turn", r.turn, "open", text)
	_, err := r.e.Do(ctx, r.team, team.Meta{}, team.NoteWalls{Agent: r.agent, Turn: r.turn, Open: text})
	return err
}

// LandlockLeaves says what a turn whose only wall is Landlock can do all the same, on a kernel with that version of it.
func LandlockLeaves(abi int) []string {
	var out []string
	if abi < confine.UnixABI {
		out = append(out, "every unix socket of its user (session bus, systemd, container daemons, ssh-agent) can be connected to: Landlock holds them from version 9 on")
	}
	return append(out,
		"modes, owners, times and attributes of its user's files can be changed and looked at anywhere",
		"command lines of all processes can be read, since it has no pid namespace",
		"files in its workspace that programs obey are not protected, only told of")
}

// Walled says whether the process at the other end of a connection is one of a turn's, behind walls.
func Walled(c net.Conn) (bool, error) { return turn.Walled(c) }

// neverRan says why the last step inside a sandbox did not become the agent: what it could not take away, it must not run
// with.
func neverRan(code int, stderr []byte) (why string, ok bool) {
	if code != confine.ExitRefused {
		return "", false
	}
	for line := range bytes.Lines(stderr) {
		text, ours := strings.CutPrefix(strings.TrimSpace(string(line)), "substrat: ")
		if ours && slices.ContainsFunc([]string{"the sandbox cannot ", "cannot confine a command: "}, func(s string) bool { return strings.HasPrefix(text, s) }) {
			return text, true
		}
	}
	return "", false
}
