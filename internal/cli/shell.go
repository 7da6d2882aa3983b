package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/shell"
)

// exitWith is the end of a command of the person's, with the code that it is to pass on.
type exitWith int

func (e exitWith) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(e)) }

func (a *app) sandboxShell() *cobra.Command {
	cmd := &cobra.Command{
		Use: "shell PATH [-- COMMAND…]", Short: "Run a shell, or a command, in the sandbox of an agent",
		Long: `Run /bin/sh, or a command, in the sandbox that the agent's next turn would have, with your terminal: the same mounts, network, bounds
and refused system calls. It works while the agent is in a turn, beside it in the same workspace and home, and while it is not.
The exit code is the command's.

The agent's own tools (substrat tool) are there only if the agent is in a turn when the shell starts, and act as the agent. Its
provider's keys are not there without --with-keys. What the egress door refuses is refused, also where you would be asked in a
turn; what is tried is noted nowhere. When the daemon stops, the shell is ended.`,
		Example: "  substrat sandbox shell lead/coder\n  substrat sandbox shell lead/coder -- sh -c 'ls -la ~; curl -sI https://example.org'",
	}
	keys := cmd.Flags().Bool("with-keys", false, "with the keys of the agent's provider in the environment")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); len(args) == 0 || dash > 1 || dash == 0 || dash < 0 && len(args) > 1 {
			return usageError{fmt.Errorf("%s: an agent is needed, and after it, behind --, perhaps a command", cmd.CommandPath())}
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		conn, err := c.Shell(cmd.Context(), args[0], client.ShellAsk{Argv: args[1:], Keys: *keys, Terminal: shell.Terminal(), Term: a.Getenv("TERM")})
		if err != nil {
			return err
		}
		defer conn.Close()
		code, err := runShell(cmd.Context(), conn)
		if err == nil && code != 0 {
			err = exitWith(code)
		}
		return err
	}
	return cmd
}

// errDaemonGone ends a shell: nobody keeps its places any longer.
var errDaemonGone = substrat.Errorf(substrat.CodeCancelled, "the shell was ended: the daemon is stopping")

// returnTime bounds how long the daemon may take to clear up.
const returnTime = 10 * time.Second

// runShell starts what the daemon sends and ends it when the daemon goes.
func runShell(ctx context.Context, conn *client.Lease) (int, error) {
	in := bufio.NewReader(conn)
	line, err := in.ReadBytes('\n')
	var plan shell.Plan
	if err == nil {
		err = json.Unmarshal(line, &plan)
	}
	if err != nil {
		return 0, substrat.Errorf(substrat.CodeUnavailable, "the daemon went away before it answered: %v", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var listening sync.WaitGroup
	listening.Go(func() {
		// Whatever comes means the end.
		_, _ = in.ReadByte()
		cancel(errDaemonGone)
		_, _ = io.Copy(io.Discard, in)
	})
	code, err := shell.Run(ctx, plan, func(n shell.Note) { _ = json.NewEncoder(conn).Encode(n) })
	if err == nil && errors.Is(context.Cause(ctx), errDaemonGone) {
		err = errDaemonGone
	}
	// What was made for it is gone when this command is.
	_ = conn.SetReadDeadline(time.Now().Add(returnTime))
	_ = conn.Return()
	listening.Wait()
	return code, err
}
