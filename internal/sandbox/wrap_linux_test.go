package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"substrat.dev/substrat"
)

// The order of what the profile adds is what this golden holds: a tmpfs before the workspace, the workspace before
// what lies in it, whatever order the profile gives.
func TestWrapArgv(t *testing.T) {
	ws, home, cfg, tool := dir(t, "ws"), dir(t, "home"), dir(t, "cfg"), dir(t, "tool")
	got, err := Wrap(Profile{
		Workspace:       ws,
		WorkspaceConfig: []Bind{{Host: cfg, At: ws + "/.cursor"}},
		Home:            Bind{Host: home, At: "/home/agent"},
		Binds: []Bind{
			{Host: tool, At: "/home/agent/bin"}, {Host: tool, Write: true},
			{Host: "/nonexistent", Optional: true},
		},
		Links: []Link{{Target: "x", At: "/run/l"}},
	}, []string{"agent", "--bind", "/", "/"})
	if err != nil {
		t.Fatal(err)
	}
	bwrap, err := findBwrap()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(
		[]string{bwrap, "--unshare-all", "--unshare-user", "--hostname", "substrat", "--die-with-parent", "--new-session", "--cap-drop", "ALL"},
		systemMounts("", false, 0),
		[]string{"--bind", home, "/home/agent", "--symlink", "x", "/run/l", "--ro-bind", tool, "/home/agent/bin"},
		[]string{"--bind", ws, ws, "--bind", tool, tool, "--ro-bind", cfg, ws + "/.cursor"},
		[]string{"--remount-ro", "/run", "--remount-ro", "/", "--chdir", ws, "--", "agent", "--bind", "/", "/"},
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("argv (-want +got):\n%s", diff)
	}
}

func TestNetworkBringsTheResolver(t *testing.T) {
	ws := dir(t, "ws")
	for _, network := range []bool{false, true} {
		argv, err := Wrap(Profile{Workspace: ws, HostNetwork: network}, []string{"true"})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(argv, "--share-net"); got != network {
			t.Errorf("network %v: --share-net is %v", network, got)
		}
		if got := slices.Contains(argv, "/etc/resolv.conf"); got != network {
			t.Errorf("network %v: resolv.conf is %v", network, got)
		}
	}
}

