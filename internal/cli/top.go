package cli

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/top"
)

func (a *app) topCommand() *cobra.Command {
	return &cobra.Command{Use: "top", Short: "Watch all agents live, and steer them", Args: exactly(0),
		Long: `Watch all agents live in the terminal: the tree, what each does and waits for, its last turns, and what needs you. Keys send
messages, answer questions, stop turns, poke, gate and end agents; ? lists them.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !terminal(a.In) || !terminal(a.Out) {
				return substrat.Errorf(substrat.CodeUnsupported, "top needs a terminal").WithHint("substrat agent ls and substrat queue print the same")
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			var wg sync.WaitGroup
			changes := make(chan struct{}, 1)
			wg.Go(func() { notice(ctx, c, status.Seq, changes) })
			err = top.Run(ctx, c, a.In, a.Out, changes)
			cancel()
			wg.Wait()
			return err
		}}
}

// notice tells that something happened. Things that happen together are told once.
func notice(ctx context.Context, c *client.Client, after int64, changes chan<- struct{}) {
	for ctx.Err() == nil {
		for ev, err := range c.Events(ctx, after, true) {
			if err != nil {
				break
			}
			after = ev.Seq
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}
}
