package top

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"substrat.dev/substrat"
)

// verb is what a key asks for beyond the screen.
type verb int

const (
	doNothing verb = iota
	doQuit
	doSend
	doStop
	doEnd
	doPoke
	doGate
	doUngate
	doAnswer
)

// action is one request to the daemon.
type action struct {
	verb   verb
	agent  target
	text   string
	item   string
	answer substrat.Answer
}

// mostInput bounds what can be typed or pasted into one line.
const mostInput = 16 << 10

// press is what a key does: to the screen, and beyond it. key names it as bubbletea does; text is what it types.
func (s Snapshot) press(key, text string) (Snapshot, action) {
	s.notice, s.noticed = "", time.Time{}
	if key == "ctrl+c" {
		return s, action{verb: doQuit}
	}
	switch s.mode {
	case modeTree:
		return s.pressTree(key)
	case modeQueue:
		return s.pressQueue(key)
	case modeItem:
		return s.pressItem(key, text)
	case modeLog:
		return s.pressLog(key), action{}
	case modeMessage:
		return s.pressMessage(key, text)
	case modeFilter:
		return s.pressFilter(key, text), action{}
	case modeConfirm:
		s.mode = modeTree
		if key == "y" || key == "Y" {
			return s, action{verb: doEnd, agent: s.target}
		}
		s.notice = "nothing was ended"
	case modeHelp:
		s.mode = modeTree
	}
	return s, action{}
}

// pages are the keys that move a cursor, and how far, in lines and pages.
func pages(key string, page int) (by int, ok bool) {
	const far = 1 << 30
	by, ok = map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "pgdown": page, "ctrl+b": -page, "ctrl+f": page,
		"home": -far, "end": far, "G": far,
	}[key]
	return by, ok
}

func (s Snapshot) pressTree(key string) (Snapshot, action) {
	if by, ok := pages(key, s.page()); ok {
		return s.move(by), action{}
	}
	switch key {
	case "q":
		return s, action{verb: doQuit}
	case "esc":
		s.filter = ""
		return s, action{}
	case "enter":
		s.bare = !s.bare
		return s, action{}
	case "u":
		s.mode = modeQueue
		return s.moveItem(0), action{}
	case "/":
		s.mode = modeFilter
		return s, action{}
	case "?":
		s.mode = modeHelp
		return s, action{}
	}
	return s.pressAgent(key)
}

// pressAgent are the keys about the agent under the cursor.
func (s Snapshot) pressAgent(key string) (Snapshot, action) {
	if !slices.Contains([]string{"m", "s", "x", "p", "g", "l"}, key) {
		return s, action{}
	}
	x, ok := s.current()
	if !ok {
		s.notice = "no agent is selected"
		return s, action{}
	}
	s.target = target{x.ID, x.Path}
	switch key {
	case "m":
		s.mode, s.input = modeMessage, ""
	case "x":
		s.mode = modeConfirm
	case "l":
		if s.logOf != x.ID {
			s.log, s.logOf = nil, x.ID
		}
		s.mode, s.logTop, s.logEnd = modeLog, 0, true
	case "s":
		return s, action{verb: doStop, agent: s.target}
	case "p":
		return s, action{verb: doPoke, agent: s.target}
	case "g":
		if x.Gated {
			return s, action{verb: doUngate, agent: s.target}
		}
		return s, action{verb: doGate, agent: s.target}
	}
	return s, action{}
}

func (s Snapshot) pressQueue(key string) (Snapshot, action) {
	if by, ok := pages(key, max(1, s.height/4)); ok {
		return s.moveItem(by), action{}
	}
	switch i := s.itemRow(); {
	case key == "q", key == "esc", key == "u":
		s.mode = modeTree
	case key == "enter" && i >= 0:
		x := s.Items[i]
		s.mode, s.answering, s.chosen = modeItem, x, make([]bool, len(x.Options))
		s.option, s.input, s.typing = 0, "", len(x.Options) == 0
	}
	return s, action{}
}

