package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
	"substrat.dev/substrat/internal/render"
)

func (a *app) logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "log PATH", Short: "Show an agent's transcript: what it was told, did and said", Args: exactly(1),
		Long: `Show an agent's transcript, turn by turn: the messages it began with, its text, its tool calls with the beginning of their
output and the changes they made, and how it ended. --json prints the stream's items, one a line, with the CLI's raw frames.`,
		Example: "  substrat log lead --turns 1\n  substrat log lead/coder --follow\n  substrat log lead --json | jq .event.tool.title",
	}
	f := cmd.Flags()
	turns := f.IntP("turns", "n", 0, "only the last so many turns")
	follow := f.BoolP("follow", "f", false, "stay, and show what comes")
	full := f.Bool("full", false, "outputs and changes at full length")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		list, err := c.Turns(cmd.Context(), args[0], 0)
		if err != nil {
			return err
		}
		if *turns > 0 {
			list = list[max(0, len(list)-*turns):]
		}
		t := &transcript{app: a, c: c, out: a.transcript(render.Options{Full: *full})}
		return t.run(cmd.Context(), args[0], list, *follow)
	}
	return cmd
}

// transcript shows a stream, to people or as JSON lines.
type transcript struct {
	*app
	c   *client.Client
	out *render.Transcript
	// talks says that the person at the terminal is the one who writes to the agent, and knows what they wrote.
	talks bool
}

// transcript makes one for the output there is: wrapped and coloured on a terminal only.
func (a *app) transcript(o render.Options) *render.Transcript {
	if f, ok := a.raw.(*os.File); ok && terminal(f) {
		o.Colour = a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
		o.Width = func() int {
			w, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return w
		}
	}
	return render.New(a.Out, o)
}

// openPause is how long an open turn may be silent before a log that does not follow ends.
const openPause = 300 * time.Millisecond

// run shows turns from the first of a list on, to the end of the last or, if it follows, for ever.
func (t *transcript) run(parent context.Context, ref string, list []substrat.Turn, follow bool) error {
	if len(list) == 0 && !follow {
		return t.app.show([]int{}, func() { fmt.Fprintln(t.Out, "no turns yet") })
	}
	from, last := client.StreamPos{}, 0
	if len(list) > 0 {
		from.Turn, last = list[0].Number, list[len(list)-1].Number
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	pause := time.AfterFunc(time.Hour, cancel)
	defer pause.Stop()
	for item, err := range t.c.Stream(ctx, ref, from) {
		if err != nil {
			return err
		}
		t.show(parent, item)
		if follow {
			continue
		}
		if item.Ended != nil && item.Number >= last {
			break
		}
		if item.Number >= last {
			pause.Reset(openPause)
		}
	}
	if !follow && ctx.Err() != nil && parent.Err() == nil && !t.json {
		t.out.Pause("running")
		t.out.Note("still running; --follow stays")
	}
	return nil
}

func (t *transcript) show(ctx context.Context, item client.StreamItem) {
	_ = t.app.show(item, func() {
		switch {
		case item.Started != nil:
			t.out.Started(*item.Started, t.prompt(ctx, item.Started.Messages))
		case item.Ended != nil:
			t.out.Ended(*item.Ended)
		case item.Event != nil:
			t.out.Event(*item.Event)
		}
	})
}

// prompt gets the messages a turn began with. One that cannot be read is left out: the transcript is worth more than it.
func (t *transcript) prompt(ctx context.Context, ids []string) []substrat.Message {
	var out []substrat.Message
	for _, id := range ids {
		m, err := t.c.Message(ctx, id)
		if err == nil && (!t.talks || m.Kind != substrat.KindUser) {
			out = append(out, m)
		}
	}
	return out
}
