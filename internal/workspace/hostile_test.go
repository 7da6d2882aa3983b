package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// trap makes everything that a repository can name as a program run one that leaves a mark, and gives the mark.
func (s *stage) trap(dir string, more ...string) (mark string) {
	s.Helper()
	mark = filepath.Join(s.home, "ran")
	program := filepath.Join(s.home, "trap.sh")
	s.write(s.home, "trap.sh", "#!/bin/sh\necho \"$0 $*\" >>"+mark+"\n[ $# != 0 ] || cat\n")
	os.Chmod(program, 0o755)
	common := s.run(dir, "git", "rev-parse", "--path-format=absolute", "--git-common-dir")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-merge-commit", "post-merge", "pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "post-rewrite", "fsmonitor-watchman"} {
		for _, hooks := range []string{filepath.Join(common, "hooks"), filepath.Join(s.home, "hooks")} {
			s.write(hooks, hook, "#!/bin/sh\necho hook "+hook+" >>"+mark+"\n")
			os.Chmod(filepath.Join(hooks, hook), 0o755)
		}
	}
	config := fmt.Sprintf(`
[core]
	fsmonitor = %[1]s
	hooksPath = %[2]s/hooks
	pager = %[1]s
	editor = %[1]s
	askPass = %[1]s
	sshCommand = %[1]s
	gitProxy = %[1]s
	alternateRefsCommand = %[1]s
	attributesFile = %[2]s/attributes
[diff]
	external = %[1]s
[diff "evil"]
	command = %[1]s
	textconv = %[1]s
[filter "evil"]
	clean = %[1]s
	smudge = %[1]s
	required = true
[filter "process"]
	process = %[1]s
[merge]
	default = evil
[merge "evil"]
	driver = %[1]s %%A
[gpg]
	program = %[1]s
[commit]
	gpgSign = true
[credential]
	helper = %[1]s
[alias]
	status = !%[1]s
	rev-parse = !%[1]s
	merge-tree = !%[1]s
[gpg "ssh"]
	program = %[1]s
	defaultKeyCommand = %[1]s
[uploadpack]
	packObjectsHook = %[1]s
[gc]
	recentObjectsHook = %[1]s
[sequence]
	editor = %[1]s
[interactive]
	diffFilter = %[1]s
[core]
	worktree = %[2]s/other
[pager]
	status = %[1]s
	diff = %[1]s
[trailer "x"]
	command = %[1]s
[remote "origin"]
	url = %[2]s/repo
	promisor = true
	uploadpack = %[1]s
	partialclonefilter = blob:none
[remote "ext"]
	url = "ext::%[1]s x"
	promisor = true
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[protocol "file"]
	allow = always
[extensions]
	worktreeConfig = true
	partialClone = origin
[core]
	repositoryformatversion = 1
`, program, s.home)
	s.write(common, "included", config+strings.Join(more, ""))
	s.run(dir, "git", "config", "--file", filepath.Join(common, "config"), "include.path", filepath.Join(common, "included"))
	attributes := "*.txt filter=evil diff=evil merge=evil\n*.bin filter=process\n"
	s.write(common, "info/attributes", attributes)
	s.write(s.home, "attributes", attributes)
	return mark
}

// sprung says what ran.
func sprung(mark string) string {
	data, _ := os.ReadFile(mark)
	os.Remove(mark)
	return string(data)
}

