package cli

import (
	"github.com/spf13/cobra"

	"substrat.dev/substrat/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "demo", Short: "Watch a team mend a failing test while the daemon is killed twice", Args: exactly(0),
		Long: `Watch a lead, a coder and a reviewer mend a failing test in a small git repository, while the daemon is killed twice. It
uses a daemon and directories of its own, needs no account and no network, checks its own result, and cleans up.`}
	noCrash := cmd.Flags().Bool("no-crash", false, "do not kill the daemon")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return demo.Run(cmd.Context(), demo.Options{JSON: a.json, NoCrash: *noCrash, Out: a.Out, Err: a.Err})
	}
	return cmd
}
