package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/agentcli/cursor"
)

func (a *app) decodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "decode FILE|-", Short: "Normalise a recorded stream of an agent CLI", Args: exactly(1),
		Long: `Normalise a recorded stream: what an agent CLI printed to its standard output. Each event is a line of JSON; the last is
{"type":"result","text":…,"outcome":…}, with the text put together from its pieces, not copied from the CLI's own. What is not
understood becomes a notice. A stream that ends without the record that ends a turn has the outcome failed.`,
		Example: "  cursor-agent -p --output-format stream-json 'hello' | substrat decode -\n  substrat decode --provider claude turn.ndjson",
	}
	provider := cmd.Flags().StringP("provider", "p", "cursor", "whose stream it is")
	partial := cmd.Flags().Bool("partial", false, "the pieces of a text as they came, not each text whole")
	format := cmd.Flags().String("format", "stream", "what was recorded: stream, or text, what Cursor's CLI prints by default")
	raw := cmd.Flags().Bool("raw", false, "the CLI's own frame beside each event")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, clear, err := a.chooseProvider(cmd.Context(), *provider)
		if err != nil {
			return err
		}
		defer clear()
		var in io.Reader = a.In
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return substrat.Errorf(substrat.CodeInvalid, "cannot read the stream: %v", err)
			}
			defer func() { _ = f.Close() }()
			in = f
		}
		switch *format {
		case "stream":
		case "text":
			return a.decodeText(in)
		default:
			return usageError{fmt.Errorf("there is no format %q: stream or text", *format)}
		}
		for e, err := range agentcli.Decode(cmd.Context(), p, in, *partial) {
			if err != nil {
				return err
			}
			line, err := agentcli.Line(e, *raw)
			if err != nil {
				return err
			}
			if _, err := a.Out.Write(line); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// textMost bounds what is read of a text: a turn's final words.
const textMost = 64 << 20

// decodeText makes the one event of an output without frames.
func (a *app) decodeText(in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, textMost))
	if err != nil {
		return substrat.Errorf(substrat.CodeInvalid, "cannot read the text: %v", err)
	}
	result := cursor.DecodeText(data, agentcli.Exit{})
	line, err := agentcli.Line(agentcli.Event{Type: agentcli.EventResult, Result: &result, Offset: int64(len(data))}, false)
	if err == nil {
		_, err = a.Out.Write(line)
	}
	return err
}
