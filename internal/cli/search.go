package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
)

func (a *app) searchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "search WORDS…", Short: "Search messages and transcripts",
		Long: `Search what was sent, and what agents said and did. All words must be there; "a phrase" in quotes (of its own, so that the
shell leaves them), -word for what must not, word* for a beginning. from:PATH, to:PATH and agent:PATH narrow it (PATH/** with
what is under it), as do kind:message, kind:turn and since:2h.`,
		Example: "  substrat search parser since:24h\n  substrat search '\"red error\"' agent:lead/**",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("%s: there is no word to look for", cmd.CommandPath())}
			}
			return nil
		},
	}
	limit := cmd.Flags().IntP("limit", "n", 20, "how many at the most")
	newest := cmd.Flags().Bool("newest", false, "newest first instead of best first")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		hits, err := c.Search(cmd.Context(), strings.Join(args, " "), *limit, *newest)
		if err != nil {
			return err
		}
		return a.show(hits, func() {
			if len(hits) == 0 {
				fmt.Fprintln(a.Out, "nothing found")
			}
			for _, h := range hits {
				a.hit(h)
			}
		})
	}
	return cmd
}

func (a *app) hit(h substrat.Hit) {
	who := printable(h.Agent)
	if h.Kind == "message" {
		who = printable(h.From + " to " + h.To)
	}
	fmt.Fprintf(a.Out, "%s  %s  %s %s\n", h.At.Local().Format(time.DateTime), who, h.Kind, h.ID)
	begins, ends := "", ""
	if terminal(a.Out) && a.Getenv("NO_COLOR") == "" {
		begins, ends = "\x1b[1m", "\x1b[0m"
	}
	// The marks are taken apart first: what is printed of the text itself holds no control character.
	var b strings.Builder
	for i, part := range strings.Split(strings.Join(strings.Fields(h.Snippet), " "), "\x02") {
		match, rest, ok := strings.Cut(part, "\x03")
		if i == 0 || !ok {
			b.WriteString(printable(part))
			continue
		}
		b.WriteString(begins + printable(match) + ends + printable(rest))
	}
	fmt.Fprintln(a.Out, "    "+b.String())
}
