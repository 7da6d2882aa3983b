package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/render"
)

func (a *app) attachCommand() *cobra.Command {
	return &cobra.Command{Use: "attach PATH", Short: "Watch an agent live, and talk to it", Args: exactly(1),
		Long: `Watch an agent live: its text as it comes, a line for each tool call, the beginning and end of each turn. Lines you type
are sent to it. Ctrl-D leaves; the agent goes on. In a pipe the input's lines are sent, and it ends when they were handled.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			x, err := c.Agent(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if x.State == substrat.Terminated {
				return substrat.Errorf(substrat.CodeTerminated, "%s has ended", x.Path)
			}
			return a.attach(cmd.Context(), c, x)
		}}
}

// attach shows the stream while it sends what is typed.
func (a *app) attach(ctx context.Context, c *client.Client, x substrat.Agent) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	from := client.StreamPos{Turn: x.Turns + 1}
	if x.Turn != "" {
		from.Turn = x.Turns
	}
	if terminal(a.In) {
		fmt.Fprintf(a.Out, "%s is %s. Lines are sent to it; Ctrl-D leaves.\n", x.Path, x.State)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		p := &transcript{app: a, c: c, out: a.transcript(render.Options{Brief: true}), talks: true}
		for item, err := range c.Stream(ctx, x.ID, from) {
			if err != nil {
				cancel(err)
				return
			}
			p.show(ctx, item)
		}
	})
	err := a.talk(ctx, c, x)
	if err == nil && !terminal(a.In) {
		err = a.settle(ctx, c, x.ID)
	}
	cause := context.Cause(ctx)
	cancel(nil)
	wg.Wait()
	if err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// talk sends the lines that are typed until there are no more.
func (a *app) talk(ctx context.Context, c *client.Client, x substrat.Agent) error {
	lines := make(chan string)
	go func() {
		// A read of the terminal cannot be interrupted; the process ends with it.
		defer close(lines)
		in := bufio.NewScanner(a.In)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			if _, err := c.Send(ctx, x.ID, line); err != nil {
				return err
			}
		}
	}
}

// settle waits until the agent has nothing more to do, and gives the stream a moment to show its end.
func (a *app) settle(ctx context.Context, c *client.Client, id string) error {
	for {
		x, err := c.Agent(ctx, id)
		if err != nil || x.State != substrat.Busy && x.Pending == 0 {
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
			}
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}
