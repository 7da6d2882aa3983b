package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// steer is a command about one agent that answers with a sentence.
func (a *app) steer(use, short, long string, do func(context.Context, *client.Client, string) (any, string, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " PATH", Short: short, Long: long, Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			v, said, err := do(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return a.show(v, func() { fmt.Fprintln(a.Out, printable(said)) })
		},
	}
}

func (a *app) agentGate() *cobra.Command {
	return a.steer("gate", "Put an agent's gate down: mail no longer wakes it", "", func(ctx context.Context, c *client.Client, ref string) (any, string, error) {
		x, err := c.Gate(ctx, ref, true)
		return x, x.Path + " is gated", err
	})
}

func (a *app) agentUngate() *cobra.Command {
	return a.steer("ungate", "Lift an agent's gate", "", func(ctx context.Context, c *client.Client, ref string) (any, string, error) {
		x, err := c.Gate(ctx, ref, false)
		return x, x.Path + " is not gated", err
	})
}

func (a *app) agentPermit() *cobra.Command {
	return a.steer("permit", "Let one turn of a gated agent through", "", func(ctx context.Context, c *client.Client, ref string) (any, string, error) {
		x, err := c.Permit(ctx, ref)
		return x, "one turn of " + x.Path + " may pass", err
	})
}

func (a *app) agentPoke() *cobra.Command {
	long := `Retry an agent's failed turn with the same input: now, if it waits for its next attempt, and once more if its messages were
given up. It does nothing to an agent that is busy or has nothing to retry.`
	return a.steer("poke", "Retry a failed turn now", long, func(ctx context.Context, c *client.Client, ref string) (any, string, error) {
		status, err := c.Poke(ctx, ref)
		return map[string]string{"status": status}, status, err
	})
}

func (a *app) agentSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set PATH", Short: "Change an agent's instructions, model or role", Args: exactly(1),
		Long: "Change an agent that exists. Its next turn has the new; what is not named stays."}
	instructions := cmd.Flags().String("instructions", "", "standing instructions, or @FILE to read them from")
	model := cmd.Flags().String("model", "", "the model its provider is to use")
	role := cmd.Flags().String("role", "", "worker, reviewer or manager")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var x substrat.AgentChange
		if cmd.Flags().Changed("instructions") {
			text, err := textOrFile(*instructions)
			if err != nil {
				return err
			}
			x.Instructions = &text
		}
		if cmd.Flags().Changed("model") {
			x.Model = model
		}
		if *role != "" {
			r := substrat.Role(*role)
			x.Role = &r
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		changed, err := c.Change(cmd.Context(), args[0], x)
		if err != nil {
			return err
		}
		return a.show(changed, func() { fmt.Fprintf(a.Out, "changed %s\n", printable(changed.Path)) })
	}
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	long := `Let the agents of a provider's account go on that were held because it refused: after a login, or when you know better than its
limits. An agent's path stands for the account it runs on.`
	cmd := a.steer("resume", "Let the agents of a provider's account go on", long, func(ctx context.Context, c *client.Client, ref string) (any, string, error) {
		account, teams, err := c.Resume(ctx, ref)
		said := account + " held nobody"
		if teams > 0 {
			said = fmt.Sprintf("%s goes on (%d teams were held)", account, teams)
		}
		return map[string]any{"account": account, "teams": teams}, said, err
	})
	cmd.Use = "resume ACCOUNT|PATH"
	return cmd
}
