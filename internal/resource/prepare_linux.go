package resource

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"substrat.dev/substrat"
)

// Prepare makes the place for a daemon's groups, substrat-<instance>. With cgroup v2 it may have to move the calling
// process, and those it has started, into a group of their own beside it. Where the kernel refuses what Detect took for
// possible, the answer is the support by rlimits, with the reason in its Detail. Call it once, before any Open.
func (s Support) Prepare(instance string) Support {
	if s.Mode == ModeRlimits {
		return s
	}
	if instance == "" {
		return rlimitsOnly("the instance has no name")
	}
	if err := s.makeRoom(); err != nil {
		return rlimitsOnly(err.Error())
	}
	roots := map[string]string{}
	for c, dir := range s.Roots {
		roots[c] = filepath.Join(dir, "substrat-"+groupName(instance)[len(groupPrefix):])
		if err := s.kernel().mkdir(roots[c]); err != nil && !errors.Is(err, fs.ErrExist) {
			return rlimitsOnly("no group can be made: " + err.Error())
		}
		if s.Mode == ModeV2 {
			if err := s.enable(roots[c]); err != nil {
				return rlimitsOnly(err.Error())
			}
		}
	}
	s.Roots, s.self = roots, ""
	return s
}

// makeRoom sees that the root passes its controllers on, for which no process may be in it.
func (s Support) makeRoom() error {
	if s.Mode != ModeV2 {
		return nil
	}
	root := s.Roots[""]
	if s.self != "" {
		if err := s.kernel().mkdir(s.self); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := write(s.self, "cgroup.procs", os.Getpid()); err != nil {
			return err
		}
		ours := map[int]bool{}
		for _, pid := range NewTree(os.Getpid()).Pids() {
			ours[pid] = true
		}
		for _, pid := range readPids(root) {
			if ours[pid] {
				_ = write(s.self, "cgroup.procs", pid) // it may have ended
			}
		}
	}
	return s.enable(root)
}

// enable passes the controllers on to the groups below dir. Only cpu may be missing.
func (s Support) enable(dir string) error {
	for _, c := range s.Controllers {
		if err := write(dir, "cgroup.subtree_control", "+"+c); err != nil && c != "cpu" {
			return err
		}
	}
	return nil
}

// Sweep removes the groups that no process is in: a supervisor that was killed leaves its own. It gives the names of turns whose
// processes still run. Call it when no turn is being started.
func (s Support) Sweep() (running []string) {
	seen := map[string]bool{}
	for _, root := range s.roots() {
		for _, dir := range groupsBelow(root) {
			if s.kernel().rmdir(dir) == nil || len(readPids(dir)) == 0 {
				continue
			}
			if name := nodeName(filepath.Base(dir)); !seen[name] {
				seen[name], running = true, append(running, name)
			}
		}
	}
	return running
}

// Discard removes what Prepare has made, once no group is left in it.
func (s Support) Discard() error {
	var errs []error
	for _, root := range s.roots() {
		if err := s.kernel().rmdir(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, substrat.Errorf(substrat.CodeConflict, "cannot remove the group %s: %v", root, err))
		}
	}
	return errors.Join(errs...)
}

// groupsBelow lists our groups, those further down first.
func groupsBelow(root string) []string {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), groupPrefix) {
			dir := filepath.Join(root, e.Name())
			out = append(append(out, groupsBelow(dir)...), dir)
		}
	}
	return out
}

// nodeName undoes groupName.
func nodeName(dir string) string {
	in := strings.TrimPrefix(dir, groupPrefix)
	var b strings.Builder
	for i := 0; i < len(in); i++ {
		if in[i] == '%' && i+2 < len(in) {
			const digits = "0123456789abcdef"
			b.WriteByte(byte(strings.IndexByte(digits, in[i+1])<<4 | strings.IndexByte(digits, in[i+2])))
			i += 2
			continue
		}
		b.WriteByte(in[i])
	}
	return b.String()
}

func rmdir(dir string) error { return unix.Rmdir(dir) }
