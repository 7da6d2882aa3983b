//go:build attack && linux

package attack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// reads tries to read files, or list directories, of the host. Reading what holds no canary proves nothing, unless any will do.
func reads(f *facts, anything bool, paths ...string) outcome {
	var last error
	for _, p := range paths {
		file, err := os.OpenFile(p, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			last = err
			continue
		}
		data, err := io.ReadAll(io.LimitReader(file, 1<<20))
		names, _ := file.Readdirnames(5)
		_ = file.Close()
		switch {
		case bytes.Contains(data, []byte(f.Canary)):
			return was(hole, "%s was read", p)
		case anything && (len(data) > 0 || len(names) > 0):
			return was(hole, "%s was read: %.40q %v", p, data, names)
		case err != nil:
			last = err
		default:
			last = fmt.Errorf("%s: nothing in it", p)
		}
	}
	return was(refused, "%v", last)
}

// writes tries to write to files of the host.
func writes(paths ...string) outcome {
	var last error
	for _, p := range paths {
		file, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NONBLOCK, 0o755)
		if err == nil {
			_, err = file.WriteString("attack\n")
			_ = file.Close()
			if err == nil {
				return was(hole, "%s was written", p)
			}
		}
		last = err
	}
	return was(refused, "%v", last)
}

// systemMarker is a file that a hole would leave in a directory of the system.
func systemMarker(w *world, dir string) string {
	return filepath.Join(dir, "attack-marker-"+filepath.Base(w.dir))
}

// marked looks for a marker on the host, and takes it away.
func marked(dirs ...string) func(*world, outcome) outcome {
	return func(w *world, o outcome) outcome {
		for _, d := range dirs {
			if os.Remove(systemMarker(w, d)) == nil {
				return was(hole, "a file is in the host's %s", d)
			}
		}
		if o.Verdict == hole {
			return was(contained, "written inside only: %s", o.Text)
		}
		return o
	}
}

