package team

import (
	"fmt"
	"strings"

	"substrat.dev/substrat"
)

// Prompt writes what an agent's open turn begins with: its mail, one message plainly, several as a numbered list.
func (s *State) Prompt(agent string) string {
	a := s.Agents[agent]
	if a == nil || a.Turn == nil {
		return ""
	}
	var b strings.Builder
	if a.SessionLost {
		b.WriteString("Note: your earlier conversation could not be found; this is a new one.\n\n")
	}
	if a.Turn.Retry != "" {
		fmt.Fprintf(&b, "Note: this is another attempt; the one before did not complete (%s). Some of its effects may be there already.\n\n", a.Turn.Retry)
	}
	if len(a.Turn.Prompted) == 1 {
		b.WriteString(s.present(a.Turn.Prompted[0]))
		return b.String()
	}
	fmt.Fprintf(&b, "You have %d messages.\n", len(a.Turn.Prompted))
	for i, id := range a.Turn.Prompted {
		fmt.Fprintf(&b, "\n%d. %s\n", i+1, s.present(id))
	}
	return b.String()
}

// present writes one message as an agent reads it. A request ends with its id, so that it can be named in reply_to.
func (s *State) present(id string) string {
	m := s.Messages[id]
	if m == nil {
		return ""
	}
	switch m.Kind {
	case substrat.KindReply:
		return fmt.Sprintf("Reply from %s (to message %s):\n%s", m.sender(), m.ReplyTo, m.Text)
	case substrat.KindResult:
		return fmt.Sprintf("Result from %s (it has completed and ended):\n%s", m.sender(), m.Text)
	case substrat.KindRequest:
		return fmt.Sprintf("Message from %s:\n%s\n\n[message %s: %s waits for a reply; the closing text of your turn is it, unless you send one with reply_to]",
			m.sender(), m.Text, m.ID, m.sender())
	case substrat.KindStart:
		return fmt.Sprintf("Message from %s:\nYou have been created. Begin with your instructions:\n%s", m.sender(), m.Text)
	default:
		return fmt.Sprintf("Message from %s:\n%s", m.sender(), m.Text)
	}
}
