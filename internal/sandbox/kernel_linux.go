package sandbox

import (
	"os"
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

func sysctl(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
