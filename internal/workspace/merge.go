package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"substrat.dev/substrat"
)

// Merged is what a merge did.
type Merged struct {
	Into   string // the branch that was merged into
	Commit string // its tip afterwards
	// UpToDate says that there was nothing to merge, FastForward that no commit of its own was needed.
	UpToDate, FastForward bool
	// Files are the files that the merge changed in Into.
	Files []string
	// Conflicts are the files that stand in the way; they come with an error, and nothing was changed.
	Conflicts []string
}

// Merge merges a worktree's branch into another, by default the one that is checked out at the repository. Uncommitted
// changes refuse it: all of the worktree's, and of the other side those to files that git knows. The merge is computed
// without touching a file, so a conflict leaves everything as it was. If the other branch is checked out somewhere, the
// files there follow.
func Merge(ctx context.Context, p Place, into string) (*Merged, error) {
	r, own, dir, err := find(p, "merge")
	if err != nil {
		return nil, err
	}
	if into != "" {
		if err := checkBranch("merge", into); err != nil {
			return nil, err
		}
	}
	unlock, err := repositories.lock(ctx, r.common)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m := &merge{repository: r, branch: p.Tree.Branch, into: into}
	if err := m.resolve(ctx); err != nil {
		return nil, err
	}
	if err := m.checkSource(ctx, own, dir); err != nil {
		return nil, err
	}
	return m.run(ctx)
}

// merge is one merge under way.
type merge struct {
	*repository
	branch, into string
	theirs, ours string // the tips of branch and into
	tree         string // what into will hold
	commit       string // what into will be
}

// resolve finds the two branches.
func (m *merge) resolve(ctx context.Context) (err error) {
	if m.into == "" {
		if m.into, err = m.checkedOut(ctx, m.dir); err != nil {
			return err
		}
		if m.into == "" {
			return substrat.Errorf(substrat.CodeInvalid, "cannot merge %s: %s has a commit checked out and not a branch", m.branch, m.top).
				WithHint("say which branch to merge into")
		}
	}
	if m.into == m.branch {
		return substrat.Errorf(substrat.CodeInvalid, "cannot merge %s into itself", m.branch).WithHint("say which other branch to merge into")
	}
	for name, id := range map[string]*string{m.branch: &m.theirs, m.into: &m.ours} {
		var ok bool
		if *id, ok, err = m.repository.branch(ctx, name); err != nil {
			return err
		}
		if !ok {
			return substrat.Errorf(substrat.CodeNotFound, "cannot merge %s into %s: there is no branch %s in %s", m.branch, m.into, name, m.top).
				WithHint("git branch --list shows what there is")
		}
	}
	return nil
}

// checkSource refuses to leave work behind: what is not committed, and commits that are not on the branch.
func (m *merge) checkSource(ctx context.Context, own, dir string) error {
	if at, err := m.checkedOut(ctx, own); err != nil {
		return err
	} else if at != m.branch {
		if at == "" {
			at = "a commit that is not a branch"
		}
		return substrat.Errorf(substrat.CodeConflict, "cannot merge %s: its worktree %s has %s checked out", m.branch, dir, at).
			WithHint("run git switch %s there", m.branch)
	}
	s, end, err := m.shadow(ctx, own, dir)
	if err != nil {
		return err
	}
	defer end()
	c, err := s.changes(ctx)
	if err != nil {
		return cannotDo("merge "+m.branch, err)
	}
	c.modules = nil // commits of a submodule are its own repository's
	if all := c.all(); len(all) > 0 {
		return substrat.Errorf(substrat.CodeConflict, "cannot merge %s: %s has changes that are not committed: %s", m.branch, dir, names(all)).
			WithHint("commit them first, or delete them")
	}
	return nil
}

func (m *merge) run(ctx context.Context) (*Merged, error) {
	at, held, err := m.holder(ctx, m.into)
	if err != nil {
		return nil, err
	}
	own := m.common
	if held {
		if own, err = m.gitDirAt(at); err != nil {
			return nil, err
		}
	} else {
		at = ""
	}
	if err := m.linklessObjects(); err != nil {
		return nil, err
	}
	s, end, err := m.shadow(ctx, own, at)
	if err != nil {
		return nil, err
	}
	defer end()
	// What the merge makes is for the repository.
	s.env = append(s.env, "GIT_OBJECT_DIRECTORY="+filepath.Join(m.common, "objects"))
	done, err := m.compute(ctx, s)
	if err != nil || done.UpToDate {
		return done, err
	}
	out, err := s.git(ctx, "diff-tree", "-r", "--name-only", "-z", "--no-renames", m.ours, m.tree, "--")
	if err != nil {
		return nil, m.cannot(err)
	}
	done.Files = fields(out)
	if err := errors.Join(m.linklessRef(m.into), m.linklessOwn(own)); err != nil {
		return nil, err
	}
	if held {
		if err := m.checkTarget(ctx, s, own, at); err != nil {
			return nil, err
		}
		// The index of the repository itself from here on, under git's own lock.
		s.env = append(s.env, "GIT_INDEX_FILE="+filepath.Join(own, "index"))
		// A file that was only touched must not look changed. What is changed was found already.
		if _, err := s.git(ctx, "update-index", "--refresh", "--ignore-submodules"); err != nil && exited(err) != 1 {
			return nil, m.cannot(err)
		}
		if _, err := s.git(ctx, "read-tree", "-m", "-u", m.ours, m.tree); err != nil {
			return nil, m.cannot(err)
		}
	}
	if _, err := m.git(ctx, own, "update-ref", "-m", "merge "+m.branch, "refs/heads/"+m.into, m.commit, m.ours); err != nil {
		if held {
			_, back := s.git(context.WithoutCancel(ctx), "read-tree", "-m", "-u", m.tree, m.ours)
			err = errors.Join(err, back)
		}
		return nil, m.cannot(err)
	}
	return done, nil
}

