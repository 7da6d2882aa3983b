package config

import (
	"maps"
	"path/filepath"
	"slices"

	"substrat.dev/substrat/internal/door"
)

// Network is what agents reach through the egress door, beside what their providers need.
type Network struct {
	// Default is what becomes of a host that no list names: deny, ask or allow.
	Default string   `toml:"default"`
	Allow   []string `toml:"allow"`
	Deny    []string `toml:"deny"`
}

// Guard is about the files of a workspace that programs on the user's machine obey.
type Guard struct {
	// Protect holds them read-only while an agent runs, which is so without a word. Allow names those that agents may write all the
	// same, as patterns relative to the workspace.
	Protect *bool    `toml:"protect"`
	Allow   []string `toml:"allow"`
}

// Resources bound what the processes of one turn may use. Nil means the built-in bound, zero none.
type Resources struct {
	Memory     *Size `toml:"memory"`
	Processes  *int  `toml:"processes"`
	CPUPercent *int  `toml:"cpu_percent"`
	OpenFiles  *int  `toml:"open_files"`
	// Workspace is how much the workspace may grow in a turn, Home and Tmp what the private home and /tmp may hold.
	Workspace *Size `toml:"workspace"`
	Home      *Size `toml:"home"`
	Tmp       *Size `toml:"tmp"`
}

// Bound is Resources for the agents that match: of each turn, or with scope subtree of all turns under such an agent together.
type Bound struct {
	Resources
	Agent Path   `toml:"agent"`
	Role  Words  `toml:"role"`
	Scope string `toml:"scope"`
}

// Profile widens or narrows the sandboxes of the agents that it is for; without agents and roles, of all.
type Profile struct {
	Agents []Path `toml:"agents"`
	Roles  Words  `toml:"roles"`
	// Read and Write are paths of the host, shown at their own place.
	Read       []string `toml:"read"`
	Write      []string `toml:"write"`
	Toolchains []string `toml:"toolchains"`
	// Network is that of agents that a person creates without saying. Hosts and DenyHosts are the door's, Unlisted its default.
	Network   string   `toml:"network"`
	Hosts     []string `toml:"hosts"`
	DenyHosts []string `toml:"deny_hosts"`
	Unlisted  string   `toml:"unlisted"`
	// Nested sandboxes may be made inside; Debug lets programs trace each other.
	Nested bool `toml:"nested"`
	Debug  bool `toml:"debug"`
	// Config is what becomes of files that programs obey: protect or flag.
	Config string `toml:"config"`
}

// Walls are everything that the file says of an agent's sandbox.
type Walls struct {
	Read, Write, Toolchains []string
	Network                 string
	Hosts, DenyHosts        []string
	Unlisted                string
	Nested, Debug           bool
	FlagOnly                bool
	// Profiles are the names of those that matched.
	Profiles []string
	// Turn bounds a turn; Subtrees bound the turns under an agent, by its path.
	Turn     Resources
	Subtrees map[string]Resources
}

// WallsFor joins what is said of an agent: later profiles go before earlier ones by name, where both say something.
func (c *Config) WallsFor(path, role, provider string) Walls {
	w := Walls{
		Hosts: slices.Concat(c.Network.Allow, c.Providers[provider].Hosts), DenyHosts: slices.Clone(c.Network.Deny), Unlisted: c.Network.Default,
		Turn: c.Resources, Subtrees: map[string]Resources{},
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		if p := c.Profiles[name]; p.matches(path, role) {
			w.add(p)
			w.Profiles = append(w.Profiles, name)
		}
	}
	for _, b := range c.Bounds {
		if b.Scope != "subtree" {
			if b.Agent.Match(path) && b.Role.Has(role) {
				w.Turn.over(b.Resources)
			}
			continue
		}
		for up := path; ; {
			if b.Agent.Match(up) && (up != path || b.Role.Has(role)) {
				r := w.Subtrees[up]
				r.over(b.Resources)
				w.Subtrees[up] = r
			}
			next := filepath.Dir(up)
			if next == "." || next == up {
				break
			}
			up = next
		}
	}
	return w
}

func (p *Profile) matches(path, role string) bool {
	return p.Roles.Has(role) && (len(p.Agents) == 0 || slices.ContainsFunc(p.Agents, func(a Path) bool { return a.Match(path) }))
}

func (w *Walls) add(p Profile) {
	w.Read, w.Write, w.Toolchains = append(w.Read, p.Read...), append(w.Write, p.Write...), append(w.Toolchains, p.Toolchains...)
	w.Hosts, w.DenyHosts = append(w.Hosts, p.Hosts...), append(w.DenyHosts, p.DenyHosts...)
	pick(&w.Network, p.Network)
	pick(&w.Unlisted, p.Unlisted)
	w.Nested, w.Debug = w.Nested || p.Nested, w.Debug || p.Debug
	if p.Config != "" {
		w.FlagOnly = p.Config == "flag"
	}
}

