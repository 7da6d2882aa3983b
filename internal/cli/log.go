package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/agentcli"
	"substrat.dev/substrat/client"
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
		t := &transcript{live: live{app: a}, c: c, ctx: cmd.Context(), full: *full}
		return t.run(args[0], list, *follow)
	}
	return cmd
}

// transcript prints turns at leisure, with all that attach leaves out.
type transcript struct {
	live
	c    *client.Client
	ctx  context.Context //nolint:containedctx // it lives as long as one command
	full bool
}

// openPause is how long an open turn may be silent before a log that does not follow ends.
const openPause = 300 * time.Millisecond

// run shows turns from the first of a list on, to the end of the last or, if it follows, for ever.
func (t *transcript) run(ref string, list []substrat.Turn, follow bool) error {
	if len(list) == 0 && !follow {
		return t.app.show([]int{}, func() { fmt.Fprintln(t.Out, "no turns yet") })
	}
	from, last := client.StreamPos{}, 0
	if len(list) > 0 {
		from.Turn, last = list[0].Number, list[len(list)-1].Number
	}
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	pause := time.AfterFunc(time.Hour, cancel)
	defer pause.Stop()
	for item, err := range t.c.Stream(ctx, ref, from) {
		if err != nil {
			return err
		}
		t.show(item)
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
	t.end()
	if !follow && ctx.Err() != nil && t.ctx.Err() == nil && !t.json {
		t.line("── still running; --follow stays")
	}
	return nil
}

func (t *transcript) show(item client.StreamItem) {
	_ = t.app.show(item, func() {
		switch {
		case item.Started != nil:
			t.started(item)
		case item.Ended != nil:
			t.ended(item.Ended)
		case item.Event != nil:
			t.event(*item.Event)
		}
	})
}

func (t *transcript) started(item client.StreamItem) {
	t.line("── turn %d  %s", item.Number, item.Started.StartedAt.Local().Format(time.DateTime))
	for _, id := range item.Started.Messages {
		m, err := t.c.Message(t.ctx, id)
		if err != nil {
			continue
		}
		t.line("» %s from %s:", m.Kind, printable(m.From))
		t.block(m.Text, 20)
	}
}

func (t *transcript) ended(x *substrat.Turn) {
	said := fmt.Sprintf("── %s%s", x.Outcome, reasonOf(x))
	if x.EndedAt != nil {
		said += ", " + x.EndedAt.Sub(x.StartedAt).Round(time.Millisecond).String()
	}
	if u := x.Usage; u != nil {
		said += fmt.Sprintf(", %d tokens in, %d out", u.InputTokens, u.OutputTokens)
	}
	if x.CostMicros > 0 {
		said += ", " + dollars(x.CostMicros)
	}
	t.line("%s\n", said)
}

func (t *transcript) event(e agentcli.Event) {
	if e.Type != agentcli.EventToolEnd {
		t.live.event(e)
		return
	}
	x := e.Tool
	name := x.Name
	if x.Server != "" {
		name += " " + x.Server
	}
	exit := ""
	if x.ExitCode != nil && *x.ExitCode != 0 {
		exit = fmt.Sprintf(" (exit %d)", *x.ExitCode)
	}
	t.line("• %s %s%s%s", printable(name), oneLine(x.Title, 200), exit, toolEnd(x))
	switch {
	case x.Diff != "":
		t.diff(x.Diff)
	case strings.TrimSpace(x.Output) != "":
		t.block(x.Output, 6)
	}
}

// block prints a text indented, so many lines of it.
func (t *transcript) block(text string, most int) {
	lines := strings.Split(strings.TrimRight(printable(text), "\n"), "\n")
	for i, l := range lines {
		if i == most && len(lines) > most+1 && !t.full {
			t.line("    … %d more lines", len(lines)-i)
			return
		}
		if r := []rune(l); len(r) > 400 && !t.full {
			l = string(r[:400]) + "…"
		}
		t.line("    %s", l)
	}
}

// diff prints changes, in colour on a terminal.
func (t *transcript) diff(text string) {
	colour := terminal(t.Out) && t.Getenv("NO_COLOR") == ""
	lines := strings.Split(strings.TrimRight(printable(text), "\n"), "\n")
	for i, l := range lines {
		if i == 40 && len(lines) > 41 && !t.full {
			t.line("    … %d more lines", len(lines)-i)
			return
		}
		switch {
		case colour && strings.HasPrefix(l, "+"):
			l = "\x1b[32m" + l + "\x1b[0m"
		case colour && strings.HasPrefix(l, "-"):
			l = "\x1b[31m" + l + "\x1b[0m"
		}
		t.line("    %s", l)
	}
}
