package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
)

func (a *app) netCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "net PATH", Short: "Show what an agent tried to reach", Args: exactly(1),
		Long: `Show what an agent's processes tried to reach through their egress door, with the verdict on each: what was let through, what was
refused and why. Which hosts are let through is said in substrat.toml ([network], [profiles.NAME] hosts, [providers.NAME] hosts);
what a provider needs is known. With unlisted = "ask" a new host waits for you: substrat queue.`,
		Example: "  substrat net lead/coder\n  substrat net lead --denied",
	}
	last := cmd.Flags().IntP("last", "n", 200, "how many of the last; 0 for all that are kept")
	denied := cmd.Flags().Bool("denied", false, "only what was not let through")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		list, err := c.Attempts(cmd.Context(), args[0], *last)
		if err != nil {
			return err
		}
		if *denied {
			kept := []substrat.Attempt{}
			for _, x := range list {
				if x.Verdict != "allowed" && x.Verdict != "closed" {
					kept = append(kept, x)
				}
			}
			list = kept
		}
		return a.show(list, func() { a.netLines(list) })
	}
	return cmd
}

func (a *app) netLines(list []substrat.Attempt) {
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "it tried to reach nothing")
		return
	}
	rows := [][]string{{"WHEN", "VERDICT", "HOST", "VIA", "BYTES", "WHY"}}
	for _, x := range list {
		host := x.Host
		if x.Port != 0 {
			host = fmt.Sprintf("%s:%d", x.Host, x.Port)
		}
		bytes, why := "", x.Why
		if x.Up+x.Down > 0 {
			bytes = fmt.Sprintf("%d up, %d down", x.Up, x.Down)
		}
		if x.Count > 1 {
			why = fmt.Sprintf("%d times; %s", x.Count, why)
		}
		rows = append(rows, []string{x.At.Local().Format("2 Jan 15:04:05"), loud(x.Verdict, x.Verdict == "denied"), oneLine(host, 60), x.Via, bytes, oneLine(why, 80)})
	}
	a.table(rows)
}