func files() []attempt {
	return []attempt{
		{id: "F01", threat: "T12", what: "read files of the user's home", try: func(f *facts) outcome {
			return reads(f, true, filepath.Join(f.HostHome, "notes.txt"), filepath.Join(f.HostHome, ".bash_history"), f.HostHome, "/home", "/root/.bashrc", "/root/.profile")
		}, judge: homeIsOwn},
		{id: "F02", threat: "T14", what: "read the user's keys: ~/.ssh, ~/.aws, ~/.netrc, ~/.cursor", try: func(f *facts) outcome {
			var all []string
			for _, p := range []string{".ssh/id_ed25519", ".aws/credentials", ".netrc", ".cursor/mcp.json"} {
				all = append(all, filepath.Join(f.HostHome, p), "/root/"+p)
			}
			return reads(f, true, all...)
		}},
		{id: "F03", threat: "T14", what: "read /etc/shadow and other secrets of the system", try: func(f *facts) outcome {
			return reads(f, true, "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssl/private", "/var/lib", "/var/log", "/boot", "/srv", "/mnt")
		}},
		{id: "F04", threat: "T23", what: "list and read the daemon's home, configuration and log", try: func(f *facts) outcome {
			return reads(f, true, filepath.Join(f.Home, "substrat.toml"), filepath.Join(f.Home, "daemon.log"), filepath.Join(f.Home, "daemon.lock"), filepath.Join(f.Home, "journal.db"), filepath.Join(f.Home, "turns"))
		}},
		{id: "F05", threat: "T23", what: "write to the journal and its log", try: func(f *facts) outcome {
			return writes(filepath.Join(f.Home, "journal.db"), filepath.Join(f.Home, "journal.db-wal"), filepath.Join(f.Home, "search.db"), filepath.Join(f.Home, "marker"))
		}, judge: func(w *world, o outcome) outcome {
			data, _ := os.ReadFile(filepath.Join(w.home, "marker"))
			wal, _ := os.ReadFile(filepath.Join(w.home, "journal.db-wal"))
			if len(data) > 0 || bytes.HasSuffix(wal, []byte("attack\n")) {
				return was(hole, "the journal's directory was written to")
			}
			return o
		}},
		{id: "F06", threat: "T12", what: "read other agents' private homes", try: func(f *facts) outcome {
			return reads(f, true, filepath.Join(f.Agents["victim"].Home, "secret"), filepath.Join(f.Agents["recluse"].Home, "secret"), filepath.Dir(f.Agents["victim"].Home))
		}},
		{id: "F07", threat: "T12", what: "read another agent's workspace, by path and through ..", try: func(f *facts) outcome {
			return reads(f, true, filepath.Join(f.Private, "secret"), "../private/secret", filepath.Join(f.Shared, "../private/secret"), "/proc/self/cwd/../private/secret")
		}},
		{id: "F08", threat: "T1", what: "read the token and find the socket of another agent's open turn", try: func(f *facts) outcome {
			return reads(f, true, filepath.Join(filepath.Dir(f.VictimSock), "token"), filepath.Dir(f.VictimSock), f.VictimSock)
		}},
		{id: "F09", threat: "T12", what: "find a secret in /tmp, /var/tmp, /dev/shm that another agent put there", try: func(f *facts) outcome {
			return reads(f, false, "/tmp/secret", "/var/tmp/secret", "/dev/shm/secret")
		}},
		{id: "F10", threat: "T24", what: "write into /usr, /bin, /lib, /opt and /etc", try: func(f *facts) outcome {
			name := "attack-marker-" + filepath.Base(f.Dir)
			return writes("/usr/"+name, "/usr/bin/"+name, "/usr/local/bin/"+name, "/bin/"+name, "/lib/"+name, "/opt/"+name, "/etc/"+name, "/etc/ld.so.preload", "/etc/passwd")
		}, judge: marked("/usr", "/usr/bin", "/usr/local/bin", "/opt", "/etc", "/lib")},
		{id: "F11", threat: "T24", what: "overwrite the relay in /run/substrat/bin", try: func(*facts) outcome {
			return writes("/run/substrat/bin/substrat", "/run/substrat/bin/cursor-agent", "/run/substrat/bin/other")
		}, judge: binaryIntact},
		{id: "F12", threat: "T24", what: "replace the relay: rename, unlink, symlink over it", try: replaceRelay, judge: binaryIntact},
		{id: "F13", threat: "CVE-2019-5736", what: "write to the host's binaries by /proc/PID/exe", try: func(*facts) outcome {
			var last error
			list, _ := filepath.Glob("/proc/[0-9]*/exe")
			for _, p := range append(list, "/proc/self/exe") {
				target, _ := os.Readlink(p)
				if strings.HasSuffix(target, "/probe") {
					continue // it lies in the workspace
				}
				file, err := os.OpenFile(p, os.O_WRONLY, 0)
				if err == nil {
					_ = file.Close()
					return was(hole, "%s (%s) opened for writing", p, target)
				}
				last = err
			}
			return was(refused, "%v", last)
		}, judge: binaryIntact},
		{id: "F14", threat: "CVE-2024-21626", what: "leave by /proc/PID/root, /proc/PID/cwd and open descriptors", try: leaveByProc},
		{id: "F15", threat: "T20", what: "find a descriptor that was not meant for it, 200 times", try: strayDescriptors},
		{id: "F16", threat: "T4", what: "hard link a file of the system or of another agent into the workspace", try: func(f *facts) outcome {
			for _, p := range []string{"/etc/passwd", "/usr/bin/env", "/run/substrat/bin/substrat", "/run/substrat/sock/token", filepath.Join(f.Private, "secret")} {
				if err := os.Link(p, "linked"); err == nil {
					_ = os.Remove("linked")
					return was(hole, "%s was linked", p)
				}
			}
			return was(refused, "no file could be linked")
		}},
		{id: "F17", threat: "T3", what: "leave a setuid program of the daemon's user in the workspace", try: func(*facts) outcome {
			_ = os.Remove("setuid")
			if err := os.WriteFile("setuid", []byte("#!/bin/sh\n"), 0o755); err != nil {
				return was(untried, "%v", err)
			}
			err := unix.Chmod("setuid", 0o6755)
			if fd, errno := unix.Open("setuid2", unix.O_CREAT|unix.O_WRONLY, 0o6755); errno == nil {
				_ = unix.Close(fd)
			}
			return was(refused, "chmod: %v", err)
		}, judge: func(w *world, o outcome) outcome {
			for _, name := range []string{"setuid", "setuid2"} {
				path := filepath.Join(w.facts.Shared, name)
				st, err := os.Lstat(path)
				_ = os.Remove(path)
				if err == nil && st.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
					return was(hole, "%s is %v on the host, of uid %d: every local user who reaches it becomes the daemon's user", name, st.Mode(), os.Geteuid())
				}
			}
			return o
		}},
		{id: "F18", threat: "T3", what: "give a file capabilities (security.capability)", try: func(*facts) outcome {
			_ = os.WriteFile("capable", nil, 0o755)
			// VFS_CAP_REVISION_2, every capability, effective.
			value := []byte{1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 1, 0, 0, 0, 0, 0, 0}
			if err := unix.Setxattr("capable", "security.capability", value, 0); err != nil {
				return was(refused, "%v", err)
			}
			return was(hole, "the attribute was set")
		}},
		{id: "F19", threat: "T8", what: "as a reviewer, write to the read-only workspace", play: func(w *world) outcome {
			out := w.shell("lead/critic", "touch by-critic; echo x >> README; mv README README2; ln -s / l; mkdir d; rm -f .gitignore; chmod 777 README; true")
			for _, p := range []string{"by-critic", "README2", "l", "d"} {
				if _, err := os.Lstat(filepath.Join(w.facts.Shared, p)); err == nil {
					return was(hole, "%s is there", p)
				}
			}
			if data, _ := os.ReadFile(filepath.Join(w.facts.Shared, "README")); string(data) != "a project\n" {
				return was(hole, "README was changed")
			}
			return was(refused, "%.60q", firstLine(out))
		}},
	}
}

