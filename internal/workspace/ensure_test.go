package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

func TestEnsurePlain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := Ensure(t.Context(), Place{Dir: dir}); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v %v", info, err)
	}
	for _, dir := range []string{"", "x", "/", "/a/../b", "/a\nb", "/a\x00"} {
		if err := Ensure(t.Context(), Place{Dir: dir}); substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

func TestEnsureTree(t *testing.T) {
	s := newStage(t)
	s.ensure(s.place)
	s.whole(s.place)
	s.write(s.place.Dir, "a.txt", "mine\n")
	s.write(s.place.Dir, "new.txt", "mine\n")
	s.ensure(s.place)
	if s.read(s.place.Dir, "a.txt") != "mine\n" || s.read(s.place.Dir, "new.txt") != "mine\n" {
		t.Error("a second Ensure changed the files")
	}
	// The agent may be elsewhere meanwhile, and may have lost its index.
	s.run(s.place.Dir, "git", "switch", "-q", "-c", "aside")
	os.Remove(filepath.Join(s.repo, ".git/worktrees/tree/index"))
	s.ensure(s.place)
	if s.read(s.place.Dir, "a.txt") != "mine\n" {
		t.Error("a second Ensure changed the files")
	}
}

// TestEnsureCutOff makes each state that a killed Ensure can leave, and goes on from it.
func TestEnsureCutOff(t *testing.T) {
	admin := func(s *stage) string { return filepath.Join(s.repo, ".git/worktrees/tree") }
	lock := func(s *stage, reason string) { s.write(admin(s), "locked", reason) }
	old := func(s *stage, path string) {
		s.write(filepath.Dir(path), filepath.Base(path), "")
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			s.Fatal(err)
		}
	}
	add := func(s *stage) {
		s.run(s.repo, "git", "worktree", "add", "-q", "--no-checkout", "--lock", "--reason", making, "-b", s.place.Tree.Branch, s.place.Dir)
	}
	for name, state := range map[string]func(s *stage){
		"parent":           func(s *stage) { os.MkdirAll(filepath.Dir(s.place.Dir), 0o700) },
		"directory":        func(s *stage) { os.MkdirAll(s.place.Dir, 0o700) },
		"branch":           func(s *stage) { s.run(s.repo, "git", "branch", s.place.Tree.Branch) },
		"lock of the ref":  func(s *stage) { old(s, filepath.Join(s.repo, ".git/refs/heads/substrat/worker.lock")) },
		"admin alone":      func(s *stage) { os.MkdirAll(admin(s), 0o755) },
		"admin, locked":    func(s *stage) { lock(s, "initializing") },
		"gitdir, no HEAD":  func(s *stage) { lock(s, "initializing"); s.write(admin(s), "gitdir", s.place.Dir+"/.git\n") },
		"pointer, no HEAD": func(s *stage) { add(s); lock(s, "initializing"); os.Remove(admin(s) + "/HEAD") },
		"no commondir":     func(s *stage) { add(s); lock(s, "initializing"); os.Remove(admin(s) + "/commondir") },
		"HEAD not resolved": func(s *stage) {
			add(s)
			lock(s, "initializing")
			s.write(admin(s), "HEAD", "0000000000000000000000000000000000000000\n")
		},
		"no files":   add,
		"some files": func(s *stage) { add(s); s.write(s.place.Dir, "a.txt", "on"); old(s, admin(s)+"/index.lock") },
		"all files": func(s *stage) {
			add(s)
			s.write(s.place.Dir, "a.txt", "one\n")
			s.write(s.place.Dir, "sub/b.txt", "two\n")
		},
		"part of the index": func(s *stage) {
			add(s)
			s.write(admin(s), "index.substrat", "DIRC")

		},
		"index, locked":    func(s *stage) { s.ensure(s.place); lock(s, making+"\n") },
		"deleted later":    func(s *stage) { s.ensure(s.place); os.RemoveAll(s.place.Dir) },
		"deleted, again":   func(s *stage) { s.ensure(s.place); os.RemoveAll(s.place.Dir); lock(s, making) },
		"pointer deleted":  func(s *stage) { s.ensure(s.place); os.Remove(s.place.Dir + "/.git") },
		"removed by half":  func(s *stage) { s.ensure(s.place); os.Rename(s.place.Dir, removedName(s.place.Dir)) },
		"entry of another": func(s *stage) { s.run(s.repo, "git", "worktree", "add", "-q", filepath.Join(s.home, "x/tree")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			state(s)
			s.ensure(s.place)
			s.whole(s.place)
			if strings.Contains(s.run(s.repo, "ls", "-A", filepath.Dir(s.place.Dir)), "removed") {
				t.Error("something removed is left")
			}
			s.ensure(s.place)
			s.whole(s.place)
		})
	}
}

func TestEnsureRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		state func(s *stage)
		code  substrat.Code
		words []string
	}{
		"no repository":      {func(s *stage) { s.place.Tree.Repo = s.home }, substrat.CodeInvalid, []string{"not in a git repository", "git init"}},
		"no such directory":  {func(s *stage) { s.place.Tree.Repo = s.home + "/none" }, substrat.CodeNotFound, []string{"no such directory"}},
		"no such base":       {func(s *stage) { s.place.Tree.Base = "none" }, substrat.CodeNotFound, []string{"none"}},
		"git missing":        {func(s *stage) { s.Setenv("PATH", s.home) }, substrat.CodeNotInstalled, []string{"git is not installed"}},
		"branch held":        {func(s *stage) { s.place.Tree.Branch = "main" }, substrat.CodeConflict, []string{"main is checked out in"}},
		"a file in the way":  {func(s *stage) { s.write(s.home, "work/tree", "") }, substrat.CodeConflict, []string{"not a directory"}},
		"files in the way":   {func(s *stage) { s.write(s.home, "work/tree/x", "") }, substrat.CodeConflict, []string{"not a worktree of"}},
		"a link in the way":  {func(s *stage) { s.write(s.home, "work/x", ""); os.Symlink(s.repo, s.place.Dir) }, substrat.CodeConflict, []string{"not a directory"}},
		"pointer replaced":   {func(s *stage) { s.ensure(s.place); s.write(s.place.Dir, ".git", "gitdir: "+s.home+"\n") }, substrat.CodeConflict, []string{".git"}},
		"branch in the way":  {func(s *stage) { s.run(s.repo, "git", "branch", "substrat") }, substrat.CodeConflict, []string{"substrat"}},
		"lock of a live git": {func(s *stage) { s.write(s.repo, ".git/refs/heads/substrat/worker.lock", "") }, substrat.CodeConflict, []string{"worker.lock", "delete"}},
		"an empty repository": {func(s *stage) {
			s.place.Tree.Repo = s.home + "/e"
			s.place.Tree.Base = ""
			s.run(s.home, "git", "init", "-q", "e")
		}, substrat.CodeConflict, []string{"no commits yet"}},
		"a bare repository": {func(s *stage) { s.place.Tree.Repo = s.home + "/e"; s.run(s.home, "git", "init", "-q", "--bare", "e") }, substrat.CodeInvalid, []string{"bare", "clone"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c.state(s)
			s.refused(Ensure(t.Context(), s.place), c.code, c.words...)
		})
	}
}

func TestHostileNames(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"", "-x", "--upload-pack=touch x", "a..b", "a b", "a/", "/a", "a//b", ".a", "a.lock", "a/.b", "HEAD", "@", "a@{1}", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a\nb", "a\x00b", "a.", strings.Repeat("x", 300)} {
		p := s.place
		p.Tree = &Tree{Repo: s.repo, Branch: name, Base: "main"}
		if err := Ensure(t.Context(), p); substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("branch %q: %v", name, err)
		}
		if _, err := Merge(t.Context(), s.place, name); name != "" && substrat.CodeOf(err) == "" {
			t.Errorf("into %q: %v", name, err)
		}
	}
	for _, base := range []string{"-x", "--output=x", "a..b", "a\nb"} {
		p := s.place
		p.Tree = &Tree{Repo: s.repo, Branch: "ok", Base: base}
		if err := Ensure(t.Context(), p); substrat.CodeOf(err) != substrat.CodeInvalid {
			t.Errorf("base %q: %v", base, err)
		}
	}
	if got := s.run(s.repo, "git", "for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("refs: %s", got)
	}
}
