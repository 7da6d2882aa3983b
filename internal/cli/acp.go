package cli

import (
	"log/slog"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/internal/editor"
)

func (a *app) acpCommand() *cobra.Command {
	var o editor.Options
	var sandbox string
	cmd := &cobra.Command{
		Use: "acp", Short: "Be an agent inside an editor: a team behind the Agent Client Protocol", Args: exactly(0),
		Long: `Speak the Agent Client Protocol on standard input and output, for an editor that starts it. A prompt goes to the root of a
team; what the root says and does, and what the others are at, comes as updates; permissions and questions of any agent
go to the editor's user. Each session of the editor is a root of its own, unless --agent names one. The daemon has to run.`,
		Example: "  substrat acp --provider cursor\n  substrat acp --agent lead",
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Agent, "agent", "", "the root agent to talk to, instead of one that is made for the session")
	flags.StringVarP(&o.New.Provider, "provider", "p", "", "which CLI a root that is made runs; the daemon's default if not given")
	flags.StringVarP(&o.New.Model, "model", "m", "", "its model")
	flags.StringVar(&o.New.Instructions, "instructions", "", "its standing instructions")
	flags.StringVar(&sandbox, "sandbox", "", "its sandbox: bwrap, landlock or none")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		o.New.Sandbox, o.Version = substrat.Sandbox(sandbox), Version()
		o.Log = slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
		return editor.Serve(cmd.Context(), c, o, a.In, a.raw)
	}
	return cmd
}
