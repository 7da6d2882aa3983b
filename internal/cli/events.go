package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "events", Short: "Show the journal's events", Args: exactly(0),
		Long: "Show the journal's events in the order in which they became durable. --json prints one event a line."}
	after := cmd.Flags().Int64("after", 0, "only events after this number")
	follow := cmd.Flags().Bool("follow", false, "go on as events come")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		for ev, err := range c.Events(cmd.Context(), *after, *follow) {
			if err != nil {
				return err
			}
			err := a.show(ev, func() {
				fmt.Fprintf(a.Out, "%6d  %s  %-18s %-16s %s\n", ev.Seq, ev.At.Local().Format(time.TimeOnly), ev.Type, ev.Actor, oneLine(string(ev.Data), 100))
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}
