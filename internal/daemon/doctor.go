package daemon

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/internal/confine"
	"substrat.dev/substrat/internal/engine"
	"substrat.dev/substrat/internal/netns"
	"substrat.dev/substrat/internal/resource"
	"substrat.dev/substrat/internal/sandbox"
)

// Finding is one thing that doctor looked at.
type Finding struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Required findings decide whether turns can run; the others are limits that a person should know of.
	Required bool   `json:"required"`
	Detail   string `json:"detail"`
	Remedy   string `json:"remedy,omitempty"`
}

// Doctor looks at what turns need on this machine. It needs no running daemon and changes nothing.
func Doctor(ctx context.Context, home string) []Finding {
	var out []Finding
	for _, f := range sandbox.Probe(ctx).Findings {
		out = append(out, Finding(f))
	}
	out = append(out, walls()...)
	for _, p := range providers() {
		out = append(out, provider(ctx, p))
	}
	out = append(out, keys(ctx, home)...)
	return append(out, program(ctx, "git", "worktrees and most agents' work need it"), space(home))
}

// alone tells what sandbox landlock, which needs no bubblewrap, would hold here, and what it would not.
func alone(abi int) Finding {
	f := Finding{Name: "sandbox landlock", Remedy: fmt.Sprintf("Linux 6.12 or newer (Landlock version %d); until then such turns fail", confine.MustABI)}
	if abi < confine.MustABI {
		f.Detail = fmt.Sprintf("agents cannot be held by Landlock alone: version %d is here, %d is needed", abi, confine.MustABI)
		return f
	}
	f.OK, f.Remedy = true, ""
	f.Detail = fmt.Sprintf("for hosts without bubblewrap, by Landlock version %d: holds files, signals, other processes and the internet (network none, or all of the host's: there is no egress door). It does not hold: ", abi) +
		strings.Join(engine.LandlockLeaves(abi), "; ")
	return f
}

// HeldByLandlock says whether sandbox landlock works here.
func HeldByLandlock() bool { return alone(confine.LandlockABI()).OK && confine.SeccompAvailable() }

// walls looks at what stands around a sandbox, beside bubblewrap.
func walls() []Finding {
	seccomp := Finding{Name: "seccomp", OK: confine.SeccompAvailable(), Required: true, Detail: "system calls can be filtered"}
	if !seccomp.OK {
		seccomp.Detail, seccomp.Remedy = "the kernel does not filter system calls", "use a kernel with CONFIG_SECCOMP_FILTER; in a container, allow seccomp"
	}
	landlock := Finding{Name: "landlock", OK: true, Detail: fmt.Sprintf("version %d: a second wall behind the mounts", confine.LandlockABI())}
	if confine.LandlockABI() == 0 {
		landlock.OK, landlock.Detail = false, "the kernel has none, or was started without it: the mounts are the only wall for files"
		landlock.Remedy = "Linux 5.13 or newer with landlock in the lsm= list of the kernel's command line"
	}
	door := Finding{Name: "egress door", OK: true, Detail: "a network with nothing but a door in it can be made"}
	if err := netns.Probe(); err != nil {
		door.OK, door.Detail = false, "agents cannot have network door: "+err.Error()
		door.Remedy = "allow unprivileged user namespaces for this program (see above); until then such turns fail, and --network host is the choice left"
	}
	support := resource.Detect("")
	limits := Finding{Name: "limits", OK: support.Mode != resource.ModeRlimits, Detail: support.Mode + ": " + support.Detail}
	if !limits.OK {
		limits.Remedy = "run the daemon as a systemd service with Delegate=yes and DelegateSubgroup=substrat-daemon"
	}
	return []Finding{seccomp, landlock, alone(confine.LandlockABI()), door, limits}
}

// provider tells whether an agent CLI is there. None but the simulator is required.
func provider(ctx context.Context, p agentcli.Provider) Finding {
	info := p.Info()
	f := Finding{Name: "provider " + info.Name, OK: true, Detail: info.Title}
	prober, ok := p.(agentcli.Prober)
	if !ok {
		return f
	}
	s := prober.Probe(ctx)
	f.OK, f.Remedy = s.Installed && s.Problem == "", s.Remedy
	switch {
	case s.Problem != "":
		f.Detail = s.Problem
	case s.Version != "":
		f.Detail = fmt.Sprintf("%s, %s at %s", info.Title, s.Version, s.Path)
	}
	return f
}

func program(_ context.Context, name, why string) Finding {
	path, err := exec.LookPath(name)
	if err != nil {
		return Finding{Name: name, Detail: "not found: " + why, Remedy: "install " + name + " with the system's package manager"}
	}
	return Finding{Name: name, OK: true, Detail: path}
}

// spaceLeast is how much room a home should have.
const spaceLeast = 200 << 20

// space looks at the file system that holds the home, or would.
func space(home string) Finding {
	var fs syscall.Statfs_t
	dir := home
	for syscall.Statfs(dir, &fs) != nil && dir != "/" {
		dir = filepath.Dir(dir)
	}
	free := fs.Bavail * uint64(fs.Bsize)
	return Finding{
		Name: "home", OK: free >= spaceLeast, Detail: fmt.Sprintf("%s, %d MB free", home, free>>20),
		Remedy: map[bool]string{false: "make room, or set SUBSTRAT_HOME to a directory with more"}[free >= spaceLeast],
	}
}