// TestHostileRepository does everything in a repository whose configuration runs a program wherever git allows it.
func TestHostileRepository(t *testing.T) {
	s := newStage(t)
	s.write(s.repo, ".gitattributes", "*.txt filter=evil diff=evil merge=evil\n*.bin filter=process\n")
	s.write(s.repo, "c.bin", "x\n")
	s.commit(s.repo, "attributes")
	mark := s.trap(s.repo)
	s.write(s.home, "other/x", "x")
	s.run(s.repo, "git", "-c", "core.bare=false", "worktree", "add", filepath.Join(s.home, "plain"))
	if got := sprung(mark); !strings.Contains(got, "trap.sh") || !strings.Contains(got, "hook") {
		t.Fatalf("the trap does not work with git as it is: %q", got)
	}
	step := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if ran := sprung(mark); ran != "" {
			t.Errorf("%s ran:\n%s", what, ran)
		}
	}
	step("Ensure", Ensure(t.Context(), s.place))
	quiet := func(dir, message string) {
		s.run(dir, "git", "-c", "include.path=/dev/null", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false",
			"-c", "filter.evil.clean=cat", "-c", "filter.process.process=", "add", "-A")
		s.run(dir, "git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false", "-c", "filter.evil.clean=cat",
			"-c", "filter.process.process=", "commit", "-q", "-m", message)
		sprung(mark)
	}
	long := strings.Repeat("line\n", 20)
	s.write(s.place.Dir, "a.txt", "one\n"+long+"end\n")
	quiet(s.place.Dir, "work")
	s.write(s.repo, "b.txt", "beside\n")
	quiet(s.repo, "beside")
	// The submodule's own configuration would run too.
	s.run(s.place.Dir, "git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "update-index", "--add", "--cacheinfo", "160000,"+s.run(s.repo, "git", "rev-parse", "HEAD")+",module")
	s.run(s.place.Dir, "git", "init", "-q", "module")
	module := s.place.Dir + "/module"
	s.write(module, "m.txt", "one\n")
	s.write(module, ".gitattributes", "* filter=evil\n")
	s.run(module, "git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x")
	s.run(module, "git", "add", "m.txt")
	s.run(module, "git", "config", "filter.evil.clean", filepath.Join(s.home, "trap.sh"))
	s.write(module, "m.txt", "two\n")
	s.write(s.place.Dir, "c.bin", "changed\n")
	s.write(s.place.Dir, "new.txt", "new\n")
	sprung(mark)
	d, err := Diff(t.Context(), s.place)
	step("Diff", err)
	if d != nil && !(strings.Contains(d.Text, "+changed") && strings.Contains(d.Text, "+new") && strings.Contains(d.Text, "+end")) {
		t.Errorf("diff:\n%s", d.Text)
	}
	_, err = Changed(t.Context(), s.place)
	step("Changed", err)
	if _, err := Remove(t.Context(), s.place, "", false); err == nil {
		t.Error("removed what was not committed")
	}
	step("Remove, refused", nil)
	os.RemoveAll(s.place.Dir + "/module")
	s.run(s.place.Dir, "git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "update-index", "--force-remove", "module")
	quiet(s.place.Dir, "more")
	m, err := Merge(t.Context(), s.place, "")
	step("Merge", err)
	if m != nil && (m.FastForward || s.read(s.repo, "new.txt") != "new\n") {
		t.Errorf("%+v", m)
	}
	s.write(s.place.Dir, "a.txt", "mine\n")
	quiet(s.place.Dir, "mine")
	s.write(s.repo, "a.txt", "theirs\n")
	quiet(s.repo, "theirs")
	if _, err := Merge(t.Context(), s.place, ""); substrat.CodeOf(err) != substrat.CodeConflict {
		t.Errorf("merge: %v", err)
	}
	step("Merge, conflict", nil)
	_, err = Remove(t.Context(), s.place, "", true)
	step("Remove", err)
}

// TestHostilePromisor has git look for an object that is missing: fetching it would run a program.
func TestHostilePromisor(t *testing.T) {
	for _, remote := range []string{"origin", "ext"} {
		s := newStage(t)
		s.ensure(s.place)
		mark := s.trap(s.repo, "[extensions]\npartialClone = "+remote+"\n")
		missing := strings.Repeat("12", 20)
		s.write(s.repo, ".git/refs/heads/gone", missing+"\n")
		s.run(s.repo, "sh", "-c", "git cat-file -p "+missing+" || :")
		if remote == "origin" && !strings.Contains(sprung(mark), "trap.sh") {
			t.Fatal("the trap does not work with git as it is")
		}
		sprung(mark)
		s.place.Tree.Base = missing
		if _, err := Diff(t.Context(), s.place); err == nil {
			t.Error("a diff from nothing")
		}
		s.place.Tree.Base = "gone"
		if _, err := Diff(t.Context(), s.place); err == nil {
			t.Error("a diff from nothing")
		}
		s.place.Tree.Base = "main"
		if _, err := Merge(t.Context(), s.place, "gone"); err == nil {
			t.Error("a merge into nothing")
		}
		if got := sprung(mark); got != "" {
			t.Errorf("%s: ran %s", remote, got)
		}
		// A file's content is missing.
		blob := s.run(s.repo, "git", "-c", "core.fsmonitor=false", "rev-parse", "main:a.txt")
		os.Remove(filepath.Join(s.repo, ".git/objects", blob[:2], blob[2:]))
		s.write(s.place.Dir, "a.txt", "changed\n")
		sprung(mark)
		if _, err := Diff(t.Context(), s.place); err == nil {
			t.Error("a diff from nothing")
		}
		if got := sprung(mark); got != "" {
			t.Errorf("%s: ran %s", remote, got)
		}
	}
}

// diverge commits on both sides, so that a merge makes objects.
func diverge(s *stage) {
	s.write(s.place.Dir, "mine", "mine")
	s.commit(s.place.Dir, "mine")
	s.write(s.repo, "theirs", "theirs")
	s.commit(s.repo, "theirs")
}

// TestHostileLinks plants links where files of ours or of git's would be written.
func TestHostileLinks(t *testing.T) {
	victim := func(s *stage) string { s.write(s.home, "victim/file", "dear\n"); return s.home + "/victim" }
	admin := "/.git/worktrees/tree/"
	for name, c := range map[string]struct {
		plant func(s *stage, victim string)
		do    func(s *stage) error
	}{
		"part of the index": {func(s *stage, v string) {
			s.write(s.repo, admin+"locked", making)
			os.Remove(s.repo + admin + "index")
			os.Symlink(v+"/file", s.repo+admin+"index.substrat")
		}, func(s *stage) error { return Ensure(s.Context(), s.place) }},
		"lock of the worktree": {func(s *stage, v string) {
			os.RemoveAll(s.place.Dir)
			os.Symlink(v+"/file", s.repo+admin+"locked")
		}, func(s *stage) error { return Ensure(s.Context(), s.place) }},
		"the branch": {func(s *stage, v string) {
			s.place = s.at("two", "deep/two")
			os.Symlink(v, s.repo+"/.git/refs/heads/deep")
		}, func(s *stage) error { return Ensure(s.Context(), s.place) }},
		"the log of the branch": {func(s *stage, v string) {
			s.place = s.at("two", "deep/two")
			os.MkdirAll(s.repo+"/.git/logs/refs/heads", 0o755)
			os.Symlink(v, s.repo+"/.git/logs/refs/heads/deep")
		}, func(s *stage) error { return Ensure(s.Context(), s.place) }},
		"the worktrees": {func(s *stage, v string) {
			s.place = s.at("two", "two")
			os.Rename(s.repo+"/.git/worktrees", s.home+"/moved")
			os.Symlink(v, s.repo+"/.git/worktrees")
		}, func(s *stage) error { return Ensure(s.Context(), s.place) }},
		"the index": {func(s *stage, v string) {
			s.write(s.place.Dir, "new", "new")
			s.commit(s.place.Dir, "new")
			os.Rename(s.repo+"/.git/index", s.home+"/victim/index")
			os.Symlink(v+"/index", s.repo+"/.git/index")
		}, func(s *stage) error { _, err := Merge(s.Context(), s.place, ""); return err }},
		"the objects": {func(s *stage, v string) {
			diverge(s)
			os.Rename(s.repo+"/.git/objects", v+"/objects")
			os.Symlink(v+"/objects", s.repo+"/.git/objects")
		}, func(s *stage) error { _, err := Merge(s.Context(), s.place, ""); return err }},
		"some of the objects": {func(s *stage, v string) {
			diverge(s)
			for i := range 256 {
				dir := fmt.Sprintf("%s/.git/objects/%02x", s.repo, i)
				os.Rename(dir, fmt.Sprintf("%s/%02x", v, i))
				os.MkdirAll(fmt.Sprintf("%s/%02x", v, i), 0o700)
				os.Symlink(fmt.Sprintf("%s/%02x", v, i), dir)
			}
		}, func(s *stage) error { _, err := Merge(s.Context(), s.place, ""); return err }},
		"a directory that is merged into": {func(s *stage, v string) {
			s.write(s.place.Dir, "dir/file", "new")
			s.commit(s.place.Dir, "new")
			os.Symlink(v, s.repo+"/dir")
			s.write(s.repo, ".git/info/exclude", "dir\n")
		}, func(s *stage) error { _, err := Merge(s.Context(), s.place, ""); return err }},
		"the worktree's directory": {func(s *stage, v string) {
			os.RemoveAll(s.place.Dir)
			os.Symlink(v, s.place.Dir)
		}, func(s *stage) error { _, err := Remove(s.Context(), s.place, "", true); return err }},
		"the git directory of the worktree": {func(s *stage, v string) {
			os.Rename(s.repo+admin, v+"/tree")
			os.Symlink(v+"/tree", s.repo+"/.git/worktrees/tree")
		}, func(s *stage) error { _, err := Remove(s.Context(), s.place, "", true); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.ensure(s.place)
			v := victim(s)
			c.plant(s, v)
			before := s.run(v, "sh", "-c", "find . -type f | sort | xargs cksum")
			err := c.do(s)
			if after := s.run(v, "sh", "-c", "find . -type f | sort | xargs cksum"); after != before {
				t.Errorf("what the link leads to changed (%v):\n%s\n%s", err, before, after)
			}
		})
	}
}

// TestHostileFIFO puts a file that never ends in git's way.
func TestHostileFIFO(t *testing.T) {
	s := newStage(t)
	s.ensure(s.place)
	for _, name := range []string{"/.git/config", "/.git/worktrees/tree/index", "/.git/worktrees/tree/gitdir", "/.git/worktrees/tree/commondir"} {
		os.Rename(s.repo+name, s.home+"/kept")
		if err := syscall.Mkfifo(s.repo+name, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := Diff(ctx, s.place); err == nil && !strings.HasSuffix(name, "commondir") {
			t.Errorf("%s: no error", name)
		}
		cancel()
		os.Rename(s.home+"/kept", s.repo+name)
	}
	if _, err := Diff(t.Context(), s.place); err != nil {
		t.Error(err)
	}
}