func TestWrapRefuses(t *testing.T) {
	ws, home := dir(t, "ws"), dir(t, "home")
	link := filepath.Join(ws, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	rootLink := filepath.Join(home, "rootlink")
	if err := os.Symlink("/", rootLink); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	userHome, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	ok := Profile{Workspace: ws}
	with := func(change func(*Profile)) Profile { p := ok; change(&p); return p }
	tests := map[string]struct {
		p    Profile
		argv []string
		code substrat.Code
		text string
	}{
		"no command":           {p: ok, argv: []string{}, code: substrat.CodeInvalid, text: "empty"},
		"NUL in argv":          {p: ok, argv: []string{"a", "b\x00"}, code: substrat.CodeInvalid, text: "NUL"},
		"no workspace":         {p: Profile{}, code: substrat.CodeInvalid, text: "not absolute"},
		"relative":             {p: Profile{Workspace: "ws"}, code: substrat.CodeInvalid, text: "not absolute"},
		"not clean":            {p: Profile{Workspace: ws + "/../ws"}, code: substrat.CodeInvalid, text: "not clean"},
		"NUL":                  {p: Profile{Workspace: ws + "\x00"}, code: substrat.CodeInvalid, text: "NUL"},
		"missing workspace":    {p: Profile{Workspace: ws + "/none"}, code: substrat.CodeNotFound, text: "does not exist"},
		"workspace is a file":  {p: Profile{Workspace: file}, code: substrat.CodeInvalid, text: "not a directory"},
		"root":                 {p: Profile{Workspace: "/"}, code: substrat.CodeInvalid, text: "holds"},
		"link to the root":     {p: Profile{Workspace: rootLink}, code: substrat.CodeInvalid, text: "holds"},
		"system":               {p: Profile{Workspace: "/usr"}, code: substrat.CodeInvalid, text: "holds"},
		"kernel":               {p: Profile{Workspace: "/proc/self"}, code: substrat.CodeInvalid, text: "lies in /proc"},
		"user's home":          {p: Profile{Workspace: userHome}, code: substrat.CodeInvalid, text: "holds"},
		"holds private home":   {p: with(func(p *Profile) { p.Home = Bind{Host: ws + "/link", At: "/h"} }), code: substrat.CodeInvalid, text: "holds"},
		"config outside":       {p: with(func(p *Profile) { p.WorkspaceConfig = []Bind{{Host: home, At: "/x"}} }), code: substrat.CodeInvalid, text: "outside"},
		"config over it":       {p: with(func(p *Profile) { p.WorkspaceConfig = []Bind{{Host: home, At: ws}} }), code: substrat.CodeInvalid, text: "outside"},
		"config through link":  {p: with(func(p *Profile) { p.WorkspaceConfig = []Bind{{Host: home, At: link + "/x"}} }), code: substrat.CodeInvalid, text: "symbolic link"},
		"config on a link":     {p: with(func(p *Profile) { p.WorkspaceConfig = []Bind{{Host: home, At: link}} }), code: substrat.CodeInvalid, text: "symbolic link"},
		"missing bind":         {p: with(func(p *Profile) { p.Binds = []Bind{{Host: "/nonexistent"}} }), code: substrat.CodeNotFound, text: "does not exist"},
		"bind of /proc":        {p: with(func(p *Profile) { p.Binds = []Bind{{Host: "/proc", At: "/x"}} }), code: substrat.CodeInvalid, text: "lies in /proc"},
		"bind over /usr":       {p: with(func(p *Profile) { p.Binds = []Bind{{Host: home, At: "/usr"}} }), code: substrat.CodeInvalid, text: "hide"},
		"two at one place":     {p: with(func(p *Profile) { p.Binds = []Bind{{Host: home, At: ws}} }), code: substrat.CodeInvalid, text: "both"},
		"link without target":  {p: with(func(p *Profile) { p.Links = []Link{{At: "/x"}} }), code: substrat.CodeInvalid, text: "target"},
		"relative working dir": {p: with(func(p *Profile) { p.Dir = "x" }), code: substrat.CodeInvalid, text: "not absolute"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			argv := tt.argv
			if argv == nil {
				argv = []string{"true"}
			}
			got, err := Wrap(tt.p, argv)
			if err == nil {
				t.Fatalf("Wrap gave %q, want an error", got)
			}
			if code := substrat.CodeOf(err); code != tt.code || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %s %q, want %s with %q", code, err, tt.code, tt.text)
			}
		})
	}
}

// Invariant 8: without bwrap there is an error and no argv that could be run bare.
func TestFailsClosed(t *testing.T) {
	ws := dir(t, "ws")
	t.Setenv("PATH", "")
	argv, err := Wrap(Profile{Workspace: ws}, []string{"true"})
	if argv != nil || substrat.CodeOf(err) != substrat.CodeNotInstalled {
		t.Errorf("got argv %q and %v, want none and not_installed", argv, err)
	}
	if r := Probe(t.Context()); r.CanSandbox || r.Findings[0].OK || r.Findings[0].Remedy == "" {
		t.Errorf("Probe without bwrap: %+v", r)
	}
}

func TestRefusesSetuid(t *testing.T) {
	ws, bin := dir(t, "ws"), dir(t, "bin")
	fake := filepath.Join(bin, "bwrap")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(fake, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	if _, err := Wrap(Profile{Workspace: ws}, []string{"true"}); substrat.CodeOf(err) != substrat.CodeUnsupported {
		t.Errorf("a setuid bwrap: %v, want unsupported", err)
	}
}

func TestProbe(t *testing.T) {
	r := Probe(t.Context())
	for _, f := range r.Findings {
		if f.Name == "" || f.Detail == "" || f.OK == (f.Remedy != "") {
			t.Errorf("a finding must have a detail, and a remedy where it is not OK: %+v", f)
		}
	}
	if !r.CanSandbox {
		t.Errorf("this machine runs the other tests, but: %+v", r)
	}
}

// dir makes a directory whose path has no link and that every user may enter.
func dir(t *testing.T, name string) string {
	t.Helper()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(tmp), 0o755); err != nil {
		t.Fatal(err)
	}
	d := filepath.Join(tmp, name)
	if err := os.Mkdir(d, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}