func (m *merge) cannot(err error) error { return cannotDo("merge "+m.branch+" into "+m.into, err) }

// gitDirAt gives the git directory of the work tree at path, by what the repository knows.
func (m *merge) gitDirAt(path string) (string, error) {
	if own, ok := m.admin(path); ok {
		return own, nil
	}
	if own, common, err := gitDirs(path); err == nil && own == common && own == m.common {
		return own, nil
	}
	return "", substrat.Errorf(substrat.CodeConflict, "cannot merge %s into %s: that branch is checked out in %s, which cannot be used", m.branch, m.into, path).
		WithHint("see git worktree list; git worktree prune forgets worktrees that are gone")
}

// compute makes the merged tree and its commit, without touching a ref or a file.
func (m *merge) compute(ctx context.Context, s *shadow) (*Merged, error) {
	done := &Merged{Into: m.into}
	switch fork, err := line(s.git(ctx, "merge-base", m.ours, m.theirs)); {
	case exited(err) == 1:
		return nil, substrat.Errorf(substrat.CodeConflict, "cannot merge %s into %s: they have no common beginning", m.branch, m.into).
			WithHint("one of them is of another project; choose another branch")
	case err != nil:
		return nil, m.cannot(err)
	case fork == m.theirs:
		done.UpToDate, done.Commit = true, m.ours
		return done, nil
	case fork == m.ours:
		done.FastForward, done.Commit = true, m.theirs
		m.commit, m.tree = m.theirs, m.theirs+"^{tree}"
		return done, nil
	}
	out, err := s.git(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", m.ours, m.theirs)
	parts := fields(out)
	if exited(err) == 1 && len(parts) > 1 {
		return &Merged{Into: m.into, Conflicts: parts[1:]},
			substrat.Errorf(substrat.CodeConflict, "cannot merge %s into %s: both changed %s", m.branch, m.into, names(parts[1:])).
				WithHint("nothing was changed; merge %s into %s first, solve the conflict there, commit, and try again", m.into, m.branch)
	}
	if err != nil {
		return nil, m.cannot(err)
	}
	if len(parts) == 0 {
		return nil, substrat.Errorf(substrat.CodeInternal, "cannot merge %s into %s: git merge-tree printed nothing", m.branch, m.into)
	}
	m.tree = parts[0]
	who := s.call("commit-tree", m.tree, "-p", m.ours, "-p", m.theirs, "-m", "Merge branch '"+m.branch+"' into "+m.into)
	who.env = append(who.env, m.identity(ctx)...)
	if m.commit, err = line(git(ctx, who)); err != nil {
		return nil, m.cannot(err)
	}
	done.Commit = m.commit
	return done, nil
}

// identity says who makes the commit: whom the user's own configuration names, or Substrat.
func (m *merge) identity(ctx context.Context) []string {
	ask := func(key, or string) string {
		// Reading a configuration runs nothing. Later entries of the environment win.
		env := []string{"GIT_DIR=" + m.common}
		if home, err := os.UserHomeDir(); err == nil {
			env = append(env, "GIT_CONFIG_GLOBAL="+filepath.Join(home, ".gitconfig"))
		}
		if value, err := line(git(ctx, call{dir: m.common, env: env, most: 1 << 10, args: []string{"config", "--get", key}})); err == nil && value != "" {
			return value
		}
		return or
	}
	name, email := ask("user.name", "Substrat"), ask("user.email", "substrat@localhost")
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email}
}

// checkTarget refuses to merge over somebody's work where the other branch is checked out. A merge that was cut off after
// the files and before the branch is recognised, and goes on.
func (m *merge) checkTarget(ctx context.Context, s *shadow, own, at string) error {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG"} {
		if k, _ := kindOf(filepath.Join(own, name)); k != nothing {
			return substrat.Errorf(substrat.CodeConflict, "cannot merge %s into %s: another merge, rebase or the like is under way in %s", m.branch, m.into, at).
				WithHint("finish or abort it there; git status says how")
		}
	}
	c, err := s.changes(ctx)
	if err != nil {
		return m.cannot(err)
	}
	if len(c.tracked) == 0 {
		return nil
	}
	if left, err := line(s.git(ctx, "diff", "--name-only", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")); err == nil && left == "" {
		_, err := s.git(ctx, "diff-index", "--cached", "--quiet", m.tree, "--")
		if err == nil {
			return nil
		}
	}
	return substrat.Errorf(substrat.CodeConflict, "cannot merge %s into %s: %s has changes that are not committed: %s", m.branch, m.into, at, names(c.tracked)).
		WithHint("commit or stash them there first")
}