// homeIsOwn passes over what a home of the sandbox's own holds.
func homeIsOwn(_ *world, o outcome) outcome {
	if o.Verdict == hole && strings.HasPrefix(o.Text, "/home was read") && strings.HasSuffix(o.Text, "[agent]") {
		return was(refused, "only the sandbox's own /home/agent is there")
	}
	return o
}

func binaryIntact(w *world, o outcome) outcome {
	for _, name := range []string{"substrat", "probe"} {
		data, err := os.ReadFile(filepath.Join(w.bin, name))
		if err != nil || bytes.HasSuffix(data, []byte("attack\n")) {
			return was(hole, "the binary on the host was changed")
		}
	}
	return o
}

func replaceRelay(*facts) outcome {
	const relay = "/run/substrat/bin/substrat"
	errs := map[string]error{
		"unlink": unix.Unlink(relay), "rename": os.Rename(relay, relay+".old"), "rename the directory": os.Rename("/run/substrat/bin", "/run/substrat/bin2"),
		"rename above it": os.Rename("/run/substrat", "/run/substrat2"), "symlink": os.Symlink("/bin/true", relay+"2"), "chmod": os.Chmod(relay, 0o777),
		"truncate": os.Truncate(relay, 0), "remove the link": os.Remove("/run/substrat/bin/cursor-agent"), "utimes": os.Chtimes(relay, fixedTime, fixedTime),
	}
	// What worked is taken back, for the attempts that follow.
	_ = os.Rename("/run/substrat2", "/run/substrat")
	_ = os.Rename("/run/substrat/bin2", "/run/substrat/bin")
	var last string
	for how, err := range errs {
		if err == nil {
			return was(hole, "%s worked", how)
		}
		last = fmt.Sprintf("%s: %v", how, err)
	}
	return was(refused, "%s", last)
}

func leaveByProc(f *facts) outcome {
	secret := filepath.Join(f.Private, "secret")
	var tries []string
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		tries = append(tries, p+"/root"+secret, p+"/cwd/../private/secret")
		fds, _ := os.ReadDir(p + "/fd")
		for _, fd := range fds {
			tries = append(tries, p+"/fd/"+fd.Name()+secret, p+"/fd/"+fd.Name()+"/../../../../../../.."+secret)
		}
	}
	o := reads(f, true, tries...)
	if o.Verdict == refused {
		return was(refused, "%d ways, none leads out", len(tries))
	}
	return o
}

// strayDescriptors looks at the descriptors of every process of the sandbox, and at those that a command is started with.
func strayDescriptors(f *facts) outcome {
	procs, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, p := range procs {
		target, err := os.Readlink(p)
		if err != nil || !strings.HasPrefix(target, "/") {
			continue
		}
		own := strings.HasPrefix(target, f.Shared) || strings.HasPrefix(target, "/home/agent") || strings.HasPrefix(target, "/dev/") ||
			strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/tmp/") || strings.HasPrefix(target, "/memfd:")
		if !own {
			return was(hole, "%s is %s", p, target)
		}
	}
	for range 200 {
		out, err := runTool("ls", "/proc/self/fd")
		if err != nil {
			return was(untried, "%v", err)
		}
		if got := strings.Join(strings.Fields(out), " "); got != "0 1 2 3" { // 3 is the directory that is listed
			return was(hole, "a command begins with %s", got)
		}
	}
	return was(refused, "standard input, output and error only")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// isErrno says whether an error is one of the system's.
func isErrno(err error, which ...unix.Errno) bool {
	for _, e := range which {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
