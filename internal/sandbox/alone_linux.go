package sandbox

import (
	"path/filepath"
	"slices"

	"substrat.dev/substrat"
)

// etcSeen is what of /etc a process reads beside etcFiles where it sees that the files are there: a program that finds one
// and may not read it complains, or ends.
var etcSeen = []string{"bash.bashrc", "profile.d", "python3*"}

// Alone gives the places of a profile for a process that no mount holds, and whose wall knows only what is open: nothing
// below an open place can be closed, or shown elsewhere. Keep is what must not be open with all below.
func Alone(p Profile, keep ...string) (Places, error) {
	if p.Door || p.Nested || len(p.WorkspaceConfig) > 0 || len(p.Links) > 0 {
		return Places{}, substrat.Errorf(substrat.CodeUnsupported, "cannot do without mounts: an egress door, sandboxes inside and what is shown elsewhere need them")
	}
	for _, b := range append([]Bind{p.Home}, p.Binds...) {
		if b.At != "" && b.At != b.Host {
			return Places{}, substrat.Errorf(substrat.CodeUnsupported, "cannot show %s at %s: nothing can be mounted in this sandbox", b.Host, b.At).
				WithHint("sandbox bwrap can, where bubblewrap runs")
		}
	}
	all, err := collect(p)
	if err != nil {
		return Places{}, err
	}
	out := Places{Read: systemPlaces(p.HostNetwork)}
	for _, m := range all {
		if m.workspace {
			out.Dir = m.host
		}
		if m.write {
			out.Write = append(out.Write, m.host)
		} else {
			out.Read = append(out.Read, m.host)
		}
	}
	if p.Dir != "" {
		out.Dir = p.Dir
	}
	for _, k := range keep {
		if real, err := filepath.EvalSymlinks(k); err == nil {
			k = real
		}
		for _, at := range slices.Concat(out.Read, out.Write) {
			if real, err := filepath.EvalSymlinks(at); err == nil && within(k, real) {
				return Places{}, substrat.Errorf(substrat.CodeUnsupported, "cannot keep %s closed: it lies in %s, which is open to the agent", k, at).
					WithHint("without mounts a part of an open directory cannot be closed: show less, or choose sandbox bwrap")
			}
		}
	}
	return out, nil
}

// systemPlaces is the system that systemMounts shows. All of /proc is open, because no rule can mean the process's own part
// of it: what of other processes is private there, the kernel refuses to a process with Landlock, and the rest is what
// every user of the machine may read.
func systemPlaces(hostNetwork bool) []string {
	out := []string{"/usr", "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/opt", "/proc"}
	names := append(slices.Clone(etcFiles), etcSeen...)
	if hostNetwork {
		names = append(names, etcNetworkFiles...)
	}
	for _, name := range names {
		found, _ := filepath.Glob("/etc/" + name)
		out = append(out, found...)
	}
	return out
}
