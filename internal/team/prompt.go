package team

import (
	"fmt"
	"strings"

	"substrat.dev/substrat"
)

// Prompt writes what an agent's open turn begins with: its mail, one message plainly, several as a numbered list. It is
// never empty for an open turn: mail that was settled since the turn began is left out, and if that is all, it says so.
func (s *State) Prompt(agent string) string {
	a := s.Agents[agent]
	if a == nil || a.Turn == nil {
		return ""
	}
	var b strings.Builder
	if a.Turn.NewSession {
		b.WriteString("Note: your earlier conversation could not be found; this is a new one.\n\n")
	}
	if a.Turn.Retry != "" {
		fmt.Fprintf(&b, "Note: this is another attempt; the one before did not complete (%s). Some of its effects may be there already.\n\n", a.Turn.Retry)
	}
	var mail []*Message
	for _, id := range a.Turn.Prompted {
		if m := s.Messages[id]; m != nil {
			mail = append(mail, m)
		}
	}
	switch len(mail) {
	case 0:
		b.WriteString("What this turn was for has been settled meanwhile: nobody waits for an answer. Nothing is left to do.")
	case 1:
		b.WriteString(s.present(mail[0]))
	default:
		fmt.Fprintf(&b, "You have %d messages.\n", len(mail))
		for i, m := range mail {
			fmt.Fprintf(&b, "\n%d. %s\n", i+1, s.present(m))
		}
	}
	return b.String()
}

// present writes one message as an agent reads it. A request that somebody waits for ends with its id, so that it can be
// named in reply_to.
func (s *State) present(m *Message) string {
	switch m.Kind {
	case substrat.KindReply:
		return fmt.Sprintf("Reply from %s (to message %s):\n%s", m.sender(), m.ReplyTo, m.Text)
	case substrat.KindResult:
		return fmt.Sprintf("Result from %s (it has completed and ended):\n%s", m.sender(), m.Text)
	case substrat.KindRequest:
		if s.Agents[m.FromID] == nil {
			return fmt.Sprintf("Message from %s (who has ended since and waits for no reply):\n%s", m.sender(), m.Text)
		}
		return fmt.Sprintf("Message from %s:\n%s\n\n[message %s: %s waits for a reply; the closing text of your turn is it, unless you send one with reply_to]",
			m.sender(), m.Text, m.ID, m.sender())
	case substrat.KindStart:
		return fmt.Sprintf("Message from %s:\nYou have been created. Begin with your instructions:\n%s", m.sender(), m.Text)
	default:
		return fmt.Sprintf("Message from %s:\n%s", m.sender(), m.Text)
	}
}
