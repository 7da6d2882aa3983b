package engine

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/confine"
	"substrat.dev/substrat/internal/door"
	"substrat.dev/substrat/internal/resource"
	"substrat.dev/substrat/internal/sandbox"
	"substrat.dev/substrat/internal/turn"
)

// Walls are what the configuration says of an agent's sandbox and of what is around it.
type Walls struct {
	// Read and Write are paths of the host, shown at their own place; Path goes before the search path, Env is added.
	Read, Write, Path []string
	Env               map[string]string
	// Network is that of agents that a person creates without saying, "" for their provider's.
	Network substrat.Network
	// Hosts, DenyHosts and Unlisted are the egress door's.
	Hosts, DenyHosts []string
	Unlisted         string
	// KeyOutside keeps the provider's key out of the sandbox: the door adds it.
	KeyOutside bool
	// Nested sandboxes may be made inside; Debug lets programs trace each other.
	Nested, Debug bool
	// FlagOnly lets the agent write files that programs obey, and only tells of it.
	FlagOnly bool
	// Profiles are the names of those that say it.
	Profiles []string
	// Turn bounds a turn; Subtrees all turns under an agent together, by its path.
	Turn     Resources
	Subtrees map[string]Resources
}

// Resources bound what processes use. Zero is no bound.
type Resources struct {
	Memory     int64
	Processes  int
	CPUPercent int
	OpenFiles  int
	// Workspace is how much the workspace may grow in a turn, Home and Tmp what the private home and /tmp may hold.
	Workspace, Home, Tmp int64
}

// DefaultResources let a large build through and keep a machine alive.
func DefaultResources() Resources {
	return Resources{Memory: 8 << 30, Processes: 2000, OpenFiles: 16384, Workspace: 20 << 30, Home: 8 << 30, Tmp: 4 << 30}
}

// door says what an agent's door lets through: what its provider needs, what the configuration names, the hosts of addresses that its
// processes are given by name, of its MCP servers, and what a person allowed.
func (r *runner) door(a *attempt, cmd agentcli.Command, env []string) *door.Policy {
	if a.living.Network != substrat.NetworkDoor || a.agent.Sandbox != substrat.Bubblewrap {
		return nil
	}
	w := a.walls
	named := hostsOf(env)
	if len(a.routes) > 0 {
		// That one is the door itself.
		own := net.JoinHostPort("127.0.0.1", strconv.Itoa(outsidePort))
		named = slices.DeleteFunc(named, func(host string) bool { return host == own })
	}
	return &door.Policy{
		Allow: slices.Concat(cmd.Hosts, w.Hosts, named, serverHosts(a.request.MCP), a.agent.Hosts), Deny: w.DenyHosts, Default: w.Unlisted, Routes: a.routes,
	}
}

// bounds are what a turn may use, and where it stands among the turns that share with it.
func (r *runner) bounds(a *attempt, name string) *turn.Bounds {
	b := &turn.Bounds{Support: r.e.cfg.Resources}
	at := ""
	for part := range strings.SplitSeq(a.path, "/") {
		at = strings.TrimPrefix(at+"/"+part, "/")
		w := a.walls.Subtrees[at]
		b.Path = append(b.Path, resource.Node{Name: part, Limits: w.limits(), Where: "substrat.toml: [[resource]] of " + at})
	}
	w := a.walls.Turn
	own := w.limits()
	own.Disk = []resource.DiskLimit{
		{Path: a.agent.Dir, What: "workspace", Bytes: w.Workspace, Growth: true},
		{Path: r.e.homeDir(a.agent.ID), What: "home", Bytes: w.Home},
	}
	b.Path = append(b.Path, resource.Node{Name: name, Limits: own})
	return b
}

func (w Resources) limits() resource.Limits {
	return resource.Limits{Memory: w.Memory, Processes: w.Processes, CPUPercent: w.CPUPercent, OpenFiles: w.OpenFiles}
}

// rlimits are what each process sets for itself.
func (w Resources) rlimits(mode string) confine.Limits {
	out := confine.Limits{OpenFiles: uint64(w.OpenFiles)}
	for _, l := range w.limits().Rlimits(mode, true) {
		if l.Resource == rlimitProcesses {
			out.Processes = l.Value
		}
	}
	return out
}

// addressed are variables that hold the address of a service which the person gave the processes.
var addressed = []string{"_BASE_URL", "_API_BASE", "_ENDPOINT", "_API_URL"}

// hostsOf finds the hosts of such variables.
func hostsOf(env []string) []string {
	var out []string
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(addressed, func(s string) bool { return strings.HasSuffix(name, s) }) {
			continue
		}
		if host := hostOf(value); host != "" {
			out = append(out, host)
		}
	}
	return out
}

// hostOf is the host of an address, with its port if it names one; "" for what is no address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host := u.Hostname()
	if p := u.Port(); p != "" {
		host = net.JoinHostPort(host, p)
	}
	return strings.ToLower(host)
}

// surround adds what the configuration shows of the host to a sandbox.
func (w *Walls) surround(p *sandbox.Profile) {
	for _, path := range w.Read {
		p.Binds = append(p.Binds, sandbox.Bind{Host: path, Optional: true})
	}
	for _, path := range w.Write {
		p.Binds = append(p.Binds, sandbox.Bind{Host: path, Write: true})
	}
}

// searchPath is the PATH inside: our own programs, toolchains, the system's.
func (w *Walls) searchPath(bin string) string {
	return strings.Join(append(append([]string{bin}, w.Path...), searchPath()), string(filepath.ListSeparator))
}
