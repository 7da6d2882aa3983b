package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
)

func (a *app) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "why PATH", Short: "Tell what an agent waits for", Args: exactly(1),
		Long: `Tell on one screen what an agent waits for: a slot, its gate, a reply (from whom, since when), the end of a back-off, a
provider's limit, a budget, or an answer of yours; what its next turn begins with; and who waits for it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			w, err := c.Why(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(w, func() { a.whyDetails(w) })
		},
	}
}

func (a *app) whyDetails(w substrat.Why) {
	fmt.Fprintf(a.Out, "%s is %s", printable(w.Agent.Path), w.Agent.State)
	if w.Agent.Pending > 0 {
		fmt.Fprintf(a.Out, ", %s in its mailbox", count(w.Agent.Pending, "message"))
	}
	fmt.Fprintln(a.Out)
	fmt.Fprintln(a.Out, "it waits for:")
	for _, r := range w.Reasons {
		line := "  - " + oneLine(r.Text, 200)
		if r.Since != nil {
			line += ", since " + age(*r.Since)
		}
		if r.Until != nil {
			line += ", until " + r.Until.Local().Format("2 Jan 15:04:05")
		}
		if r.Kind == substrat.WaitsQuestion {
			line += "\n      substrat answer " + shortID(r.On)
		}
		fmt.Fprintln(a.Out, line)
	}
	if len(w.WaitedOnBy) > 0 {
		fmt.Fprintln(a.Out, "these wait for it: "+printable(strings.Join(w.WaitedOnBy, ", ")))
	}
	if len(w.Next) > 0 {
		fmt.Fprintln(a.Out, "its next turn begins with:")
		for _, m := range w.Next {
			fmt.Fprintf(a.Out, "  - %s from %s, %s ago: %s\n", m.Kind, printable(m.From), age(m.CreatedAt), oneLine(m.Text, 60))
		}
	}
}

func (a *app) graphCommand() *cobra.Command {
	return &cobra.Command{
		Use: "graph", Short: "Show who waits for whom", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			g, err := c.Graph(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(g, func() { a.graphLines(g) })
		},
	}
}

func (a *app) graphLines(g substrat.Graph) {
	if len(g.Waits) == 0 {
		fmt.Fprintln(a.Out, "nobody waits for anybody")
		return
	}
	rows := [][]string{{"WHO", "WAITS FOR", "SINCE", "UNTIL", "ON"}}
	for _, w := range g.Waits {
		until := ""
		if w.Until != nil {
			until = w.Until.Local().Format("2 Jan 15:04")
		}
		rows = append(rows, []string{printable(w.From), printable(w.To), age(w.Since), until, string(w.Kind) + " " + shortID(w.On)})
	}
	a.table(rows)
	for _, c := range g.Cycles {
		fmt.Fprintln(a.Out, "circle: "+printable(strings.Join(slices.Concat(c, c[:1]), " -> ")))
	}
}