// pressItem chooses among the options of an item, or types beside them.
func (s Snapshot) pressItem(key, text string) (Snapshot, action) {
	x := s.answering
	free := x.Free || len(x.Options) == 0
	switch {
	case key == "esc":
		s.mode = modeQueue
		return s, action{}
	case key == "enter":
		return s.answer()
	case key == "tab" && free && len(x.Options) > 0:
		s.typing = !s.typing
		return s, action{}
	case s.typing:
		s.input = edit(s.input, key, text)
		return s, action{}
	case key == "up" || key == "down":
		by, _ := pages(key, 1)
		s.option = clamp(s.option+by, 0, len(x.Options)-1)
		return s, action{}
	case key == "space" || key == " ":
		return s.choose(s.option), action{}
	case len(key) == 1 && key[0] >= '1' && int(key[0]-'1') < len(x.Options):
		s.option = int(key[0] - '1')
		return s.choose(s.option), action{}
	case key == "q":
		s.mode = modeQueue
		return s, action{}
	case free && text != "":
		s.typing, s.input = true, edit(s.input, key, text)
	}
	return s, action{}
}

// choose marks an option, or takes the mark away. Where one alone may be chosen the others lose it.
func (s Snapshot) choose(i int) Snapshot {
	if i < 0 || i >= len(s.chosen) {
		return s
	}
	was := s.chosen[i]
	s.chosen = slices.Clone(s.chosen)
	if !s.answering.Multiple {
		clear(s.chosen)
	}
	s.chosen[i] = !was
	return s
}

func (s Snapshot) answer() (Snapshot, action) {
	a := substrat.Answer{Text: strings.TrimSpace(s.input)}
	for i, yes := range s.chosen {
		if yes {
			a.Choices = append(a.Choices, s.answering.Options[i])
		}
	}
	if len(a.Choices) == 0 && a.Text == "" {
		s.notice = "choose or type an answer first"
		return s, action{}
	}
	s.mode = modeQueue
	return s, action{verb: doAnswer, item: s.answering.ID, answer: a, agent: target{s.answering.AgentID, s.answering.Agent}}
}

func (s Snapshot) pressLog(key string) Snapshot {
	if key == "q" || key == "esc" || key == "l" {
		s.mode = modeTree
		return s
	}
	page := max(1, s.height-3)
	if by, ok := pages(key, page); ok {
		last := max(0, len(s.logLines(s.width))-page)
		at := s.logTop
		if s.logEnd {
			at = last
		}
		s.logTop = clamp(at+by, 0, last)
		s.logEnd = s.logTop == last
	}
	return s
}

func (s Snapshot) pressMessage(key, text string) (Snapshot, action) {
	switch key {
	case "esc":
		s.mode = modeTree
	case "enter":
		s.mode = modeTree
		if said := strings.TrimSpace(s.input); said != "" {
			return s, action{verb: doSend, agent: s.target, text: said}
		}
	default:
		s.input = edit(s.input, key, text)
	}
	return s, action{}
}

func (s Snapshot) pressFilter(key, text string) Snapshot {
	switch key {
	case "esc":
		s.mode, s.filter = modeTree, ""
	case "enter":
		s.mode = modeTree
	default:
		s.filter = edit(s.filter, key, text)
	}
	return s.move(0)
}

// paste types a text into the line that is open, if one is. Line breaks become spaces: it is one line.
func (s Snapshot) paste(text string) Snapshot {
	text = line(text)
	switch {
	case s.mode == modeMessage, s.mode == modeItem && s.typing:
		s.input = edit(s.input, "", text)
	case s.mode == modeFilter:
		s.filter = edit(s.filter, "", text)
		return s.move(0)
	}
	return s
}

// edit is what a key does to a line.
func edit(s, key, text string) string {
	switch key {
	case "backspace", "ctrl+h":
		_, n := utf8.DecodeLastRuneInString(s)
		return s[:len(s)-n]
	case "ctrl+u":
		return ""
	case "ctrl+w":
		s = strings.TrimRight(s, " ")
		return s[:strings.LastIndexByte(s, ' ')+1]
	}
	if text = clean(text); len(s)+len(text) > mostInput || strings.Contains(text, "\n") {
		return s
	}
	return s + text
}
