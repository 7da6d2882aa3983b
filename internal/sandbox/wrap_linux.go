package sandbox

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
)

// Wrap gives the full argv that runs argv under p: the absolute path of bwrap, its options, "--", argv. The process
// environment is passed through by execve.
//
// Errors are *substrat.Error: not_installed without bwrap, unsupported where bwrap is setuid or the platform has no
// namespaces, invalid for a profile or an argv that breaks a rule, not_found for a host path that does not exist.
func Wrap(p Profile, argv []string) ([]string, error) {
	if err := checkArgv(argv); err != nil {
		return nil, err
	}
	bwrap, err := findBwrap()
	if err != nil {
		return nil, err
	}
	user, mounts, err := userMounts(p)
	if err != nil {
		return nil, err
	}
	if p.Terminal && p.LastStep == nil {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: one that keeps a terminal needs a last step")
	}
	if argv, err = lastStep(p, mounts, argv); err != nil {
		return nil, err
	}
	dir := p.Dir
	if dir == "" {
		dir = p.Workspace
	}
	if err := checkPath("working directory", dir); err != nil {
		return nil, err
	}
	if p.Door && (p.HostNetwork || p.Etc == "") {
		return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: a network with an egress door needs an /etc of its own, and is not the host's")
	}
	out := append([]string{bwrap}, isolation(p.HostNetwork || p.Door, p.Terminal)...)
	if p.Nested && os.Getuid() == 0 {
		// Root cannot be mapped again in a namespace below, so that a sandbox inside could not be made.
		out = append(out, "--uid", "1000", "--gid", "1000")
	}
	out = append(out, systemMounts(p.Etc, p.HostNetwork, p.TmpBytes)...)
	out = append(out, user...)
	// What lies in /run is ours: an agent that could rename it could put another program in the place of our relay.
	out = append(out, "--remount-ro", "/run", "--remount-ro", "/", "--chdir", dir, "--")
	return append(out, argv...), nil
}

// lastStep is argv behind the profile's last step: the mounts must be those that were looked at here, whatever happened to their
// sources since, and nothing is written but what is mounted for it.
func lastStep(p Profile, mounts []mount, argv []string) ([]string, error) {
	if p.LastStep == nil {
		return argv, nil
	}
	seen, write := []Mounted(nil), append([]string{"/dev"}, tmpDirs...)
	for _, m := range mounts {
		if m.target != "" {
			continue
		}
		seen = append(seen, Mounted{At: m.at, ReadOnly: !m.write, Dev: m.dev, Ino: m.ino})
		if m.write {
			write = append(write, m.at)
		}
	}
	return p.LastStep(seen, write, argv)
}

// Options are further options of bwrap, which set variables inside. They are to be handed over by a descriptor (--args):
// everybody on the machine can read argv, and a variable may hold a key.
func Options(p Profile) ([]string, error) {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(p.Set)) {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(p.Set[k], 0) {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the variable %.40q cannot be set", k)
		}
		out = append(out, "--setenv", k, p.Set[k])
	}
	for _, k := range p.Unset {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the variable %.40q cannot be unset", k)
		}
		out = append(out, "--unsetenv", k)
	}
	return out, nil
}

// isolation holds the options that make it a sandbox. --unshare-user beside --unshare-all makes the user namespace a
// must; --cap-drop ALL matters when the daemon is root, where bwrap would keep nearly every capability. A network that is kept is
// the one that bwrap finds: the host's, or one that was made for it.
func isolation(keepNetwork, keepSession bool) []string {
	out := []string{"--unshare-all", "--unshare-user"}
	if keepNetwork {
		out = append(out, "--share-net")
	}
	out = append(out, "--hostname", "substrat", "--die-with-parent")
	if !keepSession {
		out = append(out, "--new-session")
	}
	return append(out, "--cap-drop", "ALL")
}

// findBwrap gives the absolute path of a bwrap that is not setuid: a setuid one has a history of escalations and drops
// the environment that the process is to get.
func findBwrap() (string, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil || !filepath.IsAbs(path) {
		return "", substrat.Errorf(substrat.CodeNotInstalled, "cannot make a sandbox: bwrap is not in PATH").
			WithHint("install the package bubblewrap, or choose sandbox landlock or none for this agent: substrat doctor tells what the first holds")
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", substrat.Errorf(substrat.CodeNotInstalled, "cannot make a sandbox: %v", err)
	}
	if info.Mode()&os.ModeSetuid != 0 {
		return "", substrat.Errorf(substrat.CodeUnsupported, "cannot make a sandbox: %s is setuid", path).
			WithHint("chmod u-s it and allow unprivileged user namespaces")
	}
	return path, nil
}

func checkArgv(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return substrat.Errorf(substrat.CodeInvalid, "cannot wrap a command: it is empty")
	}
	for _, a := range argv {
		if strings.ContainsRune(a, 0) {
			return substrat.Errorf(substrat.CodeInvalid, "cannot wrap a command: an argument holds a NUL byte")
		}
	}
	return nil
}