// over lays what a bound says over what was said before.
func (r *Resources) over(b Resources) {
	pick(&r.Memory, b.Memory)
	pick(&r.Processes, b.Processes)
	pick(&r.CPUPercent, b.CPUPercent)
	pick(&r.OpenFiles, b.OpenFiles)
	pick(&r.Workspace, b.Workspace)
	pick(&r.Home, b.Home)
	pick(&r.Tmp, b.Tmp)
}

// effects are what becomes of a host that no list names.
var effects = []string{"", "deny", "ask", "allow"}

// walls refuses values of these sections that make no sense.
func (c *checker) walls(cfg *Config) {
	if !slices.Contains(effects, cfg.Network.Default) {
		c.bad("network", 0, "default", "a host that no list names is met with deny, ask or allow, not %q", cfg.Network.Default)
	}
	c.hosts("network", "allow", cfg.Network.Allow)
	c.hosts("network", "deny", cfg.Network.Deny)
	for _, p := range slices.Sorted(maps.Keys(cfg.Providers)) {
		c.hosts("providers."+p, "hosts", cfg.Providers[p].Hosts)
	}
	c.resources("resources", 0, cfg.Resources)
	for i, b := range cfg.Bounds {
		c.pattern("resource", i, "agent", b.Agent)
		c.resources("resource", i, b.Resources)
		if b.Scope != "" && b.Scope != "agent" && b.Scope != "subtree" {
			c.bad("resource", i, "scope", "a bound's scope is agent or subtree, not %q", b.Scope)
		}
		if b.Scope == "subtree" && (b.Workspace != nil || b.Home != nil || b.Tmp != nil || b.OpenFiles != nil) {
			c.bad("resource", i, "scope", "of a subtree memory, processes and cpu_percent can be bound; files and disk are each turn's")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Profiles)) {
		c.profile("profiles."+name, cfg.Profiles[name])
	}
}

func (c *checker) profile(heading string, p Profile) {
	c.pattern(heading, 0, "agents", p.Agents...)
	for key, paths := range map[string][]string{"read": p.Read, "write": p.Write} {
		for _, path := range paths {
			if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
				c.bad(heading, 0, key, "a path that is shown in a sandbox is absolute and clean, and not all there is: %q", path)
			}
		}
	}
	for _, t := range p.Toolchains {
		if !slices.Contains(ToolchainNames, t) {
			c.bad(heading, 0, "toolchains", "no toolchain %q is known; there are %v", t, ToolchainNames)
		}
	}
	if !slices.Contains([]string{"", "none", "door", "host"}, p.Network) {
		c.bad(heading, 0, "network", "a network is none, door or host, not %q", p.Network)
	}
	if !slices.Contains(effects, p.Unlisted) {
		c.bad(heading, 0, "unlisted", "a host that no list names is met with deny, ask or allow, not %q", p.Unlisted)
	}
	if !slices.Contains([]string{"", "protect", "flag"}, p.Config) {
		c.bad(heading, 0, "config", "files that programs obey are kept by protect or flag, not %q", p.Config)
	}
	c.hosts(heading, "hosts", p.Hosts)
	c.hosts(heading, "deny_hosts", p.DenyHosts)
}

func (c *checker) hosts(heading, key string, patterns []string) {
	if err := (door.Policy{Allow: patterns}).Check(); err != nil {
		c.bad(heading, 0, key, "%v", err)
	}
}

func (c *checker) resources(heading string, n int, r Resources) {
	for key, v := range map[string]*int{"processes": r.Processes, "cpu_percent": r.CPUPercent, "open_files": r.OpenFiles} {
		if v != nil && *v < 0 {
			c.bad(heading, n, key, "%s must not be below 0", key)
		}
	}
	if r.Processes != nil && *r.Processes > 0 && *r.Processes < 16 {
		c.bad(heading, n, "processes", "an agent CLI does not run with fewer than 16 processes and threads")
	}
	if r.OpenFiles != nil && *r.OpenFiles > 0 && *r.OpenFiles < 64 {
		c.bad(heading, n, "open_files", "an agent CLI does not run with fewer than 64 open files")
	}
	if r.Memory != nil && *r.Memory > 0 && *r.Memory < 16<<20 {
		c.bad(heading, n, "memory", "an agent CLI does not run with less than 16MiB of memory")
	}
}
