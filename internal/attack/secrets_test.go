//go:build attack && linux

package attack

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// secrets are attempts to find what must be nowhere.
func secrets() []attempt {
	return []attempt{
		{id: "S01", threat: "T14", what: "find the daemon's environment in its own", play: func(w *world) outcome {
			out := w.shell("lead/attacker", "env; cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'")
			for _, word := range []string{envCanary, "SSH_AUTH_SOCK", "DBUS_SESSION", "ATTACK_"} {
				if strings.Contains(out, word) {
					return was(hole, "%s is there", word)
				}
			}
			return was(refused, "%d lines, none of the daemon's", strings.Count(out, "\n"))
		}},
		{id: "S02", threat: "T15", what: "find the daemon's secret in journal, spool, logs and configuration", play: func(w *world) outcome {
			found := grepTree(w.home, envCanary)
			if len(found) > 0 {
				return was(hole, "it is in %v", found)
			}
			return was(refused, "it is in no file of the daemon's")
		}},
		{id: "S03", threat: "T3", what: "find a file of the daemon's that others may read or write", play: func(w *world) outcome {
			var open []string
			_ = filepath.WalkDir(w.home, func(p string, d fs.DirEntry, err error) error {
				if err != nil || d.Type()&fs.ModeSymlink != 0 {
					return nil
				}
				rest := strings.TrimPrefix(p, w.home)
				if strings.HasPrefix(rest, "/agents/") && strings.Contains(rest, "/home/") || strings.HasPrefix(rest, "/workspaces/") || strings.Contains(rest, "/workspace/") {
					return nil // the agents' own
				}
				if st, err := d.Info(); err == nil && st.Mode().Perm()&0o077 != 0 && d.Type().IsRegular() {
					open = append(open, fmt.Sprintf("%s %v", rest, st.Mode()))
				}
				return nil
			})
			st, err := os.Stat(w.home)
			if err == nil && st.Mode().Perm() != 0o700 {
				return was(hole, "the home is %v", st.Mode())
			}
			if len(open) > 0 {
				return was(contained, "below a directory that only the user enters, %d files are wider, such as %s", len(open), open[0])
			}
			return was(refused, "all are 0600 below 0700")
		}},
		{id: "S04", threat: "T14", what: "make the CLI crash for a core file in the workspace", play: func(w *world) outcome {
			w.shell("lead/attacker", "ulimit -c unlimited; sh -c 'kill -SEGV $$'; kill -ABRT $(cat /dev/null) 2>/dev/null; true")
			list, _ := filepath.Glob(filepath.Join(w.facts.Shared, "core*"))
			if len(list) > 0 {
				return was(hole, "%v", list)
			}
			return was(refused, "no core file")
		}},
		{id: "S05", threat: "T23", what: "see the turn's token or a prompt in process lists of the host", play: func(w *world) outcome {
			_, turn := w.begin("lead/victim", step{"think": "prompt-canary-91"}, step{"sleep_ms": 2000})
			defer w.cancel("lead/victim")
			token, _ := os.ReadFile(filepath.Join(w.home, "turns", turn, "sock", "token"))
			if len(token) < 16 {
				return was(untried, "no token")
			}
			if list := hostProcesses(string(token)); len(list) > 0 {
				return was(hole, "%v have the token in their arguments", list)
			}
			if list := hostProcesses("prompt-canary-91"); len(list) > 0 {
				return was(known, "no token; a short prompt is an argument of the agent's CLI, which other users of the machine can read")
			}
			return was(refused, "no argument has either")
		}},
	}
}

// grepTree lists the files below a directory that hold a text.
func grepTree(dir, text string) (out []string) {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if data, err := os.ReadFile(p); err == nil && bytes.Contains(data, []byte(text)) {
				out = append(out, strings.TrimPrefix(p, dir))
			}
		}
		return nil
	})
	return out
}
