package top

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"substrat.dev/substrat"
)

// press takes a key. text is what it types, empty for keys that type nothing.
func (m *model) press(key, text string) tea.Cmd {
	if key == "ctrl+c" {
		return tea.Quit
	}
	if m.ask != nil {
		return m.type1(key, text)
	}
	m.said = ""
	switch key {
	case "q", "esc":
		if m.screen == treeScreen && key == "q" {
			return tea.Quit
		}
		m.screen, m.scroll = treeScreen, 0
	case "up", "k":
		return m.move(-1)
	case "down", "j":
		return m.move(1)
	case "pgup":
		return m.move(-10)
	case "pgdown", "space":
		return m.move(10)
	case "home":
		return m.move(-1 << 20)
	case "end":
		return m.move(1 << 20)
	case "?":
		m.screen, m.scroll = helpScreen, 0
	case "u":
		m.screen = queueScreen
	case "r":
		return m.fetch()
	default:
		return m.act(key)
	}
	return nil
}

// act takes the keys that do something to an agent or an item.
func (m *model) act(key string) tea.Cmd {
	if m.screen == queueScreen {
		if key == "enter" || key == "a" {
			m.answer()
		}
		return nil
	}
	if key == "/" {
		m.ask = &ask{title: "show agents with", text: []rune(m.filter), do: func(text string) tea.Cmd {
			m.filter = strings.TrimSpace(text)
			m.keepCursor()
			return m.fetch()
		}}
		return nil
	}
	if m.selected == "" {
		return nil
	}
	path := m.selected
	switch key {
	case "enter", "l":
		m.screen, m.scroll = turnsScreen, 0
	case "m":
		m.ask = &ask{title: "to " + path, do: func(text string) tea.Cmd {
			if strings.TrimSpace(text) == "" {
				return nil
			}
			return m.run("sent to "+path, func() error { _, err := m.daemon.Send(m.ctx, path, text); return err })
		}}
	case "s":
		return m.run("stopping the turn of "+path, func() error { _, err := m.daemon.StopTurn(m.ctx, path); return err })
	case "p":
		return func() tea.Msg {
			status, err := m.daemon.Poke(m.ctx, path)
			return saidMsg{outcome(path+": "+status, err)}
		}
	case "g":
		down := !slices.ContainsFunc(m.snap.Agents, func(a substrat.Agent) bool { return a.Path == path && a.Gated })
		said := "lifted the gate of " + path
		if down {
			said = "put down the gate of " + path
		}
		return m.run(said, func() error { _, err := m.daemon.Gate(m.ctx, path, down); return err })
	case "x":
		m.ask = &ask{title: "end " + path + " and everything under it? y", yes: true, do: func(string) tea.Cmd {
			return m.run("ended "+path, func() error { return m.daemon.Terminate(m.ctx, path, "ended in top") })
		}}
	}
	return nil
}

// run does something and says what came of it.
func (m *model) run(said string, do func() error) tea.Cmd {
	return func() tea.Msg { return saidMsg{outcome(said, do())} }
}

func outcome(said string, err error) string {
	if err != nil {
		return err.Error()
	}
	return said
}

// answer begins to answer the item under the cursor.
func (m *model) answer() {
	if m.item >= len(m.snap.Queue) {
		return
	}
	x := m.snap.Queue[m.item]
	title := "answer"
	if len(x.Options) > 0 {
		title = "answer (a number"
		if x.Multiple {
			title += ", or several"
		}
		title += ")"
	}
	m.ask = &ask{title: title, do: func(text string) tea.Cmd {
		a, err := answerOf(x, text)
		if err != nil {
			m.said = err.Error()
			return nil
		}
		return m.run("answered "+x.Agent, func() error { _, err := m.daemon.AnswerItem(m.ctx, x.ID, a); return err })
	}}
}

// answerOf reads an answer as it is typed: numbers of options or their words, and what follows as text.
func answerOf(x substrat.Item, text string) (a substrat.Answer, err error) {
	text = strings.TrimSpace(text)
	if len(x.Options) == 0 {
		return substrat.Answer{Text: text}, nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	for i, w := range words {
		n, err := strconv.Atoi(w)
		switch {
		case err == nil && 1 <= n && n <= len(x.Options):
			a.Choices = append(a.Choices, x.Options[n-1])
		case slices.Contains(x.Options, w):
			a.Choices = append(a.Choices, w)
		case i == 0:
			return a, fmt.Errorf("%q is none of the options: give a number from 1 to %d", w, len(x.Options))
		default:
			_, after, _ := strings.Cut(text, words[i-1])
			a.Text = strings.TrimSpace(after)
			return a, nil
		}
	}
	if len(a.Choices) == 0 {
		return a, fmt.Errorf("no answer was given")
	}
	return a, nil
}

// type1 takes a key of a line that is being typed.
func (m *model) type1(key, text string) tea.Cmd {
	a := m.ask
	switch {
	case a.yes:
		m.ask = nil
		if key == "y" {
			return a.do("")
		}
	case key == "esc":
		m.ask = nil
	case key == "enter":
		m.ask = nil
		return a.do(string(a.text))
	case key == "backspace":
		a.text = a.text[:max(0, len(a.text)-1)]
	case key == "ctrl+u":
		a.text = nil
	case text != "":
		a.text = append(a.text, []rune(text)...)
	}
	return nil
}
