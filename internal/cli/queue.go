package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

func (a *app) queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "queue", Short: "List what needs you: questions, permissions, budgets, held messages, failures", Args: exactly(0),
		Long: `List what needs a person, oldest first: questions of agents, calls that a policy leaves to you, messages that a rule holds,
budgets that are used up, logins, and roots that failed. "substrat answer" answers.`,
		Example: "  substrat queue\n  substrat queue --follow\n  substrat answer 4f2a red",
	}
	all := cmd.Flags().Bool("all", false, "also what no longer needs anybody")
	follow := cmd.Flags().BoolP("follow", "f", false, "stay, and show what comes")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		if *follow {
			return a.followQueue(cmd.Context(), c)
		}
		items, err := c.Queue(cmd.Context(), *all)
		if err != nil {
			return err
		}
		return a.show(items, func() {
			if len(items) == 0 {
				fmt.Fprintln(a.Out, "nothing needs you")
			}
			for _, x := range items {
				a.itemDetails(x)
			}
		})
	}
	return cmd
}

// followQueue shows what is open, and then what opens and closes.
func (a *app) followQueue(ctx context.Context, c *client.Client) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	items, err := c.Queue(ctx, false)
	if err != nil {
		return err
	}
	for _, x := range items {
		if err := a.show(x, func() { a.itemDetails(x) }); err != nil {
			return err
		}
	}
	for ev, err := range c.Events(ctx, status.Seq, true) {
		if err != nil {
			return err
		}
		x, ok, err := itemOf(ctx, c, ev)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := a.show(x, func() { a.itemDetails(x) }); err != nil {
			return err
		}
	}
	return nil
}

// itemOf finds the item that an event opened or closed. One that was opened and is closed already is shown at its end.
func itemOf(ctx context.Context, c *client.Client, ev substrat.Event) (x substrat.Item, ok bool, err error) {
	var data struct {
		ID   string
		Item struct{ ID string }
	}
	opened := ev.Type == "item.opened"
	if !opened && ev.Type != "item.closed" || json.Unmarshal(ev.Data, &data) != nil {
		return x, false, nil
	}
	if opened {
		data.ID = data.Item.ID
	}
	x, err = c.Item(ctx, data.ID)
	if substrat.CodeOf(err) == substrat.CodeNotFound {
		return x, false, nil
	}
	return x, err == nil && (!opened || x.State == substrat.ItemOpen), err
}

// shortID is the part of an id that tells items apart: time-ordered ids begin alike.
func shortID(id string) string { return id[max(0, len(id)-8):] }

func (a *app) itemDetails(x substrat.Item) {
	fmt.Fprintf(a.Out, "%s  %s  %s  %s ago", shortID(x.ID), x.Kind, printable(x.Agent), age(x.CreatedAt))
	switch {
	case x.State != substrat.ItemOpen:
		fmt.Fprintf(a.Out, "  %s", x.State)
		if x.By != "" {
			fmt.Fprintf(a.Out, " by %s", printable(x.By))
		}
	case x.Deadline != nil && x.Default != "":
		fmt.Fprintf(a.Out, "  %q at %s", printable(x.Default), x.Deadline.Local().Format("2 Jan 15:04"))
	case x.Deadline != nil:
		fmt.Fprintf(a.Out, "  until %s", x.Deadline.Local().Format("2 Jan 15:04"))
	}
	fmt.Fprintln(a.Out)
	for line := range strings.SplitSeq(strings.TrimSpace(printable(x.Text)), "\n") {
		fmt.Fprintln(a.Out, "    "+line)
	}
	switch {
	case x.Answer != nil:
		fmt.Fprintln(a.Out, "    answer: "+printable(strings.TrimSpace(strings.Join(x.Answer.Choices, ", ")+" "+x.Answer.Text)))
	case x.State == substrat.ItemOpen:
		fmt.Fprintf(a.Out, "    substrat answer %s %s\n", shortID(x.ID), takes(x))
	}
}

// takes shows the form of an answer.
func takes(x substrat.Item) string {
	var quoted []string
	for _, o := range x.Options {
		if strings.ContainsAny(o, " \t\n'\"") {
			o = "'" + strings.ReplaceAll(printable(o), "'", `'\''`) + "'"
		}
		quoted = append(quoted, o)
	}
	switch {
	case len(quoted) == 0:
		return "'TEXT'"
	case x.Multiple:
		return "[" + strings.Join(quoted, "] [") + "]"
	default:
		return strings.Join(quoted, "|")
	}
}

func (a *app) answerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "answer ID [CHOICE…]", Short: "Answer an item of the queue",
		Long: `Answer an item of the queue by its id, of which the end that "substrat queue" shows is enough. Choices are options of the item;
without options, what follows the id is the answer as text. --text adds words to a choice: the reason of a rejection, or the
new text of a held message that is released.`,
		Example: "  substrat answer 9c31d0aa red\n  substrat answer 9c31d0aa 'Use the staging database.'\n  substrat answer 77ab01ff reject --text 'too early'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("%s: no item is named", cmd.CommandPath())}
			}
			return nil
		},
	}
	text := cmd.Flags().String("text", "", "words beside, or instead of, a choice")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		x, err := c.Item(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		answer := substrat.Answer{Choices: args[1:], Text: *text}
		if len(x.Options) == 0 && len(args) > 1 {
			answer = substrat.Answer{Text: strings.TrimSpace(strings.Join(args[1:], " ") + "\n" + *text)}
		}
		if x, err = c.AnswerItem(cmd.Context(), x.ID, answer); err != nil {
			return err
		}
		return a.show(x, func() { fmt.Fprintf(a.Out, "answered %s of %s\n", x.Kind, printable(x.Agent)) })
	}
	return cmd
}
