package team

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"substrat.dev/substrat"
)

// Prompt writes what an agent's open turn begins with: its mail, one message plainly, several as a numbered list. What others
// than the user wrote stands between two marks that are in none of it, so that no text can end early and go on as another
// sender's, or as ours. It is never empty for an open turn: mail that was settled since the turn began is left out, and if that is all, it says so.
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
	mark := fence(a.Turn.ID, mail)
	switch len(mail) {
	case 0:
		b.WriteString("What this turn was for has been settled meanwhile: nobody waits for an answer. Nothing is left to do.")
	case 1:
		b.WriteString(s.present(mail[0], mark))
	default:
		fmt.Fprintf(&b, "You have %d messages.\n", len(mail))
		for i, m := range mail {
			fmt.Fprintf(&b, "\n%d. %s\n", i+1, s.present(m, mark))
		}
	}
	return b.String()
}

// fence makes the mark of a turn: nobody who wrote to it could know the mark, and if somebody guessed it, it is another.
func fence(turn string, mail []*Message) string {
	for n := 0; ; n++ {
		id := derive("mark", turn, strconv.Itoa(n))
		mark := id[strings.LastIndexByte(id, '-')+1:]
		if !slices.ContainsFunc(mail, func(m *Message) bool { return strings.Contains(m.Text, mark) }) {
			return mark
		}
	}
}

// present writes one message as an agent reads it. A request that somebody waits for ends with its id, so that it can be
// named in reply_to.
func (s *State) present(m *Message, mark string) string {
	text := m.Text
	if m.From != substrat.User {
		text = fmt.Sprintf("--- %s\n%s\n--- %s", mark, m.Text, mark)
	}
	switch m.Kind {
	case substrat.KindReply:
		return fmt.Sprintf("Reply from %s (to message %s):\n%s", m.sender(), m.ReplyTo, text)
	case substrat.KindResult:
		return fmt.Sprintf("Result from %s (it has completed and ended):\n%s", m.sender(), text)
	case substrat.KindRequest:
		if s.Agents[m.FromID] == nil {
			return fmt.Sprintf("Message from %s (who has ended since and waits for no reply):\n%s", m.sender(), text)
		}
		return fmt.Sprintf("Message from %s:\n%s\n\n[message %s: %s waits for a reply; the closing text of your turn is it, unless you send one with reply_to]",
			m.sender(), text, m.ID, m.sender())
	case substrat.KindStart:
		return fmt.Sprintf("Message from %s:\nYou have been created. Begin with your instructions:\n%s", m.sender(), text)
	default:
		return fmt.Sprintf("Message from %s:\n%s", m.sender(), text)
	}
}
