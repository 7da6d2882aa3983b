package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

// sent is what send prints as JSON. Outcome and what follows come with --wait.
type sent struct {
	MessageID string                `json:"message_id"`
	State     substrat.MessageState `json:"state"`
	Status    string                `json:"status"`
	Outcome   substrat.Outcome      `json:"outcome,omitempty"`
	Text      *string               `json:"text,omitempty"`
	Class     substrat.FailureClass `json:"class,omitempty"`
	Detail    string                `json:"detail,omitempty"`
	Turn      string                `json:"turn,omitempty"`
}

func (a *app) sendCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "send PATH TEXT|-", Short: "Send a message to an agent", Args: exactly(2),
		Long: `Send a message to an agent. It returns once the message is durable. With --wait it returns when the turn that handled it
has ended, and prints the turn's text; exit code 1 and the reason if the turn failed. "-" reads the text from standard input.`,
		Example: `  substrat send lead "Please mend the failing test."
  git diff | substrat send lead/critic - --wait --timeout 10m`,
	}
	wait := cmd.Flags().Bool("wait", false, "wait for the turn that handles it, and print its text")
	timeout := cmd.Flags().Duration("timeout", 0, "with --wait: how long to wait; the message goes on afterwards")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text := args[1]
		if text == "-" {
			data, err := io.ReadAll(a.In)
			if err != nil {
				return substrat.Errorf(substrat.CodeInvalid, "cannot read the text: %v", err)
			}
			text = string(data)
		}
		if strings.TrimSpace(text) == "" {
			return errNoText
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		s, err := c.Send(cmd.Context(), args[0], text)
		if err != nil {
			return err
		}
		out := sent{MessageID: s.MessageID, State: s.State, Status: s.Status}
		if !*wait {
			return a.show(out, func() { fmt.Fprintf(a.Out, "sent %s\n", s.MessageID) })
		}
		return a.await(cmd.Context(), c, out, *timeout)
	}
	return cmd
}

// await waits for a message's turn and shows what came of it.
func (a *app) await(ctx context.Context, c *client.Client, out sent, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if terminal(a.Err) && !a.json {
		fmt.Fprintf(a.Err, "waiting for message %s (Ctrl-C leaves it going)\n", out.MessageID)
	}
	r, err := c.Receipt(ctx, out.MessageID)
	if err != nil {
		return err
	}
	out.State, out.Detail, out.Turn = r.Message.State, r.Message.Detail, r.Message.Turn
	text := ""
	if t := r.Turn; t != nil {
		out.Outcome, out.Class, text = t.Outcome, t.Class, t.Text
		if t.Detail != "" {
			out.Detail = t.Detail
		}
	}
	out.Text = &text
	ok := out.Outcome == substrat.Completed
	err = a.show(out, func() {
		if ok {
			fmt.Fprintln(a.Out, strings.TrimRight(printable(text), "\n"))
		}
	})
	switch {
	case err != nil || ok:
		return err
	case a.json:
		return failed{errors.New("the turn failed")}
	case out.Outcome == "" && out.State == substrat.Queued:
		return substrat.Errorf(substrat.CodeTurnFailed, "no turn runs: the provider of %s needs a login", r.Message.To).
			WithHint("the message is kept; log in, then substrat resume %s", r.Message.To)
	case out.Outcome == "":
		return substrat.Errorf(substrat.CodeTurnFailed, "no turn handled the message: it is %s (%s)", out.State, out.Detail)
	case out.State == substrat.Queued:
		return substrat.Errorf(substrat.CodeTurnFailed, "turn %s: %s: %s", strings.ReplaceAll(string(out.Outcome), "_", " "), out.Class, out.Detail).
			WithHint("the message is kept; once it works again, substrat resume %s lets it go on", r.Turn.Agent)
	default:
		return substrat.Errorf(substrat.CodeTurnFailed, "turn %s: %s: %s", strings.ReplaceAll(string(out.Outcome), "_", " "), out.Class, out.Detail)
	}
}
