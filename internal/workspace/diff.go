package workspace

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"substrat.dev/substrat"
)

// mostDiff bounds the text of a Diff.
const mostDiff = 4 << 20

// Difference is what a worktree's branch and files have that the base has not.
type Difference struct {
	Branch string // what is checked out; empty if it is a commit and not a branch
	Base   string // what it is compared with
	// Ahead and Behind count commits.
	Ahead, Behind int
	// Uncommitted are the files whose changes are in no commit, those git does not know among them. Ignored files are not.
	Uncommitted []string
	// Files are all files that differ from where the branch left the base, committed or not.
	Files []string
	// Text is the unified diff of Files from where the branch left the base. Cut says that it is longer than is given.
	Text string
	Cut  bool
}

// Diff compares a worktree with its base.
func Diff(ctx context.Context, p Place) (*Difference, error) {
	c, end, err := compare(ctx, p)
	if err != nil {
		return nil, err
	}
	defer end()
	d := &Difference{Base: c.baseName, Uncommitted: c.changes.all(), Files: c.files()}
	if d.Branch, err = c.repo.checkedOut(ctx, c.own); err != nil {
		return nil, err
	}
	counts, err := line(c.git(ctx, "rev-list", "--left-right", "--count", c.base+"..."+c.head))
	if err != nil {
		return nil, cannotDo("compare "+p.Dir, err)
	}
	behind, ahead, _ := strings.Cut(counts, "\t")
	d.Behind, _ = strconv.Atoi(behind)
	d.Ahead, _ = strconv.Atoi(ahead)
	d.Text, d.Cut, err = c.text(ctx)
	return d, err
}

// Changed lists the files of a worktree that differ from its base, committed or not, relative to the top of the
// repository. Two places of one repository that name the same file are about to conflict.
func Changed(ctx context.Context, p Place) ([]string, error) {
	c, end, err := compare(ctx, p)
	if err != nil {
		return nil, err
	}
	defer end()
	return c.files(), nil
}

// comparison is a worktree beside its base.
type comparison struct {
	*shadow
	repo           *repository
	own            string
	base, baseName string
	fork           string // the commit where the branch left the base
	changes        *changes
	committed      []string // files that differ from fork and that git knows
}

func compare(ctx context.Context, p Place) (c *comparison, end func(), err error) {
	r, own, dir, err := find(p, "compare")
	if err != nil {
		return nil, nil, err
	}
	c = &comparison{repo: r, own: own}
	if c.base, c.baseName, err = r.base(ctx, p.Tree); err != nil {
		return nil, nil, err
	}
	var drop func()
	if c.shadow, drop, err = r.shadow(ctx, own, dir); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			drop()
		}
	}()
	if c.changes, err = c.shadow.changes(ctx); err != nil {
		return nil, nil, cannotDo("compare "+dir, err)
	}
	c.fork, err = line(c.git(ctx, "merge-base", c.base, c.head))
	if exited(err) == 1 {
		c.fork, err = c.base, nil // histories without a common beginning
	}
	if err != nil {
		return nil, nil, cannotDo("compare "+dir, err)
	}
	out, err := c.git(ctx, "diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty", c.fork, "--")
	if err != nil {
		return nil, nil, cannotDo("compare "+dir, tooMany(err, dir))
	}
	c.committed = fields(out)
	return c, drop, nil
}

// find gives the repository of a place and the git directory of its worktree.
func find(p Place, verb string) (r *repository, own, dir string, err error) {
	if err := p.check(verb); err != nil {
		return nil, "", "", err
	}
	if p.Tree == nil {
		return nil, "", "", substrat.Errorf(substrat.CodeUnsupported, "cannot %s %s: it is a plain directory, not a git worktree", verb, p.Dir).
			WithHint("make the workspace as a worktree of a repository")
	}
	if r, err = open(p.Tree.Repo); err != nil {
		return nil, "", "", err
	}
	dir, err = realPath(p.Dir)
	if err == nil {
		own, _ = r.admin(dir)
	}
	if k, _ := kindOf(dir); err != nil || k != directory || own == "" || halfMade(own) {
		return nil, "", "", substrat.Errorf(substrat.CodeNotFound, "cannot %s %s: there is no worktree of %s", verb, p.Dir, r.top).
			WithHint("it was deleted, or never made")
	}
	return r, own, dir, nil
}

// files are the committed and the uncommitted changes together.
func (c *comparison) files() []string {
	all := append(slices.Clone(c.committed), c.changes.untracked...)
	all = append(all, c.changes.modules...)
	slices.Sort(all)
	return slices.Compact(all)
}

// text writes the unified diff. Files that git does not know are announced to the shadow's index, so that they show as
// new; no object is written for them.
func (c *comparison) text(ctx context.Context) (text string, cut bool, err error) {
	var unknown strings.Builder
	for _, f := range c.changes.untracked {
		if !strings.HasSuffix(f, "/") {
			unknown.WriteString(f + "\x00")
		}
	}
	if unknown.Len() > 0 {
		add := c.call("add", "--intent-to-add", "--ignore-errors", "--force", "--pathspec-from-file=-", "--pathspec-file-nul")
		add.in = []byte(unknown.String())
		// A file that went away meanwhile, or that may not be read, is left out of the text, not of the list.
		if _, err := git(ctx, add); err != nil && exited(err) < 0 {
			return "", false, err
		}
	}
	diff := c.call("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short", c.fork, "--")
	diff.most = mostDiff
	out, err := git(ctx, diff)
	if errors.Is(err, errCut) {
		return strings.ToValidUTF8(string(out), "\uFFFD"), true, nil
	}
	if err != nil {
		return "", false, cannotDo("compare "+c.tree, err)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), false, nil
}
