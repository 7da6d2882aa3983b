package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// The settings of the kernel are hints beside the trivial sandbox, which is what decides: root can do without them.

func probeUserns() Finding {
	f := Finding{Name: "user namespaces", OK: true, Detail: "available"}
	switch {
	case sysctl("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		f.OK, f.Detail = false, "kernel.unprivileged_userns_clone is 0"
		f.Remedy = "sysctl -w kernel.unprivileged_userns_clone=1"
	case sysctl("/proc/sys/user/max_user_namespaces") == "0":
		f.OK, f.Detail = false, "user.max_user_namespaces is 0"
		f.Remedy = "sysctl -w user.max_user_namespaces=15000"
	}
	return f
}

func probeAppArmor() Finding {
	f := Finding{Name: "apparmor", OK: true, Detail: "does not restrict user namespaces"}
	if sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
		f.Detail = "restricts user namespaces to programs with a profile (Ubuntu 23.10 and newer)"
		f.Remedy = "if the trivial sandbox fails: use /usr/bin/bwrap of the distribution with its AppArmor profile (package apparmor-profiles), or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
		f.OK = false
	}
	return f
}

// probeCgroup says which limits on memory and processes could be set. Without them one agent can starve the machine.
func probeCgroup() Finding {
	f := Finding{Name: "cgroup", Remedy: "run the daemon as a systemd service with Delegate=yes, or accept that turns share the machine without limits"}
	controllers := sysctl("/sys/fs/cgroup/cgroup.controllers")
	if controllers == "" {
		f.Detail = "no unified cgroup v2 hierarchy: limits on memory and processes are not available"
		return f
	}
	own, err := ownCgroup()
	if err != nil {
		f.Detail = "cgroup v2 with " + controllers + ", but: " + err.Error()
		return f
	}
	f.OK, f.Remedy = true, ""
	f.Detail = "cgroup v2 with " + controllers + ", delegated at " + own
	return f
}

// ownCgroup gives the directory of this process's group if it may make groups below it.
func ownCgroup() (string, error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			dir := filepath.Join("/sys/fs/cgroup", path)
			return dir, writable(dir)
		}
	}
	return "", errors.New("this process is in no cgroup of v2")
}

func sysctl(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
