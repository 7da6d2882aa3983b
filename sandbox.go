package substrat

// SandboxView is what the sandbox of an agent's next turn shows, lets through and bounds.
type SandboxView struct {
	Agent     string         `json:"agent"`
	Workspace SandboxMount   `json:"workspace"`
	Home      SandboxMount   `json:"home"`
	Mounts    []SandboxMount `json:"mounts"`
	// Dir is where processes begin.
	Dir     string  `json:"dir"`
	Network Network `json:"network"`
	// Hosts and DeniedHosts are the egress door's; Unlisted is what becomes of other hosts: deny, ask or allow.
	Hosts       []string      `json:"hosts,omitempty"`
	DeniedHosts []string      `json:"denied_hosts,omitempty"`
	Unlisted    string        `json:"unlisted,omitempty"`
	Bounds      SandboxBounds `json:"bounds"`
	// Seccomp says that system calls are filtered, Landlock which version of it the kernel has, 0 for none.
	Seccomp  bool `json:"seccomp"`
	Landlock int  `json:"landlock"`
	// Nested sandboxes can be made inside; Debug lets processes trace each other.
	Nested bool `json:"nested"`
	Debug  bool `json:"debug"`
	// Variables are the names of what is set; Keys are those of them that only a turn has, and a shell that is told to.
	Variables []string `json:"variables"`
	Keys      []string `json:"keys,omitempty"`
	// Profiles are those of substrat.toml that are for this agent.
	Profiles []string `json:"profiles"`
	Notes    []string `json:"notes,omitempty"`
}

// SandboxMount is one thing that a sandbox shows.
type SandboxMount struct {
	// At is its place inside, Host the one outside.
	At    string `json:"at"`
	Host  string `json:"host"`
	Write bool   `json:"write"`
}

// SandboxBounds bound a turn. Zero is no bound; sizes are in bytes.
type SandboxBounds struct {
	Memory     int64 `json:"memory"`
	Processes  int   `json:"processes"`
	CPUPercent int   `json:"cpu_percent"`
	OpenFiles  int   `json:"open_files"`
	// Workspace is how much the workspace may grow in a turn, Home and Tmp what these may hold.
	Workspace int64 `json:"workspace"`
	Home      int64 `json:"home"`
	Tmp       int64 `json:"tmp"`
	// KeptBy is what keeps them, Detail says how.
	KeptBy string `json:"kept_by"`
	Detail string `json:"detail,omitempty"`
}
