package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) remindCommand() *cobra.Command {
	return group("remind", "Send agents messages later, once or again and again", a.remindSet(), a.remindList(), a.remindCancel())
}

func (a *app) remindSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set PATH TEXT", Short: "Set a reminder", Args: exactly(2),
		Long:    `Send an agent a message later. It is durable: one that falls due while the daemon is down comes once at its next start.`,
		Example: "  substrat remind set nightly 'Run the checks and report.' --after 8h --every 24h"}
	after := cmd.Flags().Duration("after", 0, "in how long; default what --every says")
	every := cmd.Flags().Duration("every", 0, "and then again every so often")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *after == 0 {
			*after = *every
		}
		if *after <= 0 {
			return usageError{fmt.Errorf("%s: --after or --every is needed", cmd.CommandPath())}
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		r, err := c.Remind(cmd.Context(), args[0], args[1], *after, *every)
		if err != nil {
			return err
		}
		return a.show(r, func() { fmt.Fprintf(a.Out, "set %s for %s\n", r.ID, r.At.Local().Format(time.DateTime)) })
	}
	return cmd
}

func (a *app) remindList() *cobra.Command {
	return &cobra.Command{Use: "ls PATH", Aliases: []string{"list"}, Short: "List an agent's reminders", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.Reminders(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(list, func() {
				if len(list) == 0 {
					fmt.Fprintln(a.Out, "no reminders")
					return
				}
				rows := [][]string{{"ID", "AT", "EVERY", "REASON"}}
				for _, r := range list {
					every := ""
					if r.EverySeconds > 0 {
						every = (time.Duration(r.EverySeconds) * time.Second).String()
					}
					rows = append(rows, []string{r.ID, r.At.Local().Format(time.DateTime), every, oneLine(r.Reason, 60)})
				}
				a.table(rows)
			})
		}}
}

func (a *app) remindCancel() *cobra.Command {
	return &cobra.Command{Use: "cancel PATH ID", Short: "Take a reminder back", Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if err := c.CancelReminder(cmd.Context(), args[0], args[1]); err != nil {
				return err
			}
			return a.show(map[string]string{"status": "cancelled"}, func() { fmt.Fprintln(a.Out, "cancelled") })
		}}
}
