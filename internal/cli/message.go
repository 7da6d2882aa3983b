package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"substrat.dev/substrat"
	"substrat.dev/substrat/client"
)

func (a *app) messageCommand() *cobra.Command {
	return group("message", "List messages, and show one with its receipt", a.messageList(), a.messageShow())
}

func (a *app) messageList() *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List messages with their receipts", Args: exactly(0)}
	agent := cmd.Flags().String("agent", "", "only messages from or to this agent")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		list, err := allMessages(cmd.Context(), c, client.MessageQuery{Agent: *agent})
		if err != nil {
			return err
		}
		return a.show(list, func() { a.messageTable(list) })
	}
	return cmd
}

// allMessages reads every page.
func allMessages(ctx context.Context, c *client.Client, q client.MessageQuery) ([]substrat.Message, error) {
	all := []substrat.Message{}
	for {
		page, next, err := c.Messages(ctx, q)
		all = append(all, page...)
		if err != nil || next == "" {
			return all, err
		}
		q.After = next
	}
}

func (a *app) messageTable(list []substrat.Message) {
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "no messages")
		return
	}
	rows := [][]string{{"ID", "AGE", "FROM", "TO", "KIND", "STATE", "TEXT"}}
	for _, m := range list {
		rows = append(rows, []string{m.ID, age(m.CreatedAt), m.From, m.To, string(m.Kind), string(m.State), oneLine(m.Text, 40)})
	}
	a.table(rows)
}

func (a *app) messageShow() *cobra.Command {
	return &cobra.Command{Use: "show ID", Short: "Show a message with its receipt", Args: exactly(1),
		Long: "Show a message with its receipt: queued, injected (in a turn that runs), handled, answered, expired, dead or delivered.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			m, err := c.Message(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(m, func() { a.messageDetails(m) })
		}}
}

func (a *app) messageDetails(m substrat.Message) {
	rows := [][]string{{"message", m.ID}, {"from", m.From}, {"to", m.To}, {"kind", string(m.Kind)}, {"state", string(m.State)},
		{"sent", m.CreatedAt.Local().Format(time.DateTime)}, {"attempts", fmt.Sprint(m.Attempts)}}
	for _, r := range [][]string{{"turn", m.Turn}, {"reply to", m.ReplyTo}, {"answered by", m.AnsweredBy}, {"caused by", m.Cause}, {"why", printable(m.Detail)}} {
		if r[1] != "" {
			rows = append(rows, r)
		}
	}
	if m.DoneAt != nil {
		rows = append(rows, []string{"final", m.DoneAt.Local().Format(time.DateTime)})
	}
	a.table(rows)
	fmt.Fprintf(a.Out, "\n%s\n", printable(m.Text))
}

func (a *app) inboxCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "inbox", Short: "Show what agents sent to you", Args: exactly(0),
		Long: "Show what agents sent to you, and what the system has to tell: a root agent that failed. --follow waits for more."}
	follow := cmd.Flags().Bool("follow", false, "go on as messages come")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		s, err := c.Status(cmd.Context())
		if err != nil {
			return err
		}
		list, err := allMessages(cmd.Context(), c, client.MessageQuery{Inbox: true})
		if err != nil {
			return err
		}
		if !*follow {
			return a.show(list, func() {
				for _, m := range list {
					a.inboxMessage(m)
				}
				if len(list) == 0 {
					fmt.Fprintln(a.Out, "nothing yet")
				}
			})
		}
		for _, m := range list {
			if err := a.show(m, func() { a.inboxMessage(m) }); err != nil {
				return err
			}
		}
		return a.followInbox(cmd.Context(), c, s.Seq, list)
	}
	return cmd
}

func (a *app) inboxMessage(m substrat.Message) {
	fmt.Fprintf(a.Out, "%s  from %s:\n%s\n\n", m.CreatedAt.Local().Format(time.DateTime), m.From, printable(m.Text))
}

// followInbox shows messages to USER as they are sent, from an event on, but for those shown already.
func (a *app) followInbox(ctx context.Context, c *client.Client, after int64, shown []substrat.Message) error {
	seen := map[string]bool{}
	for _, m := range shown {
		seen[m.ID] = true
	}
	for ev, err := range c.Events(ctx, after, true) {
		if err != nil {
			return err
		}
		var data struct{ Message substrat.Message }
		if ev.Type != "message.sent" || json.Unmarshal(ev.Data, &data) != nil || data.Message.To != substrat.User || seen[data.Message.ID] {
			continue
		}
		m, err := c.Message(ctx, data.Message.ID)
		if err != nil {
			return err
		}
		if err := a.show(m, func() { a.inboxMessage(m) }); err != nil {
			return err
		}
	}
	return nil
}
