package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/render"
)

func (a *app) workspaceCommand() *cobra.Command {
	cmd := group("workspace", "Make, compare, merge, link and remove the workspaces of agents", a.workspaceList(), a.workspaceCreate(), a.workspaceShow(),
		a.workspaceDiff(), a.workspaceMerge(), a.workspaceRemove(), a.workspaceLink(), a.workspaceUnlink(), a.workspaceEnv())
	cmd.Long = `A workspace is a named directory that agents live in: a directory of its own, a view of another workspace, a host directory, or a
git worktree on a branch of its own. It belongs to whoever made it.

Workspaces are named by id, or as an agent would write it after that agent's path: lead/src is lead's src, lead/coder/src that
of its child coder, lead/../src the user's src in the team of lead.`
	return cmd
}

// onWorkspace is a command about one workspace.
func (a *app) onWorkspace(use, short string, args int, do func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: exactly(args), RunE: func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}}
}

func (a *app) workspaceList() *cobra.Command {
	agent := ""
	cmd := a.onWorkspace("ls", "List workspaces", 0, func(ctx context.Context, c *client.Client, _ []string) error {
		list, err := c.Workspaces(ctx, agent)
		if err != nil {
			return err
		}
		return a.show(list, func() {
			if len(list) == 0 {
				fmt.Fprintln(a.Out, "no workspaces")
				return
			}
			rows := [][]string{{"WORKSPACE", "KIND", "MODE", "AGENTS", "DIRECTORY"}}
			for _, w := range list {
				rows = append(rows, []string{printable(w.Ref), kindOf(w), modeOf(w), strings.Join(w.Residents, ","), printable(w.Dir)})
			}
			a.table(rows)
		})
	})
	cmd.Aliases = []string{"list"}
	cmd.Flags().StringVar(&agent, "agent", "", "only those of this agent's team")
	return cmd
}

func kindOf(w substrat.Workspace) string {
	switch {
	case w.Left:
		return "left over"
	case w.ViewOf != "":
		return "view of " + w.ViewOf
	case w.Branch != "":
		return "branch " + w.Branch
	default:
		return "directory"
	}
}

func modeOf(w substrat.Workspace) string {
	mode := "rw"
	if w.Left {
		return "-"
	}
	if w.ReadOnly {
		mode = "ro"
	}
	if w.Network {
		mode += " NET"
	}
	return mode
}

func (a *app) workspaceCreate() *cobra.Command {
	var n substrat.NewWorkspace
	cmd := a.onWorkspace("create NAME", "Make a workspace", 1, func(ctx context.Context, c *client.Client, args []string) (err error) {
		n.Name = args[0]
		for _, dir := range []*string{&n.Dir, &n.Worktree} {
			if *dir, err = absolute(*dir); err != nil {
				return err
			}
		}
		w, err := c.CreateWorkspace(ctx, n)
		if err != nil {
			return err
		}
		return a.show(w, func() { fmt.Fprintf(a.Out, "created %s: %s, %s\n", printable(w.Ref), kindOf(w), printable(w.Dir)) })
	})
	cmd.Example = "  substrat workspace create data --for lead --dir ~/data --read-only\n  substrat workspace create fix --for lead --worktree ~/src/project"
	f := cmd.Flags()
	f.StringVar(&n.Agent, "for", "", "an agent of the team it is for (required)")
	f.BoolVar(&n.Own, "own", false, "that agent owns it; otherwise it is yours, and root agents write ../NAME")
	f.StringVar(&n.Dir, "dir", "", "show this directory of the host")
	f.StringVar(&n.Worktree, "worktree", "", "a git worktree of the repository that this directory is in")
	f.StringVar(&n.Branch, "branch", "", "the worktree's branch (default substrat/NAME)")
	f.StringVar(&n.Base, "base", "", "what the branch is made from (default what is checked out)")
	f.StringVar(&n.ViewOf, "view-of", "", "show (a part of) this workspace")
	f.StringVar(&n.Subdir, "subdir", "", "which part")
	f.BoolVar(&n.ReadOnly, "read-only", false, "agents in it cannot write")
	f.BoolVar(&n.Network, "network", false, "agents in it have the network")
	_ = cmd.MarkFlagRequired("for")
	return cmd
}

func (a *app) workspaceShow() *cobra.Command {
	return a.onWorkspace("show REF", "Show a workspace", 1, func(ctx context.Context, c *client.Client, args []string) error {
		w, err := c.Workspace(ctx, args[0])
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	})
}

func (a *app) showWorkspace(w substrat.Workspace) error {
	return a.show(w, func() {
		rows := [][]string{{"workspace", printable(w.Ref)}, {"id", w.ID}, {"owner", w.Owner}, {"kind", kindOf(w)}, {"mode", modeOf(w)}, {"directory", printable(w.Dir)}}
		if w.Repo != "" {
			rows = append(rows, []string{"repository", printable(w.Repo)}, []string{"base", printable(w.Base)})
		}
		for _, l := range w.Links {
			rows = append(rows, []string{"link", printable(l.At + " shows " + l.From + ":" + l.Dir)})
		}
		if w.Env != nil {
			rows = append(rows, []string{"environment", fmt.Sprintf("%d variables set, %d unset, in %s", len(w.Env.Set), len(w.Env.Unset), printable("./"+w.Env.Dir))})
		}
		rows = append(rows, []string{"agents", strings.Join(w.Residents, ", ")})
		a.table(rows)
	})
}

