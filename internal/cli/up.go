package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/teamfile"
)

func (a *app) upCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "up FILE", Short: "Create a whole team from a file, or bring it in line with the file", Args: exactly(1),
		Long: `Create the team that a file describes, or change one that is there to what the file says now. Running it twice changes
nothing. Agents that are not in the file are left alone and named. What cannot be changed in an agent that exists, its
provider, sandbox and directory, is named too. docs/team.md describes the file.`,
		Example: "  substrat up team.toml --dry-run\n  substrat up team.toml",
	}
	dry := cmd.Flags().Bool("dry-run", false, "show what would be done and do nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := teamfile.Load(args[0])
		if err != nil {
			return err
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		have, err := haveOf(cmd.Context(), c, t)
		if err != nil {
			return err
		}
		return a.carryOut(cmd.Context(), c, t.Plan(have), *dry)
	}
	return cmd
}

// haveOf looks at what there is of a team.
func haveOf(ctx context.Context, c *client.Client, t *teamfile.Team) (teamfile.Have, error) {
	have := teamfile.Have{Agents: map[string]substrat.Agent{}, Reminders: map[string][]substrat.Reminder{}}
	list, err := c.Agents(ctx, false)
	if err != nil {
		return have, err
	}
	for _, x := range list {
		have.Agents[x.Path] = x
	}
	for _, x := range t.Agents {
		if _, there := have.Agents[x.Path]; !there || len(x.Schedule) == 0 {
			continue
		}
		if have.Reminders[x.Path], err = c.Reminders(ctx, x.Path); err != nil {
			return have, err
		}
	}
	return have, nil
}

// upStep is a change as --json shows it.
type upStep struct {
	Path string `json:"path"`
	Text string `json:"text"`
	Note bool   `json:"note,omitempty"`
	Done bool   `json:"done"`
}

func (a *app) carryOut(ctx context.Context, c *client.Client, plan []teamfile.Change, dry bool) error {
	changes := 0
	for _, x := range plan {
		step := upStep{Path: x.Path, Text: x.Text, Note: x.Note(), Done: !dry && !x.Note()}
		if step.Done {
			if err := apply(ctx, c, x); err != nil {
				return err
			}
		}
		if !x.Note() {
			changes++
		}
		err := a.show(step, func() { fmt.Fprintf(a.Out, "%s: %s\n", printable(x.Path), printable(x.Text)) })
		if err != nil {
			return err
		}
	}
	if changes == 0 && !a.json {
		fmt.Fprintln(a.Out, "nothing to change")
	}
	return nil
}

// apply carries out one change.
func apply(ctx context.Context, c *client.Client, x teamfile.Change) (err error) {
	switch {
	case x.Create != nil:
		_, err = c.CreateAgent(ctx, *x.Create)
	case x.Set != nil:
		_, err = c.Change(ctx, x.Path, *x.Set)
	case x.Gate != nil:
		_, err = c.Gate(ctx, x.Path, *x.Gate)
	case x.Budgets != nil:
		_, err = c.SetBudgets(ctx, x.Path, *x.Budgets)
	case x.Send != "":
		_, err = c.Send(ctx, x.Path, x.Send)
	case x.Remind != nil:
		_, err = c.Remind(ctx, x.Path, x.Remind.Message, x.Remind.First(time.Now()), x.Remind.Every)
	}
	return err
}
