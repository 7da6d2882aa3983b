package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/straight"
)

// mount is one thing that the profile adds to the system. host is resolved; empty for a link.
type mount struct {
	what, host, at, target string
	write, workspace       bool
	// dev and ino are of what was looked at.
	dev, ino uint64
}

// userMounts gives the options for what the profile adds, ancestors before what lies inside them, because a mount
// hides everything that was mounted below it before.
func userMounts(p Profile) ([]string, []mount, error) {
	all, err := collect(p)
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(all, func(a, b mount) int { return depth(a.at) - depth(b.at) })
	if err := checkTargets(all); err != nil {
		return nil, nil, err
	}
	var out []string
	for i := range all {
		if err := all[i].look(); err != nil {
			return nil, nil, err
		}
	}
	for _, m := range all {
		out = append(out, m.options(all)...)
	}
	return out, all, nil
}

// look notes which file or directory the source is, so that another one in its place is known. The source was resolved: a link in it
// was put there since.
func (m *mount) look() error {
	if m.host == "" {
		return nil
	}
	_, id, err := straight.Stat(m.host)
	if err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the %s: %v", m.what, err)
	}
	m.dev, m.ino = id.Dev, id.Ino
	return nil
}

func depth(path string) int { return strings.Count(path, "/") }

func collect(p Profile) ([]mount, error) {
	real, err := checkWorkspace(p.Workspace, p.Home.Host)
	if err != nil {
		return nil, err
	}
	c := collector{mounts: []mount{{what: "workspace", host: real, at: p.Workspace, write: !p.WorkspaceReadOnly, workspace: true}}}
	for _, b := range p.WorkspaceConfig {
		if b.at() == p.Workspace || !within(b.at(), p.Workspace) {
			return nil, substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the workspace configuration %s is outside the workspace", b.at())
		}
		b.Write = false
		c.bind("workspace configuration", b)
	}
	if p.Home.Host != "" {
		p.Home.Write = true
		c.bind("home", p.Home)
	}
	for _, b := range p.Binds {
		c.bind("bind", b)
	}
	for _, l := range p.Links {
		c.link(l)
	}
	return c.mounts, c.err
}

// collector keeps the first error, so that its callers read as a list.
type collector struct {
	mounts []mount
	err    error
}

func (c *collector) bind(what string, b Bind) {
	if c.err != nil {
		return
	}
	if c.err = checkPlace(what, b.at()); c.err != nil {
		return
	}
	real, missing, err := resolve(what, b.Host)
	if missing && b.Optional {
		return
	}
	if c.err = err; err == nil {
		c.err = checkNotKernel(what, real)
	}
	m := mount{what: what, host: real, at: b.at(), write: b.Write}
	// What two ask for alike is shown once.
	if !slices.Contains(c.mounts, m) {
		c.mounts = append(c.mounts, m)
	}
}

func (c *collector) link(l Link) {
	if c.err != nil {
		return
	}
	if l.Target == "" || strings.ContainsRune(l.Target, 0) {
		c.err = substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the target of the link %s is empty or holds a NUL byte", l.At)
		return
	}
	c.err = checkPlace("link", l.At)
	c.mounts = append(c.mounts, mount{what: "link", at: l.At, target: l.Target})
}

// checkPlace says whether something may be put at a path of the sandbox.
func checkPlace(what, at string) error {
	if err := checkPath(what, at); err != nil {
		return err
	}
	if at == "/" || slices.Contains(systemDirs, at) && at != "/root" && at != "/nix" {
		return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the %s would hide %s", what, at)
	}
	return checkNotKernel(what, at)
}

// checkTargets refuses two mounts at one place, and a place that is reached through a symbolic link of a tree that the
// agent may have written: bwrap would follow the link while it still sees the host.
func checkTargets(all []mount) error {
	for i, m := range all {
		for _, below := range all[:i] {
			if below.at == m.at {
				return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the %s and the %s are both at %s", below.what, m.what, m.at)
			}
		}
		if under := nearest(all[:i], m.at); under != nil {
			if err := noLinks(under.host, strings.TrimPrefix(m.at, under.at+"/"), m); err != nil {
				return err
			}
		}
	}
	return nil
}

// nearest gives the innermost bind that holds at, nil if none does. all is sorted by depth.
func nearest(all []mount, at string) *mount {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].host != "" && within(at, all[i].at) {
			return &all[i]
		}
	}
	return nil
}

// noLinks walks rel below host. A part that does not exist ends the walk: bwrap makes the rest.
func noLinks(host, rel string, m mount) error {
	for part := range strings.SplitSeq(rel, "/") {
		host = filepath.Join(host, part)
		info, err := os.Lstat(host)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the place of the %s: %v", m.what, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return substrat.Errorf(substrat.CodeInvalid, "cannot make a sandbox: the %s at %s would go through the symbolic link %s", m.what, m.at, host).
				WithHint("remove the link")
		}
	}
	return nil
}

func (m mount) options(all []mount) []string {
	switch {
	case m.target != "":
		return []string{"--symlink", m.target, m.at}
	case m.write:
		return []string{"--bind", m.host, m.at}
	}
	ro := []string{"--ro-bind", m.host, m.at}
	if missing := missingPlaces(m, all); m.workspace && len(missing) > 0 {
		// bwrap cannot make a mount point on a read-only file system, so it makes it while the workspace is writable.
		out := []string{"--bind", m.host, m.at}
		for _, dir := range missing {
			out = append(out, "--dir", dir)
		}
		return append(out, ro...)
	}
	return ro
}

// missingPlaces are the directories that are to be mounted inside m and do not exist there yet.
func missingPlaces(m mount, all []mount) []string {
	var out []string
	for i, inner := range all {
		if under := nearest(all[:i], inner.at); under == nil || under.at != m.at || !isDir(inner.host) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(m.host, strings.TrimPrefix(inner.at, m.at+"/"))); err != nil {
			out = append(out, inner.at)
		}
	}
	return out
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
