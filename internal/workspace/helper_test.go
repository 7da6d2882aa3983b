package workspace

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"substrat.dev/substrat"
)

// stage is a repository with one commit, and a place for a worktree of it.
type stage struct {
	*testing.T
	home, repo string
	place      Place
}

func newStage(t *testing.T) *stage {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	s := &stage{T: t, home: home, repo: filepath.Join(home, "repo")}
	s.place = s.at("tree", "substrat/worker")
	s.run(home, "git", "init", "-q", "-b", "main", s.repo)
	s.run(s.repo, "git", "config", "user.name", "Ann")
	s.run(s.repo, "git", "config", "user.email", "ann@example.org")
	s.write(s.repo, "a.txt", "one\n")
	s.write(s.repo, "sub/b.txt", "two\n")
	s.commit(s.repo, "first")
	return s
}

func (s *stage) at(name, branch string) Place {
	return Place{Dir: filepath.Join(s.home, "work", name), Tree: &Tree{Repo: s.repo, Branch: branch, Base: "main"}}
}

// run runs a program the way a person or an agent does, and gives what it printed.
func (s *stage) run(dir, name string, args ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *stage) commit(dir, message string) string {
	s.Helper()
	s.run(dir, "git", "add", "-A")
	s.run(dir, "git", "commit", "-q", "-m", message)
	return s.run(dir, "git", "rev-parse", "HEAD")
}

func (s *stage) write(dir, name, text string) {
	s.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) read(dir, name string) string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}

func (s *stage) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (s *stage) ensure(p Place) {
	s.Helper()
	if err := Ensure(s.Context(), p); err != nil {
		s.Fatalf("Ensure: %v", err)
	}
}

// whole says that the worktree is one that git finds nothing wrong with.
func (s *stage) whole(p Place) {
	s.Helper()
	if got := s.run(p.Dir, "git", "status", "--porcelain", "--branch"); got != "## "+p.Tree.Branch {
		s.Fatalf("status of the worktree: %q", got)
	}
	if got := s.read(p.Dir, "a.txt"); got != "one\n" {
		s.Fatalf("a.txt: %q", got)
	}
	if got := s.run(s.repo, "git", "worktree", "list", "--porcelain"); strings.Contains(got, "\nlocked") || strings.Contains(got, "\nprunable") {
		s.Fatalf("worktrees: %s", got)
	}
	s.run(s.repo, "git", "fsck", "--no-dangling")
}

// refused checks an error: its code, a hint, and words of the message.
func (s *stage) refused(err error, code substrat.Code, words ...string) {
	s.Helper()
	if err == nil {
		s.Fatalf("no error, want one with %q", words)
	}
	if substrat.CodeOf(err) != code {
		s.Errorf("code %s, want %s: %v", substrat.CodeOf(err), code, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.Errorf("error %q does not say %q", err, w)
		}
	}
	if e, ok := err.(*substrat.Error); !ok || e.Hint == "" {
		s.Errorf("error %q has no hint", err)
	}
}
