package cli

import (
	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/top"
)

func (a *app) topCommand() *cobra.Command {
	return &cobra.Command{
		Use: "top", Short: "Watch and steer all agents on one screen", Args: exactly(0),
		Long: `Show the tree of agents as it changes: what each does, what it waits for, what needs you. Keys send messages, answer the queue,
stop turns, put gates down and show transcripts; ? lists them, q leaves. The agents go on without it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.json || !terminal(a.In) || !terminal(a.Out) {
				return substrat.Errorf(substrat.CodeInvalid, "cannot show the agents live: this is not a terminal").
					WithHint("substrat agent ls --json, or substrat events --follow")
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			if _, err := c.Status(cmd.Context()); err != nil {
				return err
			}
			return top.Run(cmd.Context(), c, a.In, a.raw)
		},
	}
}