func (a *app) workspaceDiff() *cobra.Command {
	return a.onWorkspace("diff REF", "Show what was done in a git worktree", 1, func(ctx context.Context, c *client.Client, args []string) error {
		d, err := c.DiffWorkspace(ctx, args[0])
		if err != nil {
			return err
		}
		return a.show(d, func() {
			fmt.Fprintf(a.Out, "%s: %s ahead of %s, %d behind, %s\n", printable(d.Branch), count(d.Ahead, "commit"), printable(d.Base), d.Behind,
				count(len(d.Uncommitted), "uncommitted file"))
			a.transcript(render.Options{Full: true}).Diff(d.Text)
			if d.Cut {
				fmt.Fprintln(a.Out, "(the diff is longer)")
			}
		})
	})
}

func (a *app) workspaceMerge() *cobra.Command {
	into := ""
	cmd := a.onWorkspace("merge REF", "Merge a git worktree's branch", 1, func(ctx context.Context, c *client.Client, args []string) error {
		m, err := c.MergeWorkspace(ctx, args[0], into)
		if err != nil {
			return err
		}
		return a.show(m, func() {
			if m.UpToDate {
				fmt.Fprintf(a.Out, "%s has it all already\n", printable(m.Into))
				return
			}
			fmt.Fprintf(a.Out, "merged into %s: %s\n", printable(m.Into), count(len(m.Files), "file"))
		})
	})
	cmd.Long = "Merge a git worktree's branch. With a conflict, or with uncommitted changes in the way, nothing is changed and the files are named."
	cmd.Flags().StringVar(&into, "into", "", "the branch to merge into (default what the repository has checked out)")
	return cmd
}

func (a *app) workspaceRemove() *cobra.Command {
	force := false
	cmd := a.onWorkspace("rm REF", "Delete a workspace", 1, func(ctx context.Context, c *client.Client, args []string) error {
		kept, err := c.DeleteWorkspace(ctx, args[0], force)
		if err != nil {
			return err
		}
		return a.show(map[string]string{"status": "deleted", "branch": kept}, func() {
			fmt.Fprintf(a.Out, "deleted %s\n", printable(args[0]))
			if kept != "" {
				fmt.Fprintf(a.Out, "the branch %s is kept: it has commits that are merged nowhere\n", printable(kept))
			}
		})
	})
	cmd.Long = `Delete a workspace in which no agent lives any more. A directory of the host stays. A directory that the daemon made is removed if
it is empty; a worktree if all its work is committed, and its branch if that is merged. --force removes all of that.
What ls calls left over belongs to no team any more; it is removed by its id.`
	cmd.Flags().BoolVar(&force, "force", false, "also what is uncommitted or unmerged")
	return cmd
}

func (a *app) workspaceLink() *cobra.Command {
	var n substrat.NewLink
	cmd := a.onWorkspace("link REF AT", "Show a directory in a workspace", 2, func(ctx context.Context, c *client.Client, args []string) (err error) {
		n.At = args[1]
		if n.Host, err = absolute(n.Host); err != nil {
			return err
		}
		w, err := c.LinkWorkspace(ctx, args[0], n)
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	})
	f := cmd.Flags()
	f.StringVar(&n.Source, "from", "", "the workspace it comes from")
	f.StringVar(&n.Dir, "dir", "", "the directory in it (default all of it)")
	f.StringVar(&n.Host, "host", "", "a directory of the host instead")
	f.BoolVar(&n.ReadOnly, "read-only", false, "agents cannot write to it")
	cmd.MarkFlagsOneRequired("from", "host")
	return cmd
}

func (a *app) workspaceUnlink() *cobra.Command {
	return a.onWorkspace("unlink REF AT", "Take a link away", 2, func(ctx context.Context, c *client.Client, args []string) error {
		w, err := c.UnlinkWorkspace(ctx, args[0], args[1])
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	})
}

func (a *app) workspaceEnv() *cobra.Command {
	forget := false
	cmd := &cobra.Command{
		Use: "env REF [SCRIPT]", Short: "Keep the environment that a script leaves, for turns in a workspace",
		Long: `Run a script with a shell in a workspace, inside the sandbox that agents there have, and keep the environment and the directory
it leaves: every turn in the workspace begins with them. So a virtual environment, or a directory, survives from turn to turn.`,
		Example: "  substrat workspace env lead/../src '. .venv/bin/activate'\n  substrat workspace env lead/../src --clear",
	}
	cmd.Flags().BoolVar(&forget, "clear", false, "keep none")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 && !(forget && len(args) == 1) {
			return usageError{fmt.Errorf("%s: a workspace and a script are needed", cmd.CommandPath())}
		}
		script := ""
		if !forget {
			script = args[1]
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		w, err := c.CaptureEnv(cmd.Context(), args[0], script)
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	}
	return cmd
}
